//! The encoded forms in which a recipient may return a secret: other case, JSON, URL encodings, HTML, base64, hexadecimal.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// Minimum length of a base64 form. A shorter one would also match other text.
const SHORTEST_BASE64: usize = 8;

/// Minimum length of a line of a secret that is also hidden without the other lines.
const SHORTEST_LINE: usize = 16;
/// A longer secret is known in fewer forms: as it is, in JSON, and encoded. The others would take too much memory.
const LONGEST: usize = 8 << 10;
/// A longer secret is not known in the forms that write each of its characters as several others.
const LONGEST_SPELLED: usize = 1 << 10;

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

/// The value, and the lines that reveal a part of it if they are printed alone or with other line breaks.
pub fn revealing_parts(value: &str) -> Vec<&str> {
    let mut all = vec![value];
    // A key in JSON has escaped line breaks. Elsewhere, a backslash is more likely a part of a path.
    let escaped = value.contains("-----BEGIN");
    let line_break = if escaped { "\\n" } else { "\n" };
    for line in value.split(['\n', '\r']).flat_map(|line| line.split(line_break)) {
        let line = line.trim();
        if line != value && line.chars().count() >= SHORTEST_LINE && !line.starts_with("-----") {
            all.push(line);
        }
    }
    all
}

/// The value itself, then all other forms as text without duplicates.
pub fn text_forms(value: &str) -> Vec<String> {
    let mut all = forms_of(value);
    if let Some(misread) = latin1_misreading(value) {
        all.extend(forms_of(&misread));
    }
    all
}

/// The value as Node and Python read it in a header: each byte as a character of Latin-1.
fn latin1_misreading(value: &str) -> Option<String> {
    if value.is_ascii() { None } else { Some(value.bytes().map(char::from).collect()) }
}

fn forms_of(value: &str) -> Vec<String> {
    let mut all = vec![value.to_owned()];
    let mut add = |form: String| {
        if !form.is_empty() && !all.contains(&form) {
            all.push(form);
        }
    };
    // On one line, as in messages.
    add(value.split_whitespace().collect::<Vec<_>>().join(" "));
    // In JSON, and in JSON inside a JSON string; also in ASCII only.
    let once = json_escaped(value);
    if value.len() > LONGEST {
        add(json_escaped(&once));
        add(once);
        return all;
    }
    // As a host name; as the name of a variable or a header, or shouted.
    add(value.to_lowercase());
    add(value.to_uppercase());
    for form in [&once, &json_escaped(&once)] {
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
    for form in in_html(value).into_iter().chain(in_addresses(value)) {
        add(form);
    }
    all
}

/// What the template engines and encoders of HTML write: some characters as entities, also when a text is escaped twice.
fn in_html(value: &str) -> Vec<String> {
    let mut all = Vec::new();
    let page = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for quote in ["&quot;", "&#34;", "&#x22;"] {
        for apostrophe in ["&#39;", "&#039;", "&#x27;", "&apos;", "'"] {
            all.push(page.replace('\'', apostrophe));
            let page = page.replace('"', quote).replace('\'', apostrophe);
            // Handlebars, and Mustache.
            let bars = page.replace('`', "&#x60;").replace('=', "&#x3D;");
            all.push(bars.replace('/', "&#x2F;"));
            all.extend([bars, page]);
        }
    }
    // Encoders that spare only letters and digits, or only ASCII, or nothing at all.
    let spelled = value.len() <= LONGEST_SPELLED;
    let decimal = |c: char| format!("&#{};", u32::from(c));
    let small = |c: char| format!("&#x{:x};", u32::from(c));
    let large = |c: char| format!("&#x{:X};", u32::from(c));
    for entity in [decimal, small, large] {
        all.push(rewrite_chars(value, entity, |c| !c.is_ascii_alphanumeric()));
        all.push(rewrite_chars(value, entity, |c| !c.is_ascii_alphanumeric() && !" .,-_".contains(c)));
        all.push(rewrite_chars(&page, entity, |c| !c.is_ascii()));
        if spelled {
            all.push(rewrite_chars(value, entity, |_| true));
        }
    }
    let twice: Vec<String> = all.iter().map(|form| form.replace('&', "&amp;")).collect();
    all.extend(twice);
    all
}

/// What encoders of URLs and forms write, also when a text is encoded twice.
fn in_addresses(value: &str) -> Vec<String> {
    let mut all = Vec::new();
    for set in SETS {
        let encoded = utf8_percent_encode(value, set).to_string();
        all.extend([lower_hex(&encoded), encoded]);
    }
    if value.len() <= LONGEST_SPELLED {
        // Each byte, as attackers and obfuscators write it.
        let encoded: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        all.extend([lower_hex(&encoded), encoded]);
    }
    let spaced: Vec<String> = all.iter().map(|form| form.replace(' ', "+")).collect();
    all.extend(spaced);
    let mut again = Vec::new();
    for form in &all {
        let twice = form.replace('%', "%25");
        again.extend([twice.replace('+', "%2B"), twice.replace('+', "%2b"), twice]);
    }
    all.extend(again);
    all
}

/// Writes some characters in another way.
fn rewrite_chars(text: &str, how: fn(char) -> String, those: impl Fn(char) -> bool) -> String {
    text.chars().map(|c| if those(c) { how(c) } else { c.to_string() }).collect()
}

/// The encodings of its bytes, which may be wrapped at any length: base64, also of base64 and of UTF-16, and hexadecimal.
pub fn byte_encodings(value: &str) -> Vec<String> {
    let standard = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD);
    let url = GeneralPurpose::new(&alphabet::URL_SAFE, NO_PAD);
    let mut all = base64_at_offsets(&standard, value.as_bytes());
    let mut twice = Vec::new();
    for once in &all {
        twice.extend(base64_at_offsets(&standard, once.as_bytes()));
    }
    all.extend(twice);
    all.extend(base64_at_offsets(&url, value.as_bytes()));
    if let Some(misread) = latin1_misreading(value) {
        all.extend(base64_at_offsets(&standard, misread.as_bytes()));
    }
    let wide: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    all.extend(base64_at_offsets(&standard, &wide));
    for separator in ["", ":", " "] {
        let hex = value.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(separator);
        all.push(hex.to_uppercase());
        all.push(hex);
    }
    all
}

/// The most common forms of one line of a longer secret: as text, and encoded.
pub fn forms_of_line(line: &str) -> (Vec<String>, Vec<String>) {
    let mut texts = vec![line.to_owned()];
    let escaped = json_escaped(line);
    if escaped != line {
        texts.push(escaped);
    }
    let standard = GeneralPurpose::new(&alphabet::STANDARD, NO_PAD);
    let mut encoded = base64_at_offsets(&standard, line.as_bytes());
    let hex: String = line.bytes().map(|byte| format!("{byte:02x}")).collect();
    encoded.push(hex.to_uppercase());
    encoded.push(hex);
    (texts, encoded)
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
fn json_escaped(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.get(1..json.len() - 1).unwrap_or_default().to_owned()
}

fn base64_at_offsets(engine: &GeneralPurpose, bytes: &[u8]) -> Vec<String> {
    (0..3).filter_map(|offset| stable_base64(engine, bytes, offset)).collect()
}

/// The base64 characters that depend only on this value, if `offset` bytes (0, 1 or 2) of a group of three precede it. This also
/// finds `id:secret` of basic authentication.
fn stable_base64(engine: &GeneralPurpose, value: &[u8], offset: usize) -> Option<String> {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(value);
    let text = engine.encode(&bytes);
    let first = (offset * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    let sure = text.get(first..last)?;
    if sure.len() >= SHORTEST_BASE64 { Some(sure.to_owned()) } else { None }
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
        text_forms(VALUE).iter().chain(&byte_encodings(VALUE)).any(|form| text.contains(form))
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
        let standard = base64::engine::general_purpose::STANDARD;
        for before in ["", "a", "ab"] {
            assert!(hides(&standard.encode(standard.encode(format!("{before}{VALUE}")))), "{before}");
            let wide: Vec<u8> = format!("{before}{VALUE}").encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert!(hides(&standard.encode(wide)), "{before}");
        }
        let hex: Vec<String> = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
        for text in [hex.concat(), hex.concat().to_uppercase(), hex.join(":"), hex.join(" ")] {
            assert!(hides(&text), "{text}");
        }
        assert!(!hides("s3cr3t") && !hides("c3Nl"));
    }

    #[test]
    fn a_value_of_several_lines_is_known_on_one() {
        assert!(text_forms("-----BEGIN KEY-----\nMIIB\n").contains(&"-----BEGIN KEY----- MIIB".to_owned()));
    }

    #[test]
    fn what_javascript_leaves_in_addresses_is_known() {
        let forms = text_forms("a\\b/c;d?e#f");
        for form in ["a%5Cb/c;d?e#f", "a%5Cb%2Fc%3Bd%3Fe%23f"] {
            assert!(forms.iter().any(|known| known == form), "{form}");
        }
    }

    #[test]
    fn what_servers_make_of_a_key_in_their_answers_is_known() {
        let forms = text_forms("Zm9v+Ym/Fy&'<x>\"");
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
        let spaced = super::text_forms("a b*c~d!");
        for form in ["a+b%2Ac~d%21", "a+b%2Ac%7Ed%21", "a+b*c%7ed!"] {
            assert!(spaced.iter().any(|known| known == form), "{form}");
        }
    }

    #[test]
    fn a_header_read_as_latin_1_is_known() {
        for text in
            ["s3cr3t/\u{c3}\u{bc} +\"x\"=", r#"s3cr3t/\u00c3\u00bc +\"x\"="#, "s3cr3t%2F%C3%83%C2%BC%20%2B%22x%22%3D"]
        {
            assert!(hides(text), "{text}");
        }
        assert!(hides(&base64::engine::general_purpose::STANDARD.encode("s3cr3t/\u{c3}\u{bc} +\"x\"=")));
    }

    #[test]
    fn a_plain_value_has_few_forms() {
        assert!(text_forms("abcdefghijkl").len() < 16, "{:?}", text_forms("abcdefghijkl"));
        assert!(text_forms(&"abcdefghijkl".repeat(100)).len() < 5);
        assert!(text_forms(VALUE).len() < 300, "{}", text_forms(VALUE).len());
    }

    type Encoder = (&'static str, fn(&str) -> String);

    /// Encoders as others write them, independent of those above.
    fn encoders() -> Vec<Encoder> {
        fn each(text: &str, how: impl Fn(char) -> Option<String>) -> String {
            text.chars().map(|c| how(c).unwrap_or_else(|| c.to_string())).collect()
        }
        fn bytes(text: &str, spare: &str) -> String {
            let one = |b: u8| match b {
                b if b.is_ascii_alphanumeric() || spare.contains(char::from(b)) && b.is_ascii() => {
                    char::from(b).to_string()
                }
                b => format!("%{b:02X}"),
            };
            text.bytes().map(one).collect()
        }
        vec![
            ("upper case", |t| t.to_uppercase()),
            ("lower case", |t| t.to_lowercase()),
            ("encodeURIComponent", |t| bytes(t, "-_.!~*'()")),
            ("encodeURI", |t| bytes(t, "-_.!~*'();,/?:@&=+$#")),
            ("quote_plus", |t| bytes(t, "-_.~ ").replace(' ', "+")),
            ("every byte", |t| t.bytes().map(|b| format!("%{b:02X}")).collect()),
            ("every byte, small", |t| t.bytes().map(|b| format!("%{b:02x}")).collect()),
            ("encodeURIComponent twice", |t| bytes(&bytes(t, "-_.!~*'()"), "-_.!~*'()")),
            ("quote twice", |t| bytes(&bytes(t, "-_.~/"), "-_.~/")),
            ("quote_plus twice", |t| bytes(&bytes(t, "-_.~ ").replace(' ', "+"), "-_.~ ")),
            ("every byte, then as a value", |t| {
                bytes(&t.bytes().map(|b| format!("%{b:02X}")).collect::<String>(), "-_.~")
            }),
            ("html.escape of Python", |t| {
                t.replace('&', "&amp;")
                    .replace('<', "&lt;")
                    .replace('>', "&gt;")
                    .replace('"', "&quot;")
                    .replace('\'', "&#x27;")
            }),
            ("html.escape, then once more", |t| {
                let once = t.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                once.replace('"', "&quot;").replace('\'', "&#x27;").replace('&', "&amp;")
            }),
            ("decimal entities", |t| each(t, |c| Some(format!("&#{};", c as u32)))),
            ("hexadecimal entities", |t| each(t, |c| Some(format!("&#x{:x};", c as u32)))),
            ("large hexadecimal entities", |t| each(t, |c| Some(format!("&#x{:X};", c as u32)))),
            ("the encoder of OWASP", |t| {
                each(t, |c| (!c.is_ascii_alphanumeric()).then(|| format!("&#x{:x};", c as u32)))
            }),
            ("entities beyond ASCII", |t| each(t, |c| (!c.is_ascii()).then(|| format!("&#{};", c as u32)))),
            ("Mustache", |t| {
                each(t, |c| {
                    Some(match c {
                        '&' => "&amp;".to_owned(),
                        '<' => "&lt;".to_owned(),
                        '>' => "&gt;".to_owned(),
                        '"' => "&quot;".to_owned(),
                        '\'' => "&#39;".to_owned(),
                        '/' => "&#x2F;".to_owned(),
                        '`' => "&#x60;".to_owned(),
                        '=' => "&#x3D;".to_owned(),
                        _ => return None,
                    })
                })
            }),
        ]
    }

    #[test]
    fn every_encoder_is_known_for_every_value() {
        let values =
            [VALUE, "Zm9v+Ym/Fy==", "hunter2-HUNTER", "a b&c d/e", "pa$$<w>'o`rd", "plainoldtoken", "Passwört 2026"];
        let mut count = 0;
        for value in values {
            let known: Vec<String> = text_forms(value).into_iter().chain(byte_encodings(value)).collect();
            for (name, encode) in encoders() {
                // Entities beyond ASCII are mixed with others only where a page is escaped, too.
                let text = encode(value);
                count += 1;
                let skipped = name == "entities beyond ASCII" && value.contains(['&', '<', '>', '"']);
                assert!(skipped || known.iter().any(|form| text.contains(form)), "{name} of {value}: {text}");
            }
        }
        assert_eq!(count, 133);
    }

    #[test]
    fn long_lines_of_a_value_are_parts_of_it() {
        let key = "-----BEGIN KEY-----\r\n  MIIBVgIBADANBgkq\nshort\n-----END KEY-----\n";
        assert_eq!(revealing_parts(key), [key, "MIIBVgIBADANBgkq"]);
        let json = r#"{"key": "-----BEGIN KEY-----\nMIIBVgIBADANBgkq\n-----END KEY-----\n"}"#;
        assert_eq!(revealing_parts(json)[1..], [r#"{"key": "-----BEGIN KEY-----"#, "MIIBVgIBADANBgkq"]);
        assert_eq!(revealing_parts(r"C:\\new\\releases-of-the-month"), [r"C:\\new\\releases-of-the-month"]);
    }
}
