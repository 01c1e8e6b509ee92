//! Throwaway servers for tests and benchmarks, one module per kind of server.
//!
//! - [`postgres`]: clusters of their own from whatever PostgreSQL is installed, and databases that are dropped at their end.
//! - [`nats`]: NATS servers with JetStream, alone or in a cluster.
//! - [`rabbitmq`]: RabbitMQ of one node.
//! - [`pgbouncer`]: PgBouncer in transaction mode in front of one.
//! - [`proxy`]: a TCP proxy that understands PostgreSQL's protocol: it counts round trips, keeps a trace, adds latency, and
//!   cuts, stalls or delays a connection at an exact message.
//!
//! Every server listens on 127.0.0.1 only, keeps its files in a folder of its own under the temporary folder, runs as an
//! unprivileged user when the tests run as root, and is gone when the process that started it ends, however it ends.
//!
//! # Which server a test gets
//! [`postgres::Server::shared`] is what most tests want. It is, in this order: the one `with-servers` started for the whole
//! run (`scripts/test` does that), the one named by `INBOX_TEST_DATABASE_URL`, or one that this process starts when it is
//! first asked for. `DATABASE_URL` is never read: it may be somebody's production.
//!
//! | variable | meaning |
//! |---|---|
//! | `INBOX_TEST_POSTGRES` | major version to start, for example `15`; without it the newest one found |
//! | `INBOX_TEST_THROUGH` | `pgbouncer`: tests reach their databases through PgBouncer |
//! | `INBOX_TEST_PG15_BIN`, `INBOX_TEST_PG18_BIN`, … | folder with that version's `postgres` and `initdb` |
//! | `INBOX_TEST_PGBOUNCER` | path of the PgBouncer program |
//! | `INBOX_TEST_NATS_SERVER` | path of the nats-server program |
//! | `INBOX_TEST_NATS_URL` | an existing server with JetStream |
//! | `INBOX_TEST_RABBITMQ_SERVER` | path of RabbitMQ's own `rabbitmq-server` |
//! | `INBOX_TEST_RABBITMQ` | `shared`: `with-servers` starts one RabbitMQ for all processes too |
//! | `INBOX_TEST_AMQP_URL` | an existing RabbitMQ |
//! | `INBOX_TEST_DATABASE_URL` | an existing server, as a user who may create databases |

mod account;
mod error;
mod guard;
pub mod nats;
pub mod pgbouncer;
mod port;
pub mod postgres;
mod process;
pub mod proxy;
pub mod rabbitmq;
mod scratch;

pub use error::{Error, Result};
