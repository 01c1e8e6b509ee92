//! The `rabbitmq` example as its users see it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use test_servers::rabbitmq::RabbitMq;

#[path = "../orders/built.rs"]
mod built;
#[path = "../brokers/exact.rs"]
mod exact;

#[test]
fn on_a_throwaway_server_each_order_takes_effect_once() {
    exact::assert_exact(&exact::run("rabbitmq", &[]));
}

#[tokio::test]
async fn on_a_server_that_is_there_it_leaves_nothing_behind_and_runs_again() {
    let server = RabbitMq::start().await.unwrap();
    for _ in 0..2 {
        let url = server.broker().url().to_owned();
        let run = tokio::task::spawn_blocking(move || exact::run("rabbitmq", &["--url", &url]));
        exact::assert_exact(&run.await.unwrap());
    }
}
