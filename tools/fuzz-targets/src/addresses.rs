//! Addresses of providers: the key is sent only to the host that the text of an address shows.

use trefoil_models::http;
use trefoil_models::vendors::VENDORS;
use trefoil_models::{ProviderAddress, Registry};

use crate::{Target, fixed};

/// The address of a vendor with a default address.
const OWN: &str = "https://api.openai.com";

pub(crate) const TARGET: Target = Target::of_text(
    "addresses",
    "an address that is accepted leads to the host that is written in it, and shows no key",
    || {
        fixed(&[
            "https://api.openai.com/v1",
            "https://api.openai.com:443/v1?key=secret#part",
            "http://127.0.0.1:8080",
            "http://[::1]:8080/v1",
            "https://api.openai.com@elsewhere.test/v1",
            "https://elsewhere.test\\@api.openai.com/v1",
            "https:elsewhere.test",
            "https:///elsewhere.test",
            "http://2130706433/",
            "https://api。openai.com/",
            "https://xn--80ak6aa92e.com/",
            "https://api.openai.com.elsewhere.test/",
            "https://a.test/../../v1",
            "https://a.test/%2e%2e/v1",
            "HTTPS://A.TEST:0443",
            "ht\ttps://a.test",
            "javascript:alert(1)",
            "file:///etc/passwd",
        ])
    },
    &[
        "https://",
        "http://",
        "//",
        "\\",
        "@",
        ":",
        "443",
        "0",
        "?",
        "#",
        "/..",
        "%2f",
        "%40",
        "[::1]",
        "api.openai.com",
        "elsewhere.test",
        "。",
        "\t",
        " ",
    ],
    run,
);

fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let accepted = ProviderAddress::parse(text).ok();
    let env = [("OPENAI_BASE_URL", text), ("OPENAI_API_KEY", "k")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let registry = Registry::new(env);
    let elsewhere = registry.non_default_address("openai");
    let Some(address) = accepted else {
        assert!(elsewhere.is_none());
        // A blank variable counts as unset.
        assert!(
            text.trim().is_empty() || registry.resolve_provider("openai", "m").is_err(),
            "{text:?} is refused and used"
        );
        return;
    };
    let url = address.as_url();
    assert!(matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none());
    assert!(!text.trim().contains(|c: char| c.is_control() || c.is_whitespace()));

    // The host in the text is the host that is called.
    let written = authority(text.trim());
    assert!(!written.contains('@'), "{text:?}");
    let host = written.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let host = host.map_or(written, |(host, _)| host).to_ascii_lowercase();
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let plain = host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.' || b == b'-');
    if plain && last.starts_with(|c: char| c.is_ascii_lowercase()) && !host.contains("xn--") {
        assert_eq!(url.host_str(), Some(&*host), "{text:?}");
    }

    // The reported origin leads to the same place, and another vendor's host is reported.
    assert_eq!(
        ProviderAddress::parse(&address.origin_text()).ok().map(|again| again.origin_text()),
        Some(address.origin_text())
    );
    assert_eq!(elsewhere.map(|e| e.address), (address.origin_text() != OWN).then(|| address.origin_text()), "{text:?}");
    assert!(!format!("{address:?}").contains('?'));
    for vendor in VENDORS {
        let Ok(endpoint) = http::create_endpoint(vendor.name, vendor.protocol, text, None) else {
            unreachable!("{text:?} is an address, and `{}` does not take it", vendor.name)
        };
        assert_eq!(endpoint.base_url().origin(), url.origin());
        let base = url.path().trim_end_matches('/');
        assert!(endpoint.base_url().path().starts_with(base), "{text:?}: {}", endpoint.base_url());
    }
}

/// A separate implementation for comparison: the text between the scheme and the path.
fn authority(text: &str) -> &str {
    let rest = text.split_once(':').map_or(text, |(_, rest)| rest).trim_start_matches(['/', '\\']);
    rest.split(['/', '\\', '?', '#']).next().unwrap_or_default()
}
