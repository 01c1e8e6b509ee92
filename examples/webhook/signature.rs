//! Signatures of webhooks: HMAC-SHA256 over what the sender's documentation says, compared in a time that
//! does not depend on where they differ.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// How old a delivery may be, so that a recorded one cannot be sent again for ever.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

fn mac(secret: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    // HMAC takes keys of every length (RFC 2104).
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap_or_else(|_| unreachable!());
    parts.iter().for_each(|part| mac.update(part));
    mac
}

/// The signature itself.
pub(crate) fn sign(secret: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    mac(secret, parts).finalize().into_bytes().to_vec()
}

fn is_signed(secret: &[u8], parts: &[&[u8]], signature: Option<Vec<u8>>) -> bool {
    signature.is_some_and(|signature| mac(secret, parts).verify_slice(&signature).is_ok())
}

/// Whether a time in seconds since 1970 is near enough.
fn is_recent(seconds: &str) -> bool {
    let (Ok(seconds), Ok(now)) = (seconds.parse(), SystemTime::now().duration_since(UNIX_EPOCH))
    else {
        return false;
    };
    now.abs_diff(Duration::from_secs(seconds)) <= TOLERANCE
}

/// `X-Hub-Signature-256: sha256=HEX` over the body.
/// <https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries>
pub(crate) fn github(secret: &[u8], header: &str, body: &[u8]) -> bool {
    is_signed(secret, &[body], header.strip_prefix("sha256=").and_then(from_hex))
}

/// `Stripe-Signature: t=SECONDS,v1=HEX[,v1=HEX…]` over `SECONDS.BODY`.
/// <https://docs.stripe.com/webhooks#verify-manually>
pub(crate) fn stripe(secret: &[u8], header: &str, body: &[u8]) -> bool {
    let parts = || header.split(',').filter_map(|part| part.trim().split_once('='));
    let Some((_, time)) = parts().find(|(name, _)| *name == "t") else { return false };
    let signed = [time.as_bytes(), b".", body];
    is_recent(time)
        && parts()
            .filter(|(name, _)| *name == "v1")
            .any(|(_, signature)| is_signed(secret, &signed, from_hex(signature)))
}

/// `webhook-signature: v1,BASE64[ v1,BASE64…]` over `ID.SECONDS.BODY`.
/// <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
pub(crate) fn standard(secret: &[u8], [id, time, header]: [&str; 3], body: &[u8]) -> bool {
    let signed = [id.as_bytes(), b".", time.as_bytes(), b".", body];
    is_recent(time)
        && header
            .split(' ')
            .filter_map(|one| one.strip_prefix("v1,"))
            .any(|signature| is_signed(secret, &signed, BASE64.decode(signature).ok()))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of GitHub's documentation.
    #[test]
    fn githubs_own_example_is_signed() {
        let header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(github(b"It's a Secret to Everybody", header, b"Hello, World!"));
        assert!(!github(b"It's a Secret to Everybody", header, b"Hello, World?"));
        assert!(!github(b"another secret", header, b"Hello, World!"));
    }

    #[test]
    fn what_is_old_is_refused_though_it_is_signed() {
        let signed = |time: &str| {
            let signature = sign(b"secret", &[b"id.", time.as_bytes(), b".body"]);
            let header = format!("v1,{}", BASE64.encode(signature));
            standard(b"secret", ["id", time, &header], b"body")
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert!(signed(&now.to_string()));
        assert!(!signed(&(now - 3_600).to_string()));
        assert!(!signed("yesterday"));
    }

    #[test]
    fn a_header_that_is_no_signature_is_refused() {
        for header in ["", "sha256=", "sha256=zz", "sha256=abc", "sha1=00"] {
            assert!(!github(b"secret", header, b""), "{header}");
        }
        for header in ["", "t=1", "v1=00", "t=,v1="] {
            assert!(!stripe(b"secret", header, b""), "{header}");
        }
    }
}
