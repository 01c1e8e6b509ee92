//! The HTTP side: a delivery is verified, dispatched, and answered 2xx only where that was `Ok`.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use inbox::{Consumer, DispatchError, Envelope, Outcome};
use inbox_sqlite::SqliteInboxStore;
use serde::Deserialize;

use crate::secrets::Secrets;
use crate::signature;

/// What the routes share.
#[derive(Clone)]
pub(crate) struct Receiver {
    consumer: Consumer<SqliteInboxStore>,
    secrets: Secrets,
}

type Answer = (StatusCode, String);

impl Receiver {
    pub(crate) fn new(consumer: Consumer<SqliteInboxStore>, secrets: Secrets) -> Self {
        Self { consumer, secrets }
    }

    pub(crate) fn router(self) -> Router {
        Router::new()
            .route("/github", post(github))
            .route("/stripe", post(stripe))
            .route("/shop", post(shop))
            .with_state(self)
    }

    /// In a task of its own, so that a sender who hangs up does not cancel it: the work would be rolled
    /// back, and the sender's next try would find it half-way again.
    async fn dispatch(&self, envelope: Envelope) -> Answer {
        let consumer = self.consumer.clone();
        match tokio::spawn(async move { consumer.dispatch(&envelope).await }).await {
            Ok(answer) => answer_of(answer),
            Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the dispatch ended".to_owned()),
        }
    }
}

/// Senders try again on everything but 2xx; some give up on 4xx, which is right where a retry cannot help.
fn answer_of(answer: Result<Outcome, DispatchError>) -> Answer {
    match answer {
        Ok(outcome) => (StatusCode::OK, outcome.to_string()),
        Err(error) if error.is_permanent() => {
            (StatusCode::UNPROCESSABLE_ENTITY, format!("{:?}", error.kind()))
        }
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{:?}", error.kind())),
    }
}

fn unsigned() -> Answer {
    (StatusCode::UNAUTHORIZED, "the signature does not fit".to_owned())
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// GitHub: the id of a delivery is a UUID in `X-GitHub-Delivery`, the same when it is redelivered.
async fn github(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> Answer {
    let signature = header(&headers, "x-hub-signature-256");
    if !signature::github(&receiver.secrets.github, signature, &body) {
        return unsigned();
    }
    let (id, event) = (header(&headers, "x-github-delivery"), header(&headers, "x-github-event"));
    receiver.dispatch(Envelope::new(id, event, body.to_vec()).with_source("github")).await
}

/// Stripe: the id and the type stand in the body, so only a verified body is looked into.
async fn stripe(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> Answer {
    #[derive(Deserialize)]
    struct Event {
        id: String,
        r#type: String,
        data: Box<serde_json::value::RawValue>,
    }
    if !signature::stripe(&receiver.secrets.stripe, header(&headers, "stripe-signature"), &body) {
        return unsigned();
    }
    let Ok(event) = serde_json::from_slice::<Event>(&body) else {
        return (StatusCode::BAD_REQUEST, "the body is no event".to_owned());
    };
    let payload = event.data.get().as_bytes();
    receiver.dispatch(Envelope::new(event.id, event.r#type, payload).with_source("stripe")).await
}

/// Standard Webhooks: `webhook-id` is the same at every try. The event type is a header of this sender's.
async fn shop(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> Answer {
    let [id, time, signature] =
        ["webhook-id", "webhook-timestamp", "webhook-signature"].map(|name| header(&headers, name));
    if !signature::standard(&receiver.secrets.shop, [id, time, signature], &body) {
        return unsigned();
    }
    let event_type = header(&headers, "x-event-type");
    let mut envelope = Envelope::new(id, event_type, body.to_vec()).with_source("shop");
    if let Ok(attempt) = header(&headers, "x-attempt").parse() {
        envelope = envelope.with_delivery_attempt(attempt);
    }
    receiver.dispatch(envelope).await
}
