//! The suite on SQLite, in a file: on a pool whose commits the store guards, and on a pool of the
//! application's that it leaves alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "all of it is tests")]

#[path = "stores/sqlite.rs"]
mod store;

mod guarded {
    conformance::suite!(crate::store::Sqlite<true>);
}

mod on_the_applications_pool {
    conformance::suite!(crate::store::Sqlite<false>);
}

mod through_workers {
    conformance::suite!(conformance::Held<crate::store::Sqlite<true>>);
}
