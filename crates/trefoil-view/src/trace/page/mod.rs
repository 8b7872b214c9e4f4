//! A trace as a single HTML page: no other files, no network, no server.
//!
//! The page is built in `web/` and committed here as `page.html`, so that building Trefoil needs no npm. This module
//! only inserts a trace. The data is untrusted: it is in the page as JSON that no text in it can end, and the page's
//! policy only allows its own script, identified by its hash.

pub mod served;

use serde_json::Value;

/// The page without a trace. `<!--title-->` and `<!--trace-->` mark where its title and data are inserted.
const TEMPLATE: &str = include_str!("page.html");

/// A page that shows a trace, which must be made by [`Trace::to_json`](super::Trace::to_json).
pub fn render_html(trace: &Value) -> String {
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

/// `FLOW · STATUS · Trefoil trace`, without characters that change the reading direction of the window's title.
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

/// JSON inside a `<script>` element. Everything that can end the element or start a comment in it starts with `<`,
/// which in JSON only occurs in texts, where it can be escaped. The same is done with the two line separators that are
/// valid in JSON but used to be invalid in scripts.
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
