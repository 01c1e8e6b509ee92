//! A savepoint is leaked.

use inbox::Outcome;

use crate::bench::Bench;
use crate::command::{End, Then};
use crate::harness::Harness;

pub async fn a_leaked_savepoint_is_committed_or_rolled_back_as_a_whole_and_truly_told<
    H: Harness,
>() {
    for then in Then::ALL {
        let bench = Bench::<H>::start().await;
        let (envelope, answer) = bench.run(End::LeakSavepoint(then)).await;
        let leaked = bench.harness.query("SELECT name FROM things".to_owned()).await;
        match answer {
            Ok(outcome) => {
                assert_eq!((outcome, then), (Outcome::Processed, Then::Ok));
                assert!(leaked.len() == 1 && leaked[0].starts_with("leaked"), "{leaked:?}");
                bench.assert_committed_once(&envelope).await;
            }
            Err(error) => {
                assert_eq!(leaked, [] as [&str; 0], "{error:?}");
                bench.assert_rolled_back_and_reprocessed(&envelope).await;
            }
        }
    }
}
