//! The request of an http tool: url with `{placeholders}`, method, params, headers, body.

use std::sync::Arc;

use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlText};
use trefoil_syntax::{Diagnostic, Span};

use super::texts::{TemplateTree, body_tree, take_text_map};
use super::{auth, texts};
use crate::requests;
use crate::spelling_fixes::fix_spelling;
use crate::yaml_reader::{ManifestReader, MappingReader};

/// An http request with templates.
pub struct HttpToolRequest<'n> {
    /// The address, with `{x}` and `{x?}` placeholders.
    pub url: Option<&'n YamlText>,
    /// The placeholders of the address.
    pub placeholders: Vec<UrlPlaceholder>,
    /// The method, in upper case.
    pub method: &'static str,
    /// Values for the address's placeholders.
    pub params: Vec<(&'n YamlText, &'n YamlText)>,
    /// The headers.
    pub headers: Vec<(&'n YamlText, &'n YamlText)>,
    /// How the body is encoded.
    pub body_type: Option<&'static str>,
    /// The body.
    pub body: Option<TemplateTree<'n>>,
    /// How a token is obtained and applied.
    pub auth: Option<TemplateTree<'n>>,
    /// The whole mapping as written.
    pub written: &'n YamlMapping,
}

/// A `{x}` or `{x?}` of an address.
#[derive(Clone)]
pub struct UrlPlaceholder {
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
pub fn read_request<'n>(fields: &mut MappingReader<'n, '_>) -> HttpToolRequest<'n> {
    let reader = fields.reader;
    let url = fields.require_text("url");
    let placeholders = match url {
        Some(url) => check_url(reader, url),
        None => Vec::new(),
    };
    let has_method = fields.take("method").is_some();
    let known_method = fields.read_word("method", &METHODS);
    let method = known_method.unwrap_or("GET");
    let params = take_text_map(fields, "params");
    let headers = take_text_map(fields, "headers");
    let body_type = fields.read_word("body_type", &BODY_TYPES);
    let body = fields.take("body");
    if let Some(entry) = body {
        check_body(reader, entry, body_type, method, has_method && known_method.is_none());
    }
    for (name, _) in &headers {
        misspelt(reader, name);
    }
    for (name, value) in &headers {
        reader.report_all(requests::check_auth_scheme(reader.file, name, value, "{{...}}"));
    }
    HttpToolRequest {
        url,
        placeholders,
        method,
        params,
        headers,
        body_type,
        body: body.map(|e| body_tree(&e.value)),
        auth: read_auth_tree(fields),
        written: fields.source_mapping(),
    }
}

fn read_auth_tree<'n>(fields: &mut MappingReader<'n, '_>) -> Option<TemplateTree<'n>> {
    let templates = auth::read_auth(fields.read_mapping("auth")?);
    let entry = fields.peek_entry("auth")?;
    Some(body_tree(&entry.value).with_templates(&templates))
}

impl<'n> HttpToolRequest<'n> {
    /// Every template of the request except its address.
    pub fn collect_texts(&self, into: &mut Vec<&'n YamlText>) {
        for (_, value) in self.params.iter().chain(&self.headers) {
            into.push(value);
        }
        if let Some(body) = &self.body {
            body.collect_texts(into);
        }
        if let Some(auth) = &self.auth {
            auth.collect_texts(into);
        }
    }
}

/// Reports common misspellings of a header.
fn misspelt(reader: &ManifestReader<'_>, name: &YamlText) {
    let Some(near) = requests::header_slip(&name.value) else { return };
    let at = reader.location_of(name.span);
    let d = Diagnostic::new_warning("unknown-key", at, format!("unknown header `{}`", name.value));
    reader.report_finding(fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, name, near));
}

fn check_body(
    reader: &ManifestReader<'_>,
    entry: &YamlEntry,
    body_type: Option<&str>,
    method: &str,
    unknown_method: bool,
) {
    if !unknown_method && !matches!(method, "POST" | "PUT" | "PATCH") {
        let d = Diagnostic::new_error(
            "conflicting-keys",
            reader.location_of(entry.key.span),
            format!("a {method} request has no body"),
        );
        reader.report_finding(d.with_help("write `method: POST`, `PUT` or `PATCH`"));
    }
    if !matches!(body_type, Some("form" | "query")) {
        return;
    }
    let Some(mapping) = entry.value.as_mapping() else {
        return reader.wrong_type(&entry.value, "body", "a flat mapping of texts");
    };
    for member in &mapping.entries {
        if member.value.as_string().is_none() {
            texts::template_wanted(reader, &member.value, &member.key.value);
        }
    }
}

/// Checks the address and finds its placeholders.
fn check_url(reader: &ManifestReader<'_>, url: &YamlText) -> Vec<UrlPlaceholder> {
    let text = &*url.value;
    let mut placeholders = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && !rest.is_empty()
    {
        if rest.starts_with("{{") {
            plain.push('_');
            at += match rest.find("}}") {
                Some(end) => end + 2,
                None => rest.len(),
            };
        } else if let Some(inner) = rest.strip_prefix('{') {
            let Some(end) = inner.find('}') else {
                reader.report_error("invalid-url", span_in_text(url, at, text.len()), "this `{` is not closed");
                break;
            };
            let name = inner.get(..end).unwrap_or_default();
            let in_query = matches!(text.get(..at), Some(before) if before.contains('?'));
            let span = span_in_text(url, at, at + end + 2);
            match name.strip_prefix('?') {
                // A query with optional names: `{?units,lang}`.
                Some(names) => {
                    for name in names.split(',') {
                        if let Some(found) = placeholder(reader, name.trim(), span, true) {
                            placeholders.push(UrlPlaceholder { optional: true, ..found });
                        }
                    }
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
    if !text.starts_with("{{")
        && let Some(no_address) = requests::no_address(&plain, true, text, reader.location_of(url.span))
    {
        reader.report_finding(no_address);
    } else {
        reader.report_all(requests::check_host(reader.file, url));
    }
    placeholders
}

fn placeholder(reader: &ManifestReader<'_>, name: &str, span: Span, in_query: bool) -> Option<UrlPlaceholder> {
    let (bare, optional) = match name.strip_suffix('?') {
        Some(bare) => (bare, true),
        None => (name, false),
    };
    if !crate::agntz::ids::is_tool_name(bare) {
        let d = Diagnostic::new_error(
            "invalid-url",
            reader.location_of(span),
            format!("`{{{name}}}` is not a valid placeholder"),
        );
        reader.report_finding(d.with_help("start with a letter or `_`, then use letters, digits and `_`"));
        return None;
    }
    if optional && !in_query {
        let message = format!("`{{{name}}}` is optional, which works only after the `?` of the URL");
        reader.report_error("invalid-url", span, message);
    }
    Some(UrlPlaceholder { name: bare.into(), optional, span })
}

fn span_in_text(text: &YamlText, start: usize, end: usize) -> Span {
    text.source_span(start as u32..end as u32)
}
