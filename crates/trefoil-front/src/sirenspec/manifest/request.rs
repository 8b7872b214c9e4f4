//! Reports requests that are unusual but can be sent: a body that servers ignore, invalid JSON, a header with an
//! unknown name.

use trefoil_syntax::yaml::{YamlEntry, YamlText};
use trefoil_syntax::{Diagnostic, suggestions};
use trefoil_template::read_json;

use crate::ManifestReader;
use crate::requests;
use crate::spelling_fixes::fix_spelling;

/// Checks a header.
pub fn check_header(reader: &ManifestReader<'_>, name: &YamlText, value: &YamlText) {
    let written = &*name.value;
    let report_misspelling = |d: Diagnostic, meant: &str, sure: bool| {
        let near = suggestions::NearMatch { name: meant, distance: 1, sure };
        reader.report_finding(fix_spelling(
            d.with_help(format!("did you mean `{meant}`?")),
            reader.location_of(name.span),
            name,
            near,
        ));
    };
    if let Some(bare) = written.trim().strip_suffix(':')
        && !bare.is_empty()
    {
        let message = format!("a header name cannot contain a colon: `{written}`");
        report_misspelling(
            Diagnostic::new_warning("invalid-name", reader.location_of(name.span), message),
            bare,
            false,
        );
    } else if let Some(near) = requests::header_slip(written) {
        let message = format!("unknown header `{written}`");
        report_misspelling(
            Diagnostic::new_warning("invalid-name", reader.location_of(name.span), message),
            near.name,
            false,
        );
    }
    reader.report_all(requests::check_auth_scheme(reader.file, name, value, "{{ ... }}"));
}

/// Checks a body.
pub fn check_request_body(
    reader: &ManifestReader<'_>,
    entry: &YamlEntry,
    method: &str,
    headers: &[(&YamlText, &YamlText)],
) {
    if method == "GET" {
        let message = format!("a {method} request has no body");
        let d = Diagnostic::new_warning("no-effect", reader.location_of(entry.key.span), message);
        return reader.report_finding(d.with_help("write `method: POST`"));
    }
    let Some(text) = entry.value.as_string() else { return };
    if !sends_json(headers) || !text.value.trim_start().starts_with(['{', '[']) {
        return;
    }
    let new_finding = |why: &str| {
        let message = format!("the body is sent as JSON but does not parse: {why}");
        Diagnostic::new_warning("wrong-type", reader.location_of(text.span), message)
    };
    let first = text.value.trim_start_matches(|c: char| matches!(c, '{' | '[') || c.is_whitespace());
    if first.starts_with('\'') && !text.value.contains('"') {
        return reader.report_finding(
            new_finding("its texts have single quotes").with_help("use double quotes: JSON requires them"),
        );
    }
    let Some(example) = fill_placeholders(text.value.trim()) else { return };
    let Err(error) = read_json::<serde_json::Value>(&example) else { return };
    let error = error.to_string();
    let d = new_finding(error.split(" at line ").next().unwrap_or_default());
    let outside = |word: &str| example.contains(word);
    reader.report_finding(if [": True", ": False", ": None", ":True", ":False", ":None"].into_iter().any(outside) {
        d.with_help("write `true`, `false` or `null`")
    } else {
        d
    });
}

/// Whether the body is sent as JSON, which is the default.
fn sends_json(headers: &[(&YamlText, &YamlText)]) -> bool {
    let Some((_, value)) = headers.iter().find(|(name, _)| name.value.eq_ignore_ascii_case("Content-Type")) else {
        return true;
    };
    let kind = value.value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(&*kind, "application/json" | "text/json") || kind.ends_with("+json")
}

/// The JSON with a number instead of every placeholder; `None` if a placeholder may be more than a value.
fn fill_placeholders(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoted = false;
    let mut open = Vec::new();
    while let Some(c) = rest.chars().next() {
        if let Some(tag) = rest.strip_prefix("{{") {
            let behind = tag.get(tag.find("}}")? + 2..)?;
            let before = out.trim_end().chars().next_back()?;
            let next = behind.trim_start().chars().next();
            let value = before == ':' || before == '[' || before == ',' && open.last() == Some(&'[');
            let alone = value && matches!(next, None | Some(',' | ']' | '}'));
            if !quoted && !alone {
                return None;
            }
            out.push('0');
            rest = behind;
            continue;
        }
        let length = match c {
            '\\' if quoted => c.len_utf8() + rest.chars().nth(1).map_or(0, char::len_utf8),
            _ => c.len_utf8(),
        };
        match c {
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => open.push(c),
            '}' | ']' if !quoted => drop(open.pop()),
            _ => {}
        }
        out.push_str(rest.get(..length)?);
        rest = rest.get(length..)?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::fill_placeholders;

    #[test]
    fn a_placeholder_is_a_value_or_part_of_a_text() {
        let is =
            |text: &str, expected: Option<&str>| assert_eq!(fill_placeholders(text).as_deref(), expected, "{text}");
        is(r#"{"a": {{ x }}, "b": "{{ y }} and", "c": [{{ z }}]}"#, Some(r#"{"a": 0, "b": "0 and", "c": [0]}"#));
        is(r#"{"a": "\"{{ x }}"}"#, Some(r#"{"a": "\"0"}"#));
        for more in ["{ {{ all }} }", r#"{"a": 1, {{ more }}}"#, r#"{"a": {{ x }}{{ y }}}"#, r#"{"a": {{ x"#] {
            is(more, None);
        }
    }
}
