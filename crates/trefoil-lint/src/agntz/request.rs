//! Requests: values for placeholders that the URL lacks and the reverse, keys of the request that are nested too
//! deeply, placeholders of other systems.

use trefoil_front::Source;
use trefoil_front::agntz::ids;
use trefoil_front::agntz::manifest::http::{BODY_TYPES, Http, METHODS, Placeholder};
use trefoil_front::mend::respelt;
use trefoil_front::requests;
use trefoil_syntax::yaml::{Entry, Mapping, Style, Text};
use trefoil_syntax::{Diagnostic, suggest};

use super::Found;

/// Checks a request. `deterministic`: no model fills in placeholders (a tool agent).
pub fn check(file: Source<'_>, http: &Http<'_>, deterministic: bool, found: &mut Found) {
    params(file, http, deterministic, found);
    for key in ["headers", "body"] {
        http.written.get(key).into_iter().for_each(|outer| nested(file, http.written, outer, found));
    }
    http.url.into_iter().for_each(|url| foreign(file, url, found));
    if !deterministic {
        host(file, http, found);
    }
}

/// Placeholders in the host of a tool, which the calling model would fill in. Values from templates are checked by the
/// checker.
fn host(file: Source<'_>, http: &Http<'_>, found: &mut Found) {
    let Some(url) = http.url else { return };
    let text = &*url.value;
    // Without a scheme it is no URL at all, which is reported.
    if text.starts_with('{') && !text.starts_with("{{") {
        return;
    }
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = text.get(start..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(text.len(), |at| start + at);
    // A placeholder for the scheme is as bad as one for the host.
    let start = if text.starts_with('{') { 0 } else { start };
    let host = url.source(start as u32..end as u32);
    let chosen = |p: &&Placeholder| !http.params.iter().any(|(key, _)| key.value == p.name);
    let inside = |p: &&Placeholder| host.start <= p.span.start && p.span.end <= host.end;
    if let Some(open) = http.placeholders.iter().filter(inside).find(chosen) {
        let message = format!("`{}` decides which host the tool calls, and the model chooses it", open.name);
        let d = Diagnostic::warning("untrusted-tool-url", file.at(open.span), message);
        found.push(d.help("use a fixed host or one from the environment, and put the value after it"));
    }
}

/// Compares `params` with the placeholders of the URL.
fn params(file: Source<'_>, http: &Http<'_>, deterministic: bool, found: &mut Found) {
    let names = || http.placeholders.iter().map(|p| &*p.name);
    let mut meant = Vec::new();
    for (key, _) in http.params.iter().filter(|(key, _)| http.url.is_some() && !names().any(|p| *p == *key.value)) {
        let message = format!("`{}` is not a placeholder of the URL", key.value);
        let d = Diagnostic::error("unknown-input", file.at(key.span), message);
        found.push(match suggest::near(&key.value, names()) {
            Some(near) => {
                meant.push(near.name);
                respelt(d.help(format!("did you mean `{}`?", near.name)), file.at(key.span), key, near)
            }
            None if http.url.is_some_and(|url| braced(&url.value, &key.value)) => d.help(format!(
                "write `{{{0}}}` instead of `{{{{{0}}}}}` in the URL: its placeholders have one brace",
                key.value
            )),
            None => d.help(format!("add `{{{}}}` to the URL", key.value)),
        });
    }
    for p in http.placeholders.iter().filter(|p| deterministic && !p.optional) {
        if !http.params.iter().any(|(key, _)| key.value == p.name) && !meant.contains(&&*p.name) {
            let message = format!("`{{{}}}` has no value: `params` does not have it", p.name);
            let d = Diagnostic::warning("missing-input", file.at(p.span), message);
            found.push(d.help(format!("add `{}` to `params`", p.name)));
        }
    }
}

/// Whether a text has this name as a template.
fn braced(text: &str, name: &str) -> bool {
    let inner = text.split("{{").skip(1).filter_map(|part| part.split_once("}}"));
    inner.into_iter().any(|(inside, _)| inside.trim() == name)
}

/// Keys of the request that are written in its `headers` or its `body`, and a body that is text because a space is
/// missing.
fn nested(file: Source<'_>, request: &Mapping, outer: &Entry, found: &mut Found) {
    let name = &*outer.key.value;
    if let Some(text) = outer.value.string().filter(|t| t.style == Style::Plain)
        && let Some((key, rest)) = text.value.split_once(':')
        && ids::is_tool_name(key)
        && rest.starts_with("\"{{")
    {
        let message = format!("`{name}` is read as one text: a key needs a space after `:`");
        let d = Diagnostic::warning("swallowed-key", file.at(text.span), message);
        return found.push(d.help(format!("write `{key}: {rest}`")));
    }
    for entry in outer.value.mapping().map(|m| m.entries.as_slice()).unwrap_or_default() {
        let key = &*entry.key.value;
        let word = entry.value.string().map(|t| &*t.value).unwrap_or_default();
        let (own, sure) = match key {
            "method" if name == "headers" => (METHODS.iter().any(|(m, _)| *m == word), true),
            "body_type" => (BODY_TYPES.iter().any(|(t, _)| *t == word), true),
            // The body may itself describe a request with a destination.
            "headers" if outer.value.mapping().is_some_and(|m| m.get("url").is_none() && m.get("method").is_none()) => {
                (
                    entry.value.mapping().is_some_and(|m| m.entries.iter().any(|e| requests::is_header(&e.key.value))),
                    false,
                )
            }
            _ => continue,
        };
        if own && request.get(key).is_none() {
            let message = format!("`{key}` is nested under `{name}`, so it is not a key of the request");
            let at = file.at(entry.key.span);
            // The body may have such keys itself.
            let d = if sure {
                Diagnostic::warning("swallowed-key", at, message)
            } else {
                Diagnostic::info("swallowed-key", at, message)
            };
            let d = d.label(file.at(outer.key.span), format!("`{name}` starts here"));
            found.push(d.help(format!("align it with `{name}:` to make it a key of the request")));
        }
    }
}

/// Placeholders of other systems in the path, and spaces.
fn foreign(file: Source<'_>, url: &Text, found: &mut Found) {
    let text = &*url.value;
    let Some(path) = text.find("://").and_then(|at| Some(at + 3 + text.get(at + 3..)?.find('/')?)) else { return };
    let mut at = path;
    for part in text.get(path..).unwrap_or_default().split_inclusive(['/', '?', '&', '=', '#']) {
        let word = part.trim_end_matches(['/', '?', '&', '=', '#']);
        let colon = word.strip_prefix(':').filter(|_| text.get(..at).is_some_and(|b| b.ends_with('/')));
        let name = colon.or_else(|| word.strip_prefix('<').and_then(|w| w.strip_suffix('>')));
        if let Some(name) = name.filter(|n| ids::is_tool_name(n)) {
            let span = file.at(url.source(at as u32..(at + word.len()) as u32));
            let d = Diagnostic::warning("not-a-placeholder", span, format!("`{word}` is text here"));
            let d = d.help(format!("write a placeholder of the URL as `{{{name}}}`"));
            found.push(d.suggestion(format!("write `{{{name}}}`"), span, format!("{{{name}}}")));
        }
        at += part.len();
    }
}
