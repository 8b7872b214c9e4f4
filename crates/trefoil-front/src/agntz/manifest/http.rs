//! The request of an http tool: url with `{placeholders}`, method, params, headers, body.

use std::sync::Arc;

use trefoil_syntax::yaml::{Entry, Style, Text};
use trefoil_syntax::{Diagnostic, Span, suggest};

use super::texts::{Tree, body_tree, text_map};
use super::{auth, texts};
use crate::mend::respelt;
use crate::read::{Fields, Reader};
use crate::requests;

/// An http request with templates.
pub struct Http<'n> {
    /// Address, with `{x}` and `{x?}` placeholders.
    pub url: Option<&'n Text>,
    /// The names of these placeholders, and whether they may be left out.
    pub placeholders: Vec<(Arc<str>, bool)>,
    /// Upper case.
    pub method: &'static str,
    /// Values for the url's placeholders.
    pub params: Vec<(&'n Text, &'n Text)>,
    /// Header lines.
    pub headers: Vec<(&'n Text, &'n Text)>,
    /// How the body is encoded.
    pub body_type: Option<&'static str>,
    /// The body.
    pub body: Option<Tree<'n>>,
    /// How a token is got and applied.
    pub auth: Option<Tree<'n>>,
}

const METHODS: [(&str, &str); 5] =
    [("GET", "GET"), ("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH"), ("DELETE", "DELETE")];

const BODY_TYPES: [(&str, &str); 3] = [("json", "json"), ("form", "form"), ("query", "query")];

/// A `{x}` or `{x?}` of a url.
struct Placeholder<'t> {
    name: &'t str,
    optional: bool,
    span: Span,
}

/// Reads the http fields of a tool. `deterministic`: no model fills placeholders in (a tool agent).
pub fn read<'n>(fields: &mut Fields<'n, '_>, deterministic: bool) -> Http<'n> {
    let reader = fields.reader;
    let url = fields.require_text("url");
    let placeholders = url.map(|u| check_url(reader, u)).unwrap_or_default();
    let method = fields.take("method");
    let word = fields.word("method", &METHODS);
    let params = fields.take("params");
    let pairs = params.map(|e| text_map(reader, &e.value, "params")).unwrap_or_default();
    let mut meant = Vec::new();
    for (key, _) in &pairs {
        if url.is_some() && !placeholders.iter().any(|p| p.name == &*key.value) {
            let message = format!("`{}` is not a placeholder of the URL", key.value);
            let d = Diagnostic::error("unknown-input", reader.at(key.span), message);
            let names = placeholders.iter().map(|p| p.name);
            reader.report(match suggest::near(&key.value, names) {
                Some(near) => {
                    meant.push(near.name);
                    respelt(d.help(format!("did you mean `{}`?", near.name)), reader.at(key.span), key, near)
                }
                None => d.help(format!("add `{{{}}}` to the URL", key.value)),
            });
        }
    }
    for p in placeholders.iter().filter(|p| deterministic && !p.optional) {
        if !pairs.iter().any(|(k, _)| &*k.value == p.name) && !meant.contains(&p.name) {
            reader.warning(
                "missing-input",
                p.span,
                format!("`{{{}}}` has no value: `params` does not have it", p.name),
            );
        }
    }
    let headers = fields.take("headers").map(|e| text_map(reader, &e.value, "headers")).unwrap_or_default();
    let body_type = fields.word("body_type", &BODY_TYPES);
    let body = fields.take("body");
    if let Some(entry) = body {
        check_body(reader, entry, body_type, method.and(word).unwrap_or("GET"), method.is_some() && word.is_none());
    }
    for entry in [fields.entry("headers"), body].into_iter().flatten() {
        inside(reader, fields, entry);
    }
    let auth = fields.fields("auth").map(auth::read).zip(fields.entry("auth"));
    let auth = auth.map(|(texts, entry)| body_tree(&entry.value).with_templates(&texts));
    let placeholders = placeholders.iter().map(|p| (p.name.into(), p.optional)).collect();
    Http {
        url,
        placeholders,
        method: word.unwrap_or("GET"),
        params: pairs,
        headers,
        body_type,
        body: body.map(|e| body_tree(&e.value)),
        auth,
    }
}

impl<'n> Http<'n> {
    /// Every template of the request but its address.
    pub fn texts(&self, into: &mut Vec<&'n Text>) {
        into.extend(self.params.iter().chain(&self.headers).map(|(_, v)| *v));
        if let Some(body) = &self.body {
            body.texts(into);
        }
        if let Some(auth) = &self.auth {
            auth.texts(into);
        }
    }
}

/// Keys of the request that are written in its `headers` or its `body`, and a body that is text because a space is missing.
fn inside(reader: &Reader<'_>, fields: &Fields<'_, '_>, outer: &Entry) {
    let name = &*outer.key.value;
    if let Some(text) = outer.value.string().filter(|t| t.style == Style::Plain)
        && let Some((key, rest)) = text.value.split_once(':')
        && crate::agntz::ids::is_tool_name(key)
        && rest.starts_with("\"{{")
    {
        let message = format!("`{name}` is read as one text: a key needs a space after `:`");
        let d = Diagnostic::warning("swallowed-key", reader.at(text.span), message);
        return reader.report(d.help(format!("write `{key}: {rest}`")));
    }
    for entry in outer.value.mapping().map(|m| m.entries.as_slice()).unwrap_or_default() {
        if name == "headers" {
            misspelt(reader, &entry.key);
        }
        let key = &*entry.key.value;
        let word = entry.value.string().map(|t| &*t.value).unwrap_or_default();
        let (own, sure) = match key {
            "method" if name == "headers" => (METHODS.iter().any(|(m, _)| *m == word), true),
            "body_type" => (BODY_TYPES.iter().any(|(t, _)| *t == word), true),
            // What is sent may be a request itself, which says where it goes.
            "headers" if outer.value.mapping().is_some_and(|m| m.get("url").is_none() && m.get("method").is_none()) => {
                (
                    entry.value.mapping().is_some_and(|m| m.entries.iter().any(|e| requests::is_header(&e.key.value))),
                    false,
                )
            }
            _ => continue,
        };
        if own && fields.entry(key).is_none() {
            let message = format!("`{key}` is nested under `{name}`, so it is not a key of the request");
            let at = reader.at(entry.key.span);
            // What is sent may have such keys of its own.
            let d = if sure {
                Diagnostic::warning("swallowed-key", at, message)
            } else {
                Diagnostic::info("swallowed-key", at, message)
            };
            let d = d.label(reader.at(outer.key.span), format!("`{name}` starts here"));
            reader.report(d.help(format!("align it with `{name}:` to make it a key of the request")));
        }
    }
}

/// A misspelt header that everybody uses.
fn misspelt(reader: &Reader<'_>, name: &Text) {
    let Some(near) = requests::header_slip(&name.value) else { return };
    let at = reader.at(name.span);
    let d = Diagnostic::warning("unknown-key", at, format!("unknown header `{}`", name.value));
    reader.report(respelt(d.help(format!("did you mean `{}`?", near.name)), at, name, near));
}

fn check_body(reader: &Reader<'_>, entry: &Entry, body_type: Option<&str>, method: &str, unknown_method: bool) {
    if !unknown_method && !matches!(method, "POST" | "PUT" | "PATCH") {
        let d =
            Diagnostic::error("conflicting-keys", reader.at(entry.key.span), format!("a {method} request has no body"));
        reader.report(d.help("write `method: POST`, `PUT` or `PATCH`"));
    }
    if matches!(body_type, Some("form" | "query")) {
        match entry.value.mapping() {
            None => reader.wrong_type(&entry.value, "body", "a flat mapping of texts"),
            Some(m) => m.entries.iter().filter(|e| e.value.string().is_none()).for_each(|e| {
                texts::template_wanted(reader, &e.value, &e.key.value);
            }),
        }
    }
}

/// Checks the address and finds its placeholders.
fn check_url<'t>(reader: &Reader<'_>, url: &'t Text) -> Vec<Placeholder<'t>> {
    let text = &*url.value;
    let mut placeholders = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
        if rest.starts_with("{{") {
            let end = rest.find("}}").map_or(rest.len(), |e| e + 2);
            plain.push('_');
            at += end;
        } else if let Some(inner) = rest.strip_prefix('{') {
            let Some(end) = inner.find('}') else {
                reader.error("invalid-url", place(url, at, text.len()), "this `{` is not closed");
                break;
            };
            let name = inner.get(..end).unwrap_or_default();
            let in_query = text.get(..at).is_some_and(|before| before.contains('?'));
            let span = place(url, at, at + end + 2);
            match name.strip_prefix('?') {
                // A query of its own, where each name is optional: `{?units,lang}`.
                Some(names) => {
                    let all = names.split(',').filter_map(|name| placeholder(reader, name.trim(), span, true));
                    placeholders.extend(all.map(|p| Placeholder { optional: true, ..p }));
                }
                None => placeholders.extend(placeholder(reader, name, span, in_query)),
            }
            plain.push('_');
            at += end + 2;
        } else {
            let c = rest.chars().next().unwrap_or(' ');
            plain.push(c);
            at += c.len_utf8();
        }
    }
    segments(reader, url);
    let wrong =
        if text.starts_with("{{") { None } else { requests::no_address(&plain, true, text, reader.at(url.span)) };
    reader.report_all(wrong.or_else(|| requests::host(reader.file, url)));
    placeholders
}

/// Parts of the path that are placeholders of other systems, and spaces.
fn segments(reader: &Reader<'_>, url: &Text) {
    let text = &*url.value;
    let Some(path) = text.find("://").and_then(|at| Some(at + 3 + text.get(at + 3..)?.find('/')?)) else { return };
    let mut at = path;
    for part in text.get(path..).unwrap_or_default().split_inclusive(['/', '?', '&', '=', '#']) {
        let word = part.trim_end_matches(['/', '?', '&', '=', '#']);
        let colon = word.strip_prefix(':').filter(|_| text.get(..at).is_some_and(|b| b.ends_with('/')));
        let name = colon.or_else(|| word.strip_prefix('<').and_then(|w| w.strip_suffix('>')));
        if let Some(name) = name.filter(|n| crate::agntz::ids::is_tool_name(n)) {
            let span = reader.at(place(url, at, at + word.len()));
            let d = Diagnostic::warning("not-a-placeholder", span, format!("`{word}` is text here"));
            let d = d.help(format!("write a placeholder of the URL as `{{{name}}}`"));
            reader.report(d.suggestion(format!("write `{{{name}}}`"), span, format!("{{{name}}}")));
        }
        at += part.len();
    }
}

fn placeholder<'t>(reader: &Reader<'_>, name: &'t str, span: Span, in_query: bool) -> Option<Placeholder<'t>> {
    let (bare, optional) = name.strip_suffix('?').map_or((name, false), |n| (n, true));
    if !crate::agntz::ids::is_tool_name(bare) {
        let d = Diagnostic::error("invalid-url", reader.at(span), format!("`{{{name}}}` is not a valid placeholder"));
        reader.report(d.help("start with a letter or `_`, then use letters, digits and `_`"));
        return None;
    }
    if optional && !in_query {
        let message = format!("`{{{name}}}` is optional, which works only after the `?` of the URL");
        reader.error("invalid-url", span, message);
    }
    Some(Placeholder { name: bare, optional, span })
}

fn place(text: &Text, start: usize, end: usize) -> Span {
    text.source(start as u32..end as u32)
}
