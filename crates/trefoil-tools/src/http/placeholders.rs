//! `{x}` and `{x?}` in the address of an agntz HTTP tool. Values are percent-encoded; a query pair whose optional value
//! is missing is dropped. `{?a,b}` stands for optional pairs (RFC 6570, 3.2.8).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use trefoil_runtime::ToolError;
use trefoil_template::{Value, ValueObject};

/// The advice for a placeholder without a value.
const NO_VALUE: &str = "add it to `params`; an optional placeholder of the query is `{NAME?}`";
/// The same if `params` has it, and it is null.
const NULL_VALUE: &str =
    "what `params` reads for it is null, so give that a value; an optional placeholder of the query is `{NAME?}`";
/// Encodes everything except RFC 3986's unreserved characters.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why an address cannot be filled in.
enum UrlGap<'u> {
    /// A placeholder that has no value.
    Required(&'u str),
    /// An optional placeholder of the path.
    OfPath,
}

/// Fills in the values of an address.
pub fn fill_url(url: &str, params: &ValueObject) -> Result<String, ToolError> {
    complete(url, params).map_err(|gap| match gap {
        UrlGap::OfPath => ToolError::with_advice("a placeholder in the path has no value", NO_VALUE),
        UrlGap::Required(name) => {
            let help = if params.contains_key(name) { NULL_VALUE } else { NO_VALUE };
            ToolError::with_advice(format!("`{{{name}}}` in the URL has no value"), help)
        }
    })
}

/// The first placeholder of an address that these values leave without a value, so that the request would fail.
pub fn find_unfilled(url: &str, params: &ValueObject) -> Option<String> {
    match complete(url, params) {
        Err(UrlGap::Required(name)) => Some(name.to_owned()),
        Err(UrlGap::OfPath) | Ok(_) => None,
    }
}

fn complete<'u>(url: &'u str, params: &ValueObject) -> Result<String, UrlGap<'u>> {
    let (address, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let (path, query) = split(address);
    let mut out = filled(path, params)?.ok_or(UrlGap::OfPath)?;
    let mut separator = '?';
    let mut add = |out: &mut String, pair: &str| {
        out.push(separator);
        out.push_str(pair);
        separator = '&';
    };
    for part in query {
        match part {
            QueryPart::Pairs(text) => {
                for pair in text.split('&') {
                    if !pair.is_empty()
                        && let Some(pair) = filled(pair, params)?
                    {
                        add(&mut out, &pair);
                    }
                }
            }
            QueryPart::Names(names) => {
                for name in names.split(',').map(str::trim) {
                    if !name.is_empty()
                        && let Some(value) = given(params, name)
                    {
                        add(&mut out, &format!("{name}={}", utf8_percent_encode(&value.to_text(), VALUE)));
                    }
                }
            }
        }
    }
    out.push_str(fragment);
    Ok(out)
}

enum QueryPart<'u> {
    /// `a=1&b={x}`
    Pairs(&'u str),
    /// `a,b` of `{?a,b}` or `{&a,b}`
    Names(&'u str),
}

/// Splits an address without a fragment into its path and the parts of its query.
fn split(address: &str) -> (&str, Vec<QueryPart<'_>>) {
    let mut parts = Vec::new();
    // The question mark of `{x?}` does not start a query.
    let begins = |at: usize| {
        let after = address.get(at + 1..).unwrap_or_default();
        !after.starts_with('}')
    };
    let Some((at, _)) = address.match_indices('?').find(|(at, _)| begins(*at)) else { return (address, parts) };
    let (path, mut rest) = address.split_at(at);
    let path = match path.strip_suffix('{') {
        Some(path) => {
            rest = address.get(at - 1..).unwrap_or_default();
            path
        }
        None => {
            rest = rest.get(1..).unwrap_or_default();
            path
        }
    };
    while let Some(open) = ["{?", "{&"].iter().filter_map(|mark| rest.find(mark)).min() {
        let (before, from) = rest.split_at(open);
        parts.push(QueryPart::Pairs(before));
        let inside = from.get(2..).unwrap_or_default();
        let (names, after) = inside.split_once('}').unwrap_or((inside, ""));
        parts.push(QueryPart::Names(names));
        rest = after;
    }
    parts.push(QueryPart::Pairs(rest));
    (path, parts)
}

/// Fills in the placeholders of a text; `None` if an optional one has no value.
fn filled<'u>(text: &'u str, params: &ValueObject) -> Result<Option<String>, UrlGap<'u>> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, end) = match after.split_once('}') {
            Some((name, end)) if is_name(name.trim_end_matches('?')) => (name, end),
            _ => {
                // Other text in braces is kept.
                out.push_str(before);
                out.push('{');
                rest = after;
                continue;
            }
        };
        out.push_str(before);
        rest = end;
        let (name, optional) = match name.strip_suffix('?') {
            Some(name) => (name, true),
            None => (name, false),
        };
        match given(params, name) {
            Some(value) => out.extend(utf8_percent_encode(&value.to_text(), VALUE)),
            None if optional => return Ok(None),
            None => return Err(UrlGap::Required(name)),
        }
    }
    out.push_str(rest);
    Ok(Some(out))
}

fn given<'p>(params: &'p ValueObject, name: &str) -> Option<&'p Value> {
    match params.get(name)? {
        Value::Null => None,
        value => Some(value),
    }
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    matches!(chars.next(), Some(c) if c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> String {
        let params = serde_json::json!({"id": "a/b", "q": "x y", "n": 3, "none": null});
        let params = Value::from_json(params);
        fill_url(text, params.as_object().unwrap()).unwrap_or_else(|e| format!("error: {e}"))
    }

    #[test]
    fn values_are_encoded_and_what_is_optional_may_be_missing() {
        for (text, expected) in [
            ("https://h/items/{id}", "https://h/items/a%2Fb"),
            ("https://h/{id}?q={q}&m={m?}&n={n?}", "https://h/a%2Fb?q=x%20y&n=3"),
            ("https://h/?m={m?}", "https://h/"),
            ("https://h/x{?q,m,n}", "https://h/x?q=x%20y&n=3"),
            ("https://h/x?a=1{&q,none}#top", "https://h/x?a=1&q=x%20y#top"),
            ("https://h/x?f={\"a\":1}", "https://h/x?f={\"a\":1}"),
            ("https://h/x", "https://h/x"),
            ("https://h/{missing}", "error: `{missing}` in the URL has no value"),
            ("https://h/x?a={none}", "error: `{none}` in the URL has no value"),
        ] {
            assert_eq!(url(text), expected, "{text}");
        }
    }
}
