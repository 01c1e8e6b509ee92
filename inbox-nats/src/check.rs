//! What is looked at before a subscription starts: everything that would lose messages, or starve.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Config};
use async_nats::jetstream::{Context, stream};
use inbox::{DeadLettersTo, DeliveryOrder, SubscriptionOptions};

/// Shorter ones leave no time to tell the server that a message is worked on.
const SHORTEST_ACK_WAIT: Duration = Duration::from_secs(1);

pub(crate) struct Subject<'a> {
    pub(crate) stream: &'a stream::Config,
    pub(crate) consumer: &'a Config,
    pub(crate) options: &'a SubscriptionOptions,
    pub(crate) dead_letters: &'a str,
}

/// Everything that is wrong, each with its remedy. What is only unwise is logged.
pub(crate) async fn problems(subject: &Subject<'_>, jetstream: &Context) -> Vec<String> {
    let mut problems: Vec<String> =
        [not_acknowledged, gives_up, loses_patience, overtakes, without_payload]
            .iter()
            .filter_map(|rule| rule(subject))
            .collect();
    if subject.options.dead_letters_go_to() == DeadLettersTo::Broker {
        problems.extend(dead_letters_are_lost(subject, jetstream).await);
    }
    warn_of_limits(subject);
    problems
}

fn not_acknowledged(Subject { consumer, .. }: &Subject<'_>) -> Option<String> {
    if consumer.deliver_subject.is_some() {
        return Some("the consumer is a push consumer: create a durable pull consumer".to_owned());
    }
    (consumer.ack_policy != AckPolicy::Explicit).then(|| {
        "the consumer's ack policy is not explicit, so messages are settled that were not processed: \
         create it with `ack_policy: explicit`"
            .to_owned()
    })
}

/// At `max_deliver` the server stops delivering and says so to nobody.
fn gives_up(Subject { consumer, options, .. }: &Subject<'_>) -> Option<String> {
    let limit = u32::try_from(consumer.max_deliver).ok().filter(|limit| *limit > 0)?;
    let ours = options.retry_policy().limit();
    let enough = ours.is_some_and(|ours| limit > ours.saturating_add(1));
    let ours = ours.map_or("no limit".to_owned(), |ours| format!("{ours} attempts"));
    (!enough).then(|| {
        format!(
            "the consumer's `max_deliver` is {limit}, and the retry policy here has {ours}: the server \
             would silently stop delivering a message before it is put away. Set `max_deliver` to -1"
        )
    })
}

fn loses_patience(Subject { consumer, .. }: &Subject<'_>) -> Option<String> {
    if !consumer.backoff.is_empty() {
        let problem = "the consumer has a `backoff`, which takes the place of its ack wait and would \
                       deliver messages again that are worked on: remove it, the retry policy here \
                       spaces the tries";
        return Some(problem.to_owned());
    }
    (consumer.ack_wait < SHORTEST_ACK_WAIT).then(|| {
        format!(
            "the consumer's `ack_wait` is {:?}, too short to tell the server in time that a message is \
             worked on: set it to 30 s",
            consumer.ack_wait
        )
    })
}

fn overtakes(Subject { consumer, options, .. }: &Subject<'_>) -> Option<String> {
    let strict = options.delivery_order() == DeliveryOrder::Strict;
    (strict && consumer.max_ack_pending != 1).then(|| {
        format!(
            "messages are to be processed in strict order, and the consumer's `max_ack_pending` is {}: \
             after a redelivery, or with a second process, later ones would overtake. Set it to 1",
            consumer.max_ack_pending
        )
    })
}

fn without_payload(Subject { consumer, .. }: &Subject<'_>) -> Option<String> {
    consumer.headers_only.then(|| {
        "the consumer delivers headers only: create it with `headers_only: false`".to_owned()
    })
}

async fn dead_letters_are_lost(
    Subject { stream, consumer, dead_letters, .. }: &Subject<'_>,
    jetstream: &Context,
) -> Option<String> {
    let of_them = match jetstream.stream_by_subject(*dead_letters).await {
        Ok(name) => name,
        Err(error) => {
            return Some(format!(
                "no stream for the dead-letter subject `{dead_letters}` was found ({error}): create one for \
                 it, name another with `dead_letter_subject`, or keep dead letters in the store \
                 (`DeadLettersTo::Store`)"
            ));
        }
    };
    let filters = || consumer.filter_subjects.iter().chain([&consumer.filter_subject]);
    let takes_all = filters().all(String::is_empty);
    let takes_them = takes_all || filters().any(|filter| covers(filter, dead_letters));
    (of_them == stream.name && takes_them).then(|| {
        format!(
            "the consumer would be delivered its own dead letters on `{dead_letters}`: keep them in \
             another stream, or give the consumer a filter"
        )
    })
}

/// Whether a subject matches a filter with `*` and `>`.
fn covers(filter: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for expected in filter.split('.') {
        match (expected, tokens.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (expected, Some(token)) if expected == token => {}
            _ => return false,
        }
    }
    tokens.next().is_none()
}

/// What may be meant so.
fn warn_of_limits(Subject { stream, consumer, options, .. }: &Subject<'_>) {
    let limited = stream.max_messages > 0 || stream.max_bytes > 0;
    let drops = limited && stream.discard == stream::DiscardPolicy::Old;
    let in_memory = stream.storage == stream::StorageType::Memory || consumer.memory_storage;
    let in_order = options.delivery_order() == DeliveryOrder::Strict;
    let is_deleted = !consumer.inactive_threshold.is_zero();
    let gives_up = consumer.max_deliver > 0;
    let few = (1..options.most_unsettled() as i64).contains(&consumer.max_ack_pending);
    let warn = |applies: bool, warning: &str| {
        if applies {
            tracing::warn!(stream = stream.name, consumer = consumer.durable_name, "{warning}");
        }
    };
    warn(!stream.max_age.is_zero(), "what is older than the stream's `max_age` is gone");
    warn(drops, "a full stream drops what is oldest, processed or not; `discard: new` would not");
    warn(in_memory, "the stream or the consumer is in memory, and gone when its servers restart");
    warn(
        is_deleted,
        "the server deletes the consumer when it is idle for its `inactive_threshold`",
    );
    warn(gives_up, "a message is lost whose processes end `max_deliver` times; -1 is no limit");
    warn(few && !in_order, "the consumer's `max_ack_pending` is less than would be fetched here");
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_filter_covers_by_tokens() {
        for (filter, subject, expected) in [
            ("orders.>", "orders.a.b", true),
            ("orders.>", "orders", false),
            ("orders.*", "orders.a", true),
            ("orders.*", "orders.a.b", false),
            ("orders.a", "orders.a", true),
            ("orders.a", "orders.b", false),
            (">", "orders", true),
            ("", "orders", false),
        ] {
            assert_eq!(covers(filter, subject), expected, "{filter} {subject}");
        }
    }
}
