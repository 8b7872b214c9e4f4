//! The key that a request sends.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::{HeaderMap, header};

/// How a subprotocol begins that is the key of a browser.
const KEY_PROTOCOL: &str = "trefoil.key.";

/// The key in the `Authorization` header, or in the subprotocols that a websocket offers: browsers can set no headers there, and a key in
/// the address would be in logs.
pub fn find_sent_key(headers: &HeaderMap) -> Option<String> {
    match headers.get(header::AUTHORIZATION) {
        Some(value) => {
            let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
            if scheme.eq_ignore_ascii_case("bearer") { Some(key.trim().to_owned()) } else { None }
        }
        None => protocol_key(headers),
    }
}

fn protocol_key(headers: &HeaderMap) -> Option<String> {
    let upgrade = headers.get(header::UPGRADE)?.to_str().ok()?;
    if !upgrade.eq_ignore_ascii_case("websocket") {
        return None;
    }
    for offered in headers.get_all(header::SEC_WEBSOCKET_PROTOCOL) {
        for protocol in offered.to_str().unwrap_or_default().split(',') {
            let Some(encoded) = protocol.trim().strip_prefix(KEY_PROTOCOL) else { continue };
            // Whatever cannot be decoded was sent as a key, and is none.
            let decoded = BASE64_URL_SAFE_NO_PAD.decode(encoded.trim_end_matches('=')).unwrap_or_default();
            return Some(String::from_utf8(decoded).unwrap_or_default());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(headers: &[(&str, &str)]) -> Option<String> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        find_sent_key(&all)
    }

    #[test]
    fn a_key_is_in_the_header_or_among_the_protocols_of_a_websocket() {
        let encoded = BASE64_URL_SAFE_NO_PAD.encode("trefoil_a_b");
        let offered = format!("trefoil.lsp, trefoil.key.{encoded}");
        let key = Some("trefoil_a_b".to_owned());
        assert_eq!(sent(&[("authorization", "bearer trefoil_a_b ")]), key);
        assert_eq!(sent(&[("upgrade", "WebSocket"), ("sec-websocket-protocol", &offered)]), key);
        let apart = format!("trefoil.key.{encoded}=");
        let two =
            [("sec-websocket-protocol", "trefoil.lsp"), ("sec-websocket-protocol", &*apart), ("upgrade", "websocket")];
        assert_eq!(sent(&two), key);
        assert_eq!(sent(&[("sec-websocket-protocol", &offered)]), None, "it is no websocket");
        assert_eq!(sent(&[("upgrade", "websocket"), ("sec-websocket-protocol", "trefoil.lsp")]), None);
        let broken = [("upgrade", "websocket"), ("sec-websocket-protocol", "trefoil.key.%%")];
        assert_eq!(sent(&broken), Some(String::new()), "a key that is none is not the same as no key");
        let both = [("authorization", "Basic x"), ("upgrade", "websocket"), ("sec-websocket-protocol", &*offered)];
        assert_eq!(sent(&both), None);
    }
}
