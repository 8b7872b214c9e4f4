//! The request of an http tool: url with `{placeholders}`, method, params, headers, body.

use std::sync::Arc;

use trefoil_syntax::yaml::{Entry, Mapping, Text};
use trefoil_syntax::{Diagnostic, Span};

use super::texts::{Tree, body_tree, text_map};
use super::{auth, texts};
use crate::mend::respelt;
use crate::read::{Fields, Reader};
use crate::requests;

/// An http request with templates.
pub struct Http<'n> {
    /// The address, with `{x}` and `{x?}` placeholders.
    pub url: Option<&'n Text>,
    /// The placeholders of the address.
    pub placeholders: Vec<Placeholder>,
    /// The method, in upper case.
    pub method: &'static str,
    /// Values for the address's placeholders.
    pub params: Vec<(&'n Text, &'n Text)>,
    /// The headers.
    pub headers: Vec<(&'n Text, &'n Text)>,
    /// How the body is encoded.
    pub body_type: Option<&'static str>,
    /// The body.
    pub body: Option<Tree<'n>>,
    /// How a token is obtained and applied.
    pub auth: Option<Tree<'n>>,
    /// The whole mapping as written.
    pub written: &'n Mapping,
}

/// A `{x}` or `{x?}` of an address.
#[derive(Clone)]
pub struct Placeholder {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it may be omitted.
    pub optional: bool,
    /// Its span.
    pub span: Span,
}

/// The methods of requests.
pub const METHODS: [(&str, &str); 5] =
    [("GET", "GET"), ("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH"), ("DELETE", "DELETE")];

/// The encodings of bodies.
pub const BODY_TYPES: [(&str, &str); 3] = [("json", "json"), ("form", "form"), ("query", "query")];

/// Reads the http fields of a tool.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> Http<'n> {
    let reader = fields.reader;
    let url = fields.require_text("url");
    let placeholders = url.map(|u| check_url(reader, u)).unwrap_or_default();
    let method = fields.take("method");
    let word = fields.word("method", &METHODS);
    let params = fields.take("params");
    let pairs = params.map(|e| text_map(reader, &e.value, "params")).unwrap_or_default();
    let headers = fields.take("headers").map(|e| text_map(reader, &e.value, "headers")).unwrap_or_default();
    let body_type = fields.word("body_type", &BODY_TYPES);
    let body = fields.take("body");
    if let Some(entry) = body {
        check_body(reader, entry, body_type, method.and(word).unwrap_or("GET"), method.is_some() && word.is_none());
    }
    headers.iter().for_each(|(name, _)| misspelt(reader, name));
    headers.iter().for_each(|(name, value)| reader.report_all(requests::scheme(reader.file, name, value, "{{...}}")));
    let auth = fields.fields("auth").map(auth::read).zip(fields.entry("auth"));
    let auth = auth.map(|(texts, entry)| body_tree(&entry.value).with_templates(&texts));
    Http {
        url,
        placeholders,
        method: word.unwrap_or("GET"),
        params: pairs,
        headers,
        body_type,
        body: body.map(|e| body_tree(&e.value)),
        auth,
        written: fields.mapping(),
    }
}

impl<'n> Http<'n> {
    /// Every template of the request except its address.
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

/// Reports common misspellings of a header.
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
fn check_url(reader: &Reader<'_>, url: &Text) -> Vec<Placeholder> {
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
                // A query with optional names: `{?units,lang}`.
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
    let wrong =
        if text.starts_with("{{") { None } else { requests::no_address(&plain, true, text, reader.at(url.span)) };
    reader.report_all(wrong.or_else(|| requests::host(reader.file, url)));
    placeholders
}

fn placeholder(reader: &Reader<'_>, name: &str, span: Span, in_query: bool) -> Option<Placeholder> {
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
    Some(Placeholder { name: bare.into(), optional, span })
}

fn place(text: &Text, start: usize, end: usize) -> Span {
    text.source(start as u32..end as u32)
}
