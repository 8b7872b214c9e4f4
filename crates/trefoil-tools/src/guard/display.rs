//! A request in one line, as it may be shown.

use trefoil_ir::credential::names_credential;
use url::Url;

use super::GuardedRequest;

/// What stands for a value that is not shown.
const HIDDEN: &str = "***";
/// The same in a part of an address that is percent-encoded.
const ENCODED: &str = "%2A%2A%2A";
/// Maximum number of characters of an address.
const LONGEST: usize = 300;
impl GuardedRequest {
    /// The method, the address and the size of the body: `POST https://example.com/items?key=***, 87 bytes`. Neither
    /// headers nor the body. The request must have been built from arguments that may be shown.
    pub fn display_line(&self) -> String {
        let body = match self.body.as_ref().map(Vec::len) {
            None => String::new(),
            Some(1) => ", 1 byte".to_owned(),
            Some(bytes) => format!(", {bytes} bytes"),
        };
        format!("{} {}{body}", self.method, address(&self.url))
    }
}

/// An address without user, password and credentials in its query.
fn address(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        // The start of the address may be a value of the environment.
        return match text.split(['?', '#']).next() {
            Some(path) if path.starts_with(HIDDEN) && !path.contains('@') => cut(path),
            _ => "an invalid address".to_owned(),
        };
    };
    if !url.username().is_empty() || url.password().is_some() {
        // Fails only for addresses without a host, which have neither.
        let _ = url.set_password(None);
        let _ = url.set_username(HIDDEN);
    }
    if let Some(query) = url.query() {
        let pairs: Vec<String> = query.split('&').map(pair).collect();
        url.set_query(Some(&pairs.join("&")));
    }
    cut(&url.as_str().replace(ENCODED, HIDDEN))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn pair(text: &str) -> String {
    match text.split_once('=') {
        Some((name, value)) if !value.is_empty() && names_credential(name) => format!("{name}={HIDDEN}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_an_address_are_not_shown() {
        for (url, shown) in [
            ("https://h/a?q=x&api_key=abc", "https://h/a?q=x&api_key=***"),
            (
                "https://h/?accessToken=abc&X-Amz-Signature=abc&sig=",
                "https://h/?accessToken=***&X-Amz-Signature=***&sig=",
            ),
            ("https://h/?keyword=a&author=b&design=c", "https://h/?keyword=a&author=b&design=c"),
            ("https://me:pw@h/", "https://***@h/"),
            ("https://h/%2A%2A%2A/x?k=***", "https://h/***/x?k=***"),
            ("***/items?key=abc", "***/items"),
            ("no address", "an invalid address"),
        ] {
            assert_eq!(GuardedRequest::for_get(url).display_line(), format!("GET {shown}"), "{url}");
        }
        let long = GuardedRequest::for_get(format!("https://h/{}", "x".repeat(1_000))).display_line();
        assert_eq!(long.chars().count(), "GET ".len() + LONGEST + 1);
    }
}
