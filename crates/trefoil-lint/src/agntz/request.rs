//! Requests: values for placeholders that the URL lacks and the reverse, keys of the request that are nested too
//! deeply, placeholders of other systems.

use trefoil_front::ManifestSource;
use trefoil_front::agntz::ids;
use trefoil_front::agntz::manifest::http::{BODY_TYPES, HttpToolRequest, METHODS};
use trefoil_front::requests;
use trefoil_front::spelling_fixes::fix_spelling;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlStyle, YamlText};
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
        if let Some(outer) = http.written.get(key) {
            nested(file, http.written, outer, found);
        }
    }
    if let Some(url) = http.url {
        foreign(file, url, found);
    }
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
    let rest = text.get(start..).unwrap_or_default();
    let end = start + rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A placeholder for the scheme is as bad as one for the host.
    let start = if text.starts_with('{') { 0 } else { start };
    let host = url.source_span(start as u32..end as u32);
    for open in &http.placeholders {
        let is_inside = host.start <= open.span.start && open.span.end <= host.end;
        if is_inside && !has_param(http, &open.name) {
            let message = format!("`{}` decides which host the tool calls, and the model chooses it", open.name);
            let d = Diagnostic::new_warning("untrusted-tool-url", file.location_of(open.span), message);
            found.push(d.with_help("use a fixed host or one from the environment, and put the value after it"));
            return;
        }
    }
}

/// Whether the request passes a value for this placeholder.
fn has_param(http: &HttpToolRequest<'_>, name: &str) -> bool {
    http.params.iter().any(|(key, _)| *key.value == *name)
}

/// Compares `params` with the placeholders of the URL.
fn params(file: ManifestSource<'_>, http: &HttpToolRequest<'_>, deterministic: bool, found: &mut FindingList) {
    let names: Vec<&str> = http.placeholders.iter().map(|p| &*p.name).collect();
    let mut meant = Vec::new();
    for (key, _) in &http.params {
        let Some(url) = http.url else { break };
        if names.contains(&&*key.value) {
            continue;
        }
        let message = format!("`{}` is not a placeholder of the URL", key.value);
        let d = Diagnostic::new_error("unknown-input", file.location_of(key.span), message);
        found.push(match suggestions::find_near_match(&key.value, names.iter().copied()) {
            Some(near) => {
                meant.push(near.name);
                fix_spelling(
                    d.with_help(format!("did you mean `{}`?", near.name)),
                    file.location_of(key.span),
                    key,
                    near,
                )
            }
            None if braced(&url.value, &key.value) => d.with_help(format!(
                "write `{{{0}}}` instead of `{{{{{0}}}}}` in the URL: its placeholders have one brace",
                key.value
            )),
            None => d.with_help(format!("add `{{{}}}` to the URL", key.value)),
        });
    }
    for p in &http.placeholders {
        if deterministic && !p.optional && !has_param(http, &p.name) && !meant.contains(&&*p.name) {
            let message = format!("`{{{}}}` has no value: `params` does not have it", p.name);
            let d = Diagnostic::new_warning("missing-input", file.location_of(p.span), message);
            found.push(d.with_help(format!("add `{}` to `params`", p.name)));
        }
    }
}

/// Whether a text has this name as a template.
fn braced(text: &str, name: &str) -> bool {
    let mut parts = text.split("{{").skip(1);
    parts.any(|part| matches!(part.split_once("}}"), Some((inside, _)) if inside.trim() == name))
}

/// Keys of the request that are written in its `headers` or its `body`, and a body that is text because a space is
/// missing.
fn nested(file: ManifestSource<'_>, request: &YamlMapping, outer: &YamlEntry, found: &mut FindingList) {
    let name = &*outer.key.value;
    if let Some(text) = outer.value.as_string()
        && text.style == YamlStyle::Plain
        && let Some((key, rest)) = text.value.split_once(':')
        && ids::is_tool_name(key)
        && rest.starts_with("\"{{")
    {
        let message = format!("`{name}` is read as one text: a key needs a space after `:`");
        let d = Diagnostic::new_warning("swallowed-key", file.location_of(text.span), message);
        return found.push(d.with_help(format!("write `{key}: {rest}`")));
    }
    let Some(mapping) = outer.value.as_mapping() else { return };
    for entry in &mapping.entries {
        let key = &*entry.key.value;
        let word = match entry.value.as_string() {
            Some(text) => &*text.value,
            None => "",
        };
        let (own, sure) = match key {
            "method" if name == "headers" => (METHODS.iter().any(|(m, _)| *m == word), true),
            "body_type" => (BODY_TYPES.iter().any(|(t, _)| *t == word), true),
            // The body may itself describe a request with a destination.
            "headers" if mapping.get("url").is_none() && mapping.get("method").is_none() => {
                (has_header(&entry.value), false)
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

/// Whether a mapping has a key that is a header.
fn has_header(node: &YamlNode) -> bool {
    match node.as_mapping() {
        Some(mapping) => mapping.entries.iter().any(|entry| requests::is_header(&entry.key.value)),
        None => false,
    }
}

/// Placeholders of other systems in the path, and spaces.
fn foreign(file: ManifestSource<'_>, url: &YamlText, found: &mut FindingList) {
    let text = &*url.value;
    let Some(path) = path_start(text) else { return };
    let mut at = path;
    for part in text.get(path..).unwrap_or_default().split_inclusive(['/', '?', '&', '=', '#']) {
        let word = part.trim_end_matches(['/', '?', '&', '=', '#']);
        let is_after_slash = text.get(..at).is_some_and(|before| before.ends_with('/'));
        let name = match word.strip_prefix(':') {
            Some(name) if is_after_slash => name,
            _ => word.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or_default(),
        };
        if ids::is_tool_name(name) {
            let span = file.location_of(url.source_span(at as u32..(at + word.len()) as u32));
            let d = Diagnostic::new_warning("not-a-placeholder", span, format!("`{word}` is text here"));
            let d = d.with_help(format!("write a placeholder of the URL as `{{{name}}}`"));
            found.push(d.with_suggestion(format!("write `{{{name}}}`"), span, format!("{{{name}}}")));
        }
        at += part.len();
    }
}

/// Where the path of a URL starts.
fn path_start(url: &str) -> Option<usize> {
    let host = url.find("://")? + 3;
    Some(host + url.get(host..)?.find('/')?)
}
