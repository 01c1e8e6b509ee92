//! A payments service that takes webhooks and applies each exactly once.
//!
//! `webhook` starts it on a free port and sends to it what senders really send: redeliveries, forgeries,
//! a delivery whose sender hangs up, one that fails at first. It prints each answer and proves the result.

mod handlers;
mod receiver;
mod secrets;
mod sender;
mod signature;

use std::process::ExitCode;

use comfy_table::Table;
use inbox::Inbox;
use inbox_sqlite::SqliteInboxStore;
use tokio::net::TcpListener;

use crate::receiver::Receiver;
use crate::secrets::Secrets;
use crate::sender::Sender;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let store = SqliteInboxStore::in_memory().await?;
    sqlx::raw_sql(handlers::TABLES).execute(store.pool()).await?;
    let pool = store.pool().clone();
    let inbox = Inbox::from_registry().store(store).build().await?;

    let secrets = Secrets::for_the_demonstration();
    let receiver = Receiver::new(inbox.consumer(handlers::CONSUMER)?, secrets.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stop = inbox.stop_handle();
    let stopping = stop.clone();
    let server = axum::serve(listener, receiver.router())
        .with_graceful_shutdown(async move { stopping.stopping().await });
    let server = tokio::spawn(server.into_future());

    let told = Sender { address, secrets }.send_all().await?;
    stop.stop().await; // what runs is finished, also where its sender has hung up
    server.await??;

    let mut table = Table::new();
    table.set_header(["delivery", "answered", "body"]);
    for (what, answer) in &told {
        table.add_row([what.clone(), answer.status.clone(), answer.body.clone()]);
    }
    print(&table.to_string());
    let paid: Vec<(String, i64)> =
        sqlx::query_as("SELECT source, count(*) FROM payments GROUP BY source ORDER BY source")
            .fetch_all(&pool)
            .await?;
    for (source, payments) in &paid {
        print(&format!("{source}: {payments} payments"));
    }
    let expected =
        [("github", 1), ("shop", 3), ("stripe", 1)].map(|(name, n)| (name.to_owned(), n));
    let exact = paid == expected;
    print(if exact {
        "every delivery was applied exactly once"
    } else {
        "the payments are not what was sent"
    });
    Ok(if exact { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn print(line: &str) {
    println!("{line}");
}
