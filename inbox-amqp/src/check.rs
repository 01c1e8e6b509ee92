//! What is looked at before a subscription starts: everything that would lose messages, or starve.

use inbox::{DeliveryOrder, SubscriptionOptions};

use crate::look::Found;
use crate::topology::NO_LIMIT;

/// A limit of so many redeliveries is as good as none.
const HARMLESS: i64 = 1_000_000;

pub(crate) struct Subject<'a> {
    pub(crate) found: &'a Found,
    pub(crate) options: &'a SubscriptionOptions,
    /// Whether the application answers for the queue's delivery limit.
    pub(crate) limit_accepted: bool,
}

/// Everything that is wrong, each with its remedy. What is only unwise is logged.
pub(crate) fn problems(subject: &Subject<'_>) -> Vec<String> {
    warn_of_limits(subject.found);
    [forgets, is_a_stream, gives_up, overtakes].iter().filter_map(|rule| rule(subject)).collect()
}

fn forgets(Subject { found, .. }: &Subject<'_>) -> Option<String> {
    if !found.durable {
        return Some(
            "the queue is not durable: it is gone after a restart of the broker, with what is in it. \
             Declare it durable"
                .to_owned(),
        );
    }
    found.auto_delete.then(|| {
        "the queue is deleted, with what is in it, when the last consumer leaves (`auto_delete`): \
         declare it without"
            .to_owned()
    })
}

fn is_a_stream(Subject { found, .. }: &Subject<'_>) -> Option<String> {
    (found.text("x-queue-type").as_deref() == Some("stream")).then(|| {
        "the queue is a stream, whose messages cannot be given back: declare a quorum queue"
            .to_owned()
    })
}

/// At a queue's delivery limit the broker drops a message, or has a dead letter exchange keep it, whether
/// it was ever tried: a message that is delivered beside one that takes the process along counts too.
fn gives_up(subject: &Subject<'_>) -> Option<String> {
    let Subject { found, options, limit_accepted } = subject;
    if *limit_accepted || !is_quorum(found) {
        return None;
    }
    let keeps = found.has("x-dead-letter-exchange");
    let remedy = format!(
        "Create the queue with `x-delivery-limit` {NO_LIMIT}, or say that a policy or the broker's \
         version makes it harmless: `accept_delivery_limit`"
    );
    let problem = match found.number("x-delivery-limit") {
        Some(limit) if limit >= HARMLESS => return None,
        Some(limit) if limit < 0 => format!(
            "the queue's `x-delivery-limit` is {limit}, which RabbitMQ 4 takes for none and RabbitMQ 3 \
             for less than one: it drops each message at its first redelivery"
        ),
        Some(limit) if !keeps => format!(
            "the queue's `x-delivery-limit` is {limit} and it has no dead letter exchange: the broker \
             drops a message at its redelivery number {}", limit + 1
        ),
        None if !keeps => "the queue has no `x-delivery-limit` and no dead letter exchange: RabbitMQ 4 \
                           has a limit of 20 for such queues, and drops a message at its redelivery \
                           number 21"
            .to_owned(),
        None => return None,
        Some(limit) => {
            let ours = options.retry_policy().limit().map(i64::from);
            if ours.is_some_and(|ours| limit > ours) {
                return None;
            }
            let ours = ours.map_or("no limit".to_owned(), |ours| format!("{ours} attempts"));
            format!(
                "the queue's `x-delivery-limit` is {limit}, and the retry policy here has {ours}: the \
                 broker would put messages away that were never tried"
            )
        }
    };
    Some(format!("{problem}. {remedy}"))
}

fn overtakes(Subject { found, options, .. }: &Subject<'_>) -> Option<String> {
    let strict = options.delivery_order() == DeliveryOrder::Strict;
    (strict && !found.is_set("x-single-active-consumer")).then(|| {
        "messages are to be processed in strict order, and the queue lets several processes consume side \
         by side: create it with `x-single-active-consumer` true"
            .to_owned()
    })
}

/// The type of a queue that was declared without one is classic.
fn is_quorum(found: &Found) -> bool {
    found.text("x-queue-type").as_deref() == Some("quorum")
}

fn warn_of_limits(found: &Found) {
    if let Some(answer) = &found.not_understood {
        tracing::warn!("what the queue was declared with could not be found out: {answer}");
    }
    if !is_quorum(found) {
        tracing::warn!(
            "the queue is a classic one: it lives on one node, and does not count redeliveries; declare \
             a quorum queue"
        );
    }
    if let Some(time) = found.number("x-message-ttl") {
        tracing::warn!(
            "messages that are not delivered within {time} ms leave the queue unprocessed: that is its \
             `x-message-ttl`"
        );
    }
    let limited = found.has("x-max-length") || found.has("x-max-length-bytes");
    let drops = found.text("x-overflow").is_none_or(|overflow| overflow == "drop-head");
    if limited && drops {
        tracing::warn!(
            "the queue drops its oldest messages when it is full, processed or not; the overflow \
             `reject-publish` would refuse new ones instead"
        );
    }
}
