//! The encoded forms in which a recipient may return a secret: JSON, URL encodings, HTML, base64.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// Minimum length of a base64 form. A shorter one would also match other text.
const SHORTEST_BASE64: usize = 8;

/// The percent-encode sets for a query, a path and a value (<https://url.spec.whatwg.org/#percent-encoded-bytes>, RFC 3986).
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'\'');
const PATH: &AsciiSet = &QUERY.add(b'?').add(b'^').add(b'`').add(b'{').add(b'}').remove(b'\'');
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// `encodeURIComponent` of JavaScript.
const COMPONENT: &AsciiSet = &VALUE.remove(b'!').remove(b'\'').remove(b'(').remove(b')').remove(b'*');
/// `encodeURI` of JavaScript.
const URI: &AsciiSet = &COMPONENT
    .remove(b';')
    .remove(b',')
    .remove(b'/')
    .remove(b'?')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b'#');
/// `application/x-www-form-urlencoded`, before spaces become `+`.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*').remove(b' ');

/// `quote` of Python, which does not encode `/`.
const QUOTE: &AsciiSet = &VALUE.remove(b'/');
/// `url.PathEscape` of Go.
const SEGMENT: &AsciiSet = &VALUE.remove(b'$').remove(b'&').remove(b'+').remove(b'=').remove(b':').remove(b'@');
/// Other form encodings, before spaces become `+`: `quote_plus` of Python and `url.QueryEscape` of Go, `urlencode` of PHP,
/// `UrlEncode` of .NET.
const PLUS: &AsciiSet = &VALUE.remove(b' ');
const PHP: &AsciiSet = &FORM.add(b'*');
const DOTNET: &AsciiSet = &FORM.remove(b'!').remove(b'(').remove(b')');
/// All percent-encode sets.
const SETS: [&AsciiSet; 11] = [QUERY, PATH, VALUE, COMPONENT, URI, FORM, QUOTE, SEGMENT, PLUS, PHP, DOTNET];

/// Additional ASCII characters that JSON encoders write as `\u`: Go and Rails; .NET.
const FOR_HTML: &[char] = &['<', '>', '&'];
const FOR_ALL: &[char] = &['<', '>', '&', '\'', '+', '`', '\u{7f}'];

/// The value itself, then all other forms without duplicates.
pub fn forms(value: &str) -> Vec<String> {
    let mut all = vec![value.to_owned()];
    let mut add = |form: String| {
        if !form.is_empty() && !all.contains(&form) {
            all.push(form);
        }
    };
    // On one line, as in messages.
    add(value.split_whitespace().collect::<Vec<_>>().join(" "));
    // In JSON, and in JSON inside a JSON string; also in ASCII only.
    let once = quoted(value);
    for form in [&once, &quoted(&once)] {
        for hex in [|unit: u16| format!("\\u{unit:04x}"), |unit: u16| format!("\\u{unit:04X}")] {
            for few in [&[], FOR_HTML, FOR_ALL] {
                add(in_units(form, hex, |c| few.contains(&c)));
                let ascii = in_units(form, hex, |c| few.contains(&c) || !c.is_ascii());
                add(ascii.replace('/', "\\/"));
                // .NET also writes quotes as `\u`.
                add(ascii.replace("\\\"", &hex(0x22)));
                add(ascii);
            }
        }
        add(form.clone());
        add(form.replace('/', "\\/"));
    }
    // In HTML.
    for quote in ["&quot;", "&#34;"] {
        for apostrophe in ["&#39;", "&#039;", "&#x27;", "&apos;", "'"] {
            let page = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            add(page.replace('\'', apostrophe));
            add(page.replace('"', quote).replace('\'', apostrophe));
        }
    }
    for set in SETS {
        let encoded = utf8_percent_encode(value, set).to_string();
        add(lower_hex(&encoded).replace(' ', "+"));
        add(lower_hex(&encoded));
        add(encoded.replace(' ', "+"));
        add(encoded);
    }
    for alphabet in [alphabet::STANDARD, alphabet::URL_SAFE] {
        let engine = GeneralPurpose::new(&alphabet, NO_PAD);
        (0..3).filter_map(|offset| inside(&engine, value.as_bytes(), offset)).for_each(&mut add);
    }
    all
}

/// Writes some characters as UTF-16 units.
fn in_units(text: &str, hex: fn(u16) -> String, those: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match those(c) {
            false => out.push(c),
            true => out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| hex(*unit))),
        }
    }
    out
}

/// The JSON string without its quotes.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.get(1..json.len() - 1).unwrap_or_default().to_owned()
}

/// The base64 characters that depend only on this value, if `offset` bytes (0, 1 or 2) of a group of three precede it. This also
/// finds `id:secret` of basic authentication.
fn inside(engine: &GeneralPurpose, value: &[u8], offset: usize) -> Option<String> {
    let bytes: Vec<u8> = std::iter::repeat_n(0, offset).chain(value.iter().copied()).collect();
    let text = engine.encode(&bytes);
    let first = (offset * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    text.get(first..last).filter(|sure| sure.len() >= SHORTEST_BASE64).map(str::to_owned)
}

/// Converts `%C3` to `%c3`, which some servers write.
fn lower_hex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut left = 0;
    for c in text.chars() {
        if c == '%' {
            left = 3;
        }
        out.push(if left > 0 { c.to_ascii_lowercase() } else { c });
        left = usize::saturating_sub(left, 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "s3cr3t/ü +\"x\"=";

    fn hides(text: &str) -> bool {
        forms(VALUE).iter().any(|form| text.contains(form))
    }

    #[test]
    fn every_form_is_known() {
        for text in [
            VALUE,
            r#"s3cr3t/ü +\"x\"="#,
            r#"s3cr3t\/ü +\"x\"="#,
            r#"s3cr3t/\u00fc +\"x\"="#,
            r#"s3cr3t\/\u00FC +\"x\"="#,
            r#"{"body": "{\"key\": \"s3cr3t/ü +\\\"x\\\"=\"}"}"#,
            "s3cr3t%2F%C3%BC%20%2B%22x%22%3D",
            "s3cr3t%2f%c3%bc%20%2b%22x%22%3d",
            "s3cr3t%2F%C3%BC+%2B%22x%22%3D",
            "s3cr3t/%C3%BC%20+%22x%22=",
        ] {
            assert!(hides(text), "{text}");
        }
        for before in ["", "a", "ab", "abc", "id:"] {
            for engine in [base64::engine::general_purpose::STANDARD, base64::engine::general_purpose::URL_SAFE] {
                for after in ["", "!", "??"] {
                    let text = engine.encode(format!("{before}{VALUE}{after}"));
                    assert!(hides(&text), "{before} {after}: {text}");
                }
            }
        }
        assert!(!hides("s3cr3t") && !hides("c3Nl"));
    }

    #[test]
    fn a_value_of_several_lines_is_known_on_one() {
        assert!(forms("-----BEGIN KEY-----\nMIIB\n").contains(&"-----BEGIN KEY----- MIIB".to_owned()));
    }

    #[test]
    fn what_javascript_leaves_in_addresses_is_known() {
        let forms = forms("a\\b/c;d?e#f");
        for form in ["a%5Cb/c;d?e#f", "a%5Cb%2Fc%3Bd%3Fe%23f"] {
            assert!(forms.iter().any(|known| known == form), "{form}");
        }
    }

    #[test]
    fn what_servers_make_of_a_key_in_their_answers_is_known() {
        let forms = forms("Zm9v+Ym/Fy&'<x>\"");
        for form in [
            "Zm9v%2BYm/Fy%26%27%3Cx%3E%22",
            "Zm9v+Ym%2FFy&%27%3Cx%3E%22",
            r"Zm9v\u002BYm/Fy\u0026\u0027\u003Cx\u003E\u0022",
            r#"Zm9v+Ym/Fy\u0026'\u003cx\u003e\""#,
            "Zm9v+Ym/Fy&amp;&#x27;&lt;x&gt;&#34;",
            "Zm9v+Ym/Fy&amp;'&lt;x&gt;&quot;",
        ] {
            assert!(forms.iter().any(|known| known == form), "{form}");
        }
        let spaced = super::forms("a b*c~d!");
        for form in ["a+b%2Ac~d%21", "a+b%2Ac%7Ed%21", "a+b*c%7ed!"] {
            assert!(spaced.iter().any(|known| known == form), "{form}");
        }
    }

    #[test]
    fn a_plain_value_has_few_forms() {
        assert_eq!(forms("abcdefghijkl").len(), 4, "itself, and base64 at three places");
    }
}
