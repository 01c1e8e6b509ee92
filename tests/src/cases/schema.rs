//! C6: `build` proves that the schema is there.

use inbox::{Inbox, InboxStore};

use crate::bench::handler;
use crate::harness::{Harness, StoreOptions};
use crate::probe::Probe;

pub async fn c6_a_database_without_the_schema_is_refused_at_build_with_the_remedy<H: Harness>() {
    let harness = H::start().await;
    let builder = Inbox::builder().register(handler::<H, 0>("obey")).state(Probe::default());
    let store = harness.store_without_schema().await;
    let refused = builder.store(store).build().await.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("migrate"), "no remedy in: {text}");
}

pub async fn c6_a_migrated_database_passes_its_check<H: Harness>() {
    let harness = H::start().await;
    let store = harness.store(StoreOptions::default()).await;
    assert_eq!(store.check().await.unwrap(), [] as [&str; 0]);
}
