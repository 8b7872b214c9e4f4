//! A trace as one page of HTML: no other file, no network, no server.
//!
//! The page itself is made in `web/` and committed here as `page.html`, so that building Trefoil needs no npm. This module
//! only puts a trace into it. The data is a stranger's text: it is in the page as JSON that no text can end, and the
//! page's policy lets nothing run but its own script, known by its hash.

use serde_json::Value;

/// The page without a trace. `<!--title-->` and `<!--trace-->` say where one goes.
const TEMPLATE: &str = include_str!("page.html");

/// A page that shows a trace. `trace` is what [`Trace::json`](super::Trace::json) made.
pub fn html(trace: &Value) -> String {
    let data = trace.to_string();
    let (head, rest) = TEMPLATE.split_once("<!--title-->").unwrap_or(("", TEMPLATE));
    let (middle, end) = rest.split_once("<!--trace-->").unwrap_or((rest, ""));
    let mut out = String::with_capacity(TEMPLATE.len() + data.len() + data.len() / 16);
    out.push_str(head);
    title(trace, &mut out);
    out.push_str(middle);
    inline(&data, &mut out);
    out.push_str(end);
    out
}

/// `FLOW · STATUS · Trefoil trace`, without what could steer the reading direction of a window's title.
fn title(trace: &Value, out: &mut String) {
    let text = |key: &str| trace.get(key).and_then(Value::as_str).unwrap_or_default();
    for part in [text("flow"), text("status")].into_iter().filter(|p| !p.is_empty()) {
        for c in part.chars().take(120) {
            match c {
                '<' => out.push_str("&lt;"),
                '&' => out.push_str("&amp;"),
                '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
                c if c.is_control() => out.push('\u{fffd}'),
                c => out.push(c),
            }
        }
        out.push_str(" · ");
    }
    out.push_str("Trefoil trace");
}

/// JSON inside of a `<script>` element. All that can end the element or begin a comment there starts with `<`, and JSON has
/// it in texts only, where it may be written as an escape. So may the two line ends that JSON allows and scripts once did
/// not.
fn inline(json: &str, out: &mut String) {
    let mut rest = json;
    while let Some(at) = rest.find(['<', '\u{2028}', '\u{2029}']) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = special.chars();
        out.push_str(match chars.next() {
            Some('<') => "\\u003c",
            Some('\u{2028}') => "\\u2028",
            _ => "\\u2029",
        });
        rest = chars.as_str();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests;
