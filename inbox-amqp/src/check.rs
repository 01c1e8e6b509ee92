//! What is looked at before a subscription starts: everything that would lose messages, or starve.

use inbox::{DeliveryOrder, RetryPolicy, SubscriptionOptions};

use crate::look::Found;
use crate::topology::NO_LIMIT;

/// A limit of so many redeliveries is as good as none.
const HARMLESS: i64 = 1_000_000;

/// Everything that is wrong, each with its remedy. What is only unwise is logged. `limit_accepted`: whether
/// the application answers for the queue's delivery limit.
pub(crate) fn problems(
    found: &Found,
    options: &SubscriptionOptions,
    limit_accepted: bool,
) -> Vec<String> {
    warn_of(found);
    let strict = options.delivery_order() == DeliveryOrder::Strict;
    let rules = [
        (
            !found.is_set("durable"),
            "the queue is not durable: it is gone after a restart of the broker, with what is in it. \
             Declare it durable",
        ),
        (
            found.is_set("auto_delete"),
            "the queue is deleted, with what is in it, when the last consumer leaves (`auto_delete`): \
             declare it without",
        ),
        (
            found.is("x-queue-type", "stream"),
            "the queue is a stream, whose messages cannot be given back: declare a quorum queue",
        ),
        (
            strict && !found.is_set("x-single-active-consumer"),
            "messages are to be processed in strict order, and the queue lets several processes consume \
             side by side: create it with `x-single-active-consumer` true",
        ),
    ];
    let limited = !limit_accepted && found.is("x-queue-type", "quorum");
    let limit = limited.then(|| harm_of_limit(found, options.retry_policy())).flatten();
    let limit = limit.map(|harm| {
        format!(
            "{harm}. Create the queue with `x-delivery-limit` {NO_LIMIT}, or say that a policy or the \
             broker's version makes it harmless: `accept_delivery_limit`"
        )
    });
    that_apply(&rules).map(str::to_owned).chain(limit).collect()
}

/// At a queue's delivery limit the broker drops a message, or has a dead letter exchange keep it, whether
/// it was ever tried: a message that is delivered beside one that takes the process along counts too.
fn harm_of_limit(found: &Found, retries: RetryPolicy) -> Option<String> {
    let is_kept = found.has("x-dead-letter-exchange");
    let Some(limit) = found.number("x-delivery-limit") else {
        return (!is_kept).then(|| {
            "the queue has no `x-delivery-limit` and no dead letter exchange: RabbitMQ 4 has a limit of 20 \
             for such queues, and drops a message at its redelivery number 21"
                .to_owned()
        });
    };
    let ours = retries.limit().map_or(HARMLESS - 1, i64::from);
    let harm = match limit {
        HARMLESS.. => return None,
        ..0 => "RabbitMQ 4 takes for none and RabbitMQ 3 for less than one: it drops each message at its \
                first redelivery"
            .to_owned(),
        _ if !is_kept => format!(
            "without a dead letter exchange has the broker drop a message at its redelivery number {}",
            limit + 1
        ),
        _ if limit > ours => return None,
        _ => {
            let ours = retries.limit().map_or("no limit".to_owned(), |ours| format!("{ours} attempts"));
            format!(
                "has the broker put messages away that were never tried: the retry policy here has {ours}"
            )
        }
    };
    Some(format!("the queue's `x-delivery-limit` is {limit}, which {harm}"))
}

fn warn_of(found: &Found) {
    if let Some(said) = &found.not_understood {
        tracing::warn!("what the queue was declared with could not be found out: {said}");
    }
    let limited = found.has("x-max-length") || found.has("x-max-length-bytes");
    // The type of a queue that was declared without one is classic.
    let warnings = [
        (
            !found.is("x-queue-type", "quorum"),
            "the queue is a classic one: it lives on one node, and does not count redeliveries; declare a \
             quorum queue",
        ),
        (
            found.has("x-message-ttl"),
            "messages that are not delivered in time leave the queue unprocessed: that is its \
             `x-message-ttl`",
        ),
        (
            found.has("x-expires"),
            "the queue is deleted, with what is in it, when nobody has used it for its `x-expires`",
        ),
        (
            limited && (!found.has("x-overflow") || found.is("x-overflow", "drop-head")),
            "the queue drops its oldest messages when it is full, processed or not; the overflow \
             `reject-publish` would refuse new ones instead",
        ),
    ];
    that_apply(&warnings).for_each(|warning| tracing::warn!("{warning}"));
}

fn that_apply<'a>(rules: &[(bool, &'a str)]) -> impl Iterator<Item = &'a str> {
    rules.iter().filter(|(applies, _)| *applies).map(|(_, text)| *text)
}
