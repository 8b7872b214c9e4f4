//! Properties of the page for any trace.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{TEMPLATE, render_html};

/// The text between two others.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no `{from}`")) + from.len();
    let end = text[start..].find(to).unwrap_or_else(|| panic!("no `{to}`"));
    &text[start..start + end]
}

/// The trace as a browser reads it: everything up to the first end of the element.
fn data(page: &str) -> &str {
    between(page, "<script type=\"application/json\" id=\"trace\">", "</script")
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |g, b| g << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let letter = LETTERS[(group >> (18 - 6 * i)) as usize & 63] as char;
            out.push(if i <= chunk.len() { letter } else { '=' });
        }
    }
    out
}

#[test]
fn the_data_comes_back_whatever_it_is() {
    let texts = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]>",
        "\u{2028}\u{2029}",
        "\u{0}\u{1}\u{7f}\u{85}\u{202e}",
        "\\u003c \\\\<",
        "<!--trace--><!--title-->",
        "𝔘 é 漢",
        "",
    ];
    for text in texts {
        let trace = json!({"version": 2, "flow": text, "status": text, "input": {text: [text, {"deep": text}]}});
        let page = render_html(&trace);
        let inside = data(&page);
        assert!(!inside.contains('<'), "nothing there can end the element: {text:?}");
        assert!(!inside.contains(['\u{2028}', '\u{2029}']), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(inside).unwrap(), trace, "{text:?}");
        // The same number of elements as without a trace.
        for tag in ["<script", "</script", "<title", "</title", "<!--"] {
            let expected = TEMPLATE.matches(tag).count() - if tag == "<!--" { 2 } else { 0 };
            assert_eq!(page.matches(tag).count(), expected, "`{tag}` with {text:?}");
        }
    }
}

#[test]
fn the_policy_knows_exactly_this_script_and_this_style() {
    let policy = between(TEMPLATE, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
    let hash = |content: &str| format!("'sha256-{}'", base64(&Sha256::digest(content.replace("\r\n", "\n"))));
    let script = TEMPLATE.rsplit_once("<script>").and_then(|(_, s)| s.split_once("</script>")).unwrap().0;
    let style = between(TEMPLATE, "<style>", "</style>");
    let directives: Vec<&str> = policy.split("; ").collect();
    assert_eq!(
        directives,
        [
            "default-src 'none'",
            &format!("script-src {}", hash(script)),
            &format!("style-src {}", hash(style)),
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    );
}

/// A text without its parts between two marks.
fn without(text: &str, from: &str, to: &str) -> String {
    let (mut left, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(from) {
        left.push_str(before);
        rest = after.split_once(to).unwrap().1;
    }
    left + rest
}

#[test]
fn the_page_loads_nothing() {
    // The script loads nothing because the policy forbids it: it contains the parser of Markdown, which knows these words.
    let page = without(&without(TEMPLATE, "<script>", "</script>"), "<!--", "-->").to_ascii_lowercase();
    for word in ["src=", "href=\"", "@import", "<link", "<iframe", "<base", "onload=", "onerror=", "https://"] {
        assert!(!page.contains(word), "the page has `{word}`");
    }
    // Only references within the page.
    assert_eq!(page.matches("url(").count(), page.matches("url(#").count());
    // The name of the SVG namespace looks like a URL but is not loaded.
    assert_eq!(page.matches("http://").count(), page.matches("http://www.w3.org/").count());
    // Every trace contains the page. Its compressed size is printed where it is built.
    assert!(TEMPLATE.len() < 200_000, "the page without a trace has {} bytes", TEMPLATE.len());
}
