//! Requests: values for placeholders that the URL lacks and the reverse, keys of the request that are nested too
//! deeply, placeholders of other systems.

use trefoil_front::ManifestSource;
use trefoil_front::agntz::ids;
use trefoil_front::agntz::manifest::http::{BODY_TYPES, HttpToolRequest, METHODS, UrlPlaceholder};
use trefoil_front::requests;
use trefoil_front::spelling_fixes::fix_spelling;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlStyle, YamlText};
use trefoil_syntax::{Diagnostic, suggestions};

use super::FindingList;

/// Checks a request. `deterministic`: no model fills in placeholders (a tool agent).
pub fn check_request(
    file: ManifestSource<'_>,
    http: &HttpToolRequest<'_>,
    deterministic: bool,
    found: &mut FindingList,
) {
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
fn host(file: ManifestSource<'_>, http: &HttpToolRequest<'_>, found: &mut FindingList) {
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
    let host = url.source_span(start as u32..end as u32);
    let chosen = |p: &&UrlPlaceholder| !http.params.iter().any(|(key, _)| key.value == p.name);
    let inside = |p: &&UrlPlaceholder| host.start <= p.span.start && p.span.end <= host.end;
    if let Some(open) = http.placeholders.iter().filter(inside).find(chosen) {
        let message = format!("`{}` decides which host the tool calls, and the model chooses it", open.name);
        let d = Diagnostic::new_warning("untrusted-tool-url", file.location_of(open.span), message);
        found.push(d.with_help("use a fixed host or one from the environment, and put the value after it"));
    }
}

/// Compares `params` with the placeholders of the URL.
fn params(file: ManifestSource<'_>, http: &HttpToolRequest<'_>, deterministic: bool, found: &mut FindingList) {
    let names = || http.placeholders.iter().map(|p| &*p.name);
    let mut meant = Vec::new();
    for (key, _) in http.params.iter().filter(|(key, _)| http.url.is_some() && !names().any(|p| *p == *key.value)) {
        let message = format!("`{}` is not a placeholder of the URL", key.value);
        let d = Diagnostic::new_error("unknown-input", file.location_of(key.span), message);
        found.push(match suggestions::find_near_match(&key.value, names()) {
            Some(near) => {
                meant.push(near.name);
                fix_spelling(
                    d.with_help(format!("did you mean `{}`?", near.name)),
                    file.location_of(key.span),
                    key,
                    near,
                )
            }
            None if http.url.is_some_and(|url| braced(&url.value, &key.value)) => d.with_help(format!(
                "write `{{{0}}}` instead of `{{{{{0}}}}}` in the URL: its placeholders have one brace",
                key.value
            )),
            None => d.with_help(format!("add `{{{}}}` to the URL", key.value)),
        });
    }
    for p in http.placeholders.iter().filter(|p| deterministic && !p.optional) {
        if !http.params.iter().any(|(key, _)| key.value == p.name) && !meant.contains(&&*p.name) {
            let message = format!("`{{{}}}` has no value: `params` does not have it", p.name);
            let d = Diagnostic::new_warning("missing-input", file.location_of(p.span), message);
            found.push(d.with_help(format!("add `{}` to `params`", p.name)));
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
fn nested(file: ManifestSource<'_>, request: &YamlMapping, outer: &YamlEntry, found: &mut FindingList) {
    let name = &*outer.key.value;
    if let Some(text) = outer.value.as_string().filter(|t| t.style == YamlStyle::Plain)
        && let Some((key, rest)) = text.value.split_once(':')
        && ids::is_tool_name(key)
        && rest.starts_with("\"{{")
    {
        let message = format!("`{name}` is read as one text: a key needs a space after `:`");
        let d = Diagnostic::new_warning("swallowed-key", file.location_of(text.span), message);
        return found.push(d.with_help(format!("write `{key}: {rest}`")));
    }
    for entry in outer.value.as_mapping().map(|m| m.entries.as_slice()).unwrap_or_default() {
        let key = &*entry.key.value;
        let word = entry.value.as_string().map(|t| &*t.value).unwrap_or_default();
        let (own, sure) = match key {
            "method" if name == "headers" => (METHODS.iter().any(|(m, _)| *m == word), true),
            "body_type" => (BODY_TYPES.iter().any(|(t, _)| *t == word), true),
            // The body may itself describe a request with a destination.
            "headers"
                if outer.value.as_mapping().is_some_and(|m| m.get("url").is_none() && m.get("method").is_none()) =>
            {
                (
                    entry
                        .value
                        .as_mapping()
                        .is_some_and(|m| m.entries.iter().any(|e| requests::is_header(&e.key.value))),
                    false,
                )
            }
            _ => continue,
        };
        if own && request.get(key).is_none() {
            let message = format!("`{key}` is nested under `{name}`, so it is not a key of the request");
            let at = file.location_of(entry.key.span);
            // The body may have such keys itself.
            let d = if sure {
                Diagnostic::new_warning("swallowed-key", at, message)
            } else {
                Diagnostic::new_info("swallowed-key", at, message)
            };
            let d = d.with_label(file.location_of(outer.key.span), format!("`{name}` starts here"));
            found.push(d.with_help(format!("align it with `{name}:` to make it a key of the request")));
        }
    }
}

/// Placeholders of other systems in the path, and spaces.
fn foreign(file: ManifestSource<'_>, url: &YamlText, found: &mut FindingList) {
    let text = &*url.value;
    let Some(path) = text.find("://").and_then(|at| Some(at + 3 + text.get(at + 3..)?.find('/')?)) else { return };
    let mut at = path;
    for part in text.get(path..).unwrap_or_default().split_inclusive(['/', '?', '&', '=', '#']) {
        let word = part.trim_end_matches(['/', '?', '&', '=', '#']);
        let colon = word.strip_prefix(':').filter(|_| text.get(..at).is_some_and(|b| b.ends_with('/')));
        let name = colon.or_else(|| word.strip_prefix('<').and_then(|w| w.strip_suffix('>')));
        if let Some(name) = name.filter(|n| ids::is_tool_name(n)) {
            let span = file.location_of(url.source_span(at as u32..(at + word.len()) as u32));
            let d = Diagnostic::new_warning("not-a-placeholder", span, format!("`{word}` is text here"));
            let d = d.with_help(format!("write a placeholder of the URL as `{{{name}}}`"));
            found.push(d.with_suggestion(format!("write `{{{name}}}`"), span, format!("{{{name}}}")));
        }
        at += part.len();
    }
}
