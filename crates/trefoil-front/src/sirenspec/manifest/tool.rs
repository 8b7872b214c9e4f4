//! Tool nodes: HTTP requests and Python functions. Read and checked; how they are run depends on the host.

use std::sync::Arc;

use trefoil_ir::LONGEST_REQUEST_MS;
use trefoil_syntax::yaml::{YamlEntry, YamlText};
use trefoil_syntax::{Diagnostic, Span};

use super::{request, scalar};
use crate::{ManifestReader, MappingReader, requests};

/// A tool node.
#[derive(Debug, Clone)]
pub struct ToolNode<'n> {
    /// The tool to call.
    pub settings: Option<ToolSettings<'n>>,
    /// The path for the result in the node's context.
    pub output_key: Vec<Arc<str>>,
    /// The number of retries; `None` if nothing is said about it.
    pub retries: Option<u32>,
    /// Whether the result is null on failure and the run continues.
    pub skip: bool,
}

/// The tool of a tool node.
#[derive(Debug, Clone)]
pub enum ToolSettings<'n> {
    /// An HTTP request.
    Http {
        /// The URL, a template.
        url: Option<&'n YamlText>,
        /// `GET` or `POST`.
        method: &'static str,
        /// The headers, whose values are templates.
        headers: Vec<(&'n YamlText, &'n YamlText)>,
        /// The body, a template.
        body: Option<&'n YamlText>,
        /// The timeout in milliseconds.
        timeout_ms: u64,
        /// Where that is written.
        timeout_at: Option<Span>,
    },
    /// A Python function.
    Python {
        /// The module, a template.
        module: Option<&'n YamlText>,
        /// The function, a template.
        function: Option<&'n YamlText>,
        /// Its arguments, whose texts are templates.
        args: Option<&'n YamlEntry>,
    },
}

/// The keys of a tool node.
pub fn read_tool_node<'n>(fields: &mut MappingReader<'n, '_>) -> ToolNode<'n> {
    #[derive(Clone, Copy)]
    enum ToolSort {
        Http,
        Python,
    }
    let reader = fields.reader;
    let sort = match fields.require_entry("tool") {
        Some(tool) => reader.read_word(&tool.value, "tool", &[("http", ToolSort::Http), ("python", ToolSort::Python)]),
        None => None,
    };
    let mut settings = None;
    if let Some(config) = fields.require_entry("config")
        && let Some(mut config) = reader.read_mapping(&config.value, "config")
        && let Some(sort) = sort
    {
        settings = Some(match sort {
            ToolSort::Http => http(&mut config),
            ToolSort::Python => python(&mut config),
        });
        config.finish_mapping();
    }
    let output_key = match scalar::read_plain_text(fields, "output_key") {
        Some(text) if text.value.split('.').any(str::is_empty) => {
            reader.report_error("bad-path", text.span, format!("`{}` has an empty segment", text.value));
            vec!["output".into()]
        }
        Some(text) => text.value.split('.').map(Arc::from).collect(),
        None => vec!["output".into()],
    };
    let retries = scalar::read_count(fields, "retry", 0);
    let skip = fields.read_word("on_failure", &[("raise", false), ("skip", true)]).unwrap_or(false);
    fields.no_effect(&["writes"], "a tool node's result is `<its id>.<output_key>`");
    ToolNode { settings, output_key, retries, skip }
}

fn http<'n>(config: &mut MappingReader<'n, '_>) -> ToolSettings<'n> {
    config.also_called(&[("data", "body"), ("json", "body"), ("uri", "url"), ("verb", "method")]);
    let url = config.require_text("url");
    if let Some(url) = url {
        address(config.reader, url);
    }
    let written = config.read_word("method", &[("GET", "GET"), ("POST", "POST")]);
    let method = written.unwrap_or("GET");
    let headers = headers(config);
    let body = config.read_text("body");
    if let Some(entry) = config.peek_entry("body")
        && body.is_some()
        && (method != "GET" || config.peek_entry("method").is_none())
    {
        request::check_request_body(config.reader, entry, method, &headers);
    }
    let timeout_ms = scalar::read_call_timeout(config, "timeout").unwrap_or(10_000);
    let timeout_at = config.peek_entry("timeout").map(|e| e.value.span);
    if let Some(at) = timeout_at
        && timeout_ms > LONGEST_REQUEST_MS
    {
        let message = format!("a request is stopped after {} seconds", LONGEST_REQUEST_MS / 1000);
        let d = Diagnostic::new_warning("no-effect", config.reader.location_of(at), message);
        config.reader.report_finding(
            d.with_help("lower it, or start the work with one request and fetch its result with another"),
        );
    }
    ToolSettings::Http { url, method, headers, body, timeout_ms, timeout_at }
}

fn headers<'n>(config: &mut MappingReader<'n, '_>) -> Vec<(&'n YamlText, &'n YamlText)> {
    let mut headers = Vec::new();
    let Some(mapping) = config.read_mapping("headers") else { return headers };
    for entry in mapping.entries() {
        if let Some(value) = mapping.reader.read_text(&entry.value, &entry.key.value) {
            request::check_header(mapping.reader, &entry.key, value);
            headers.push((&entry.key, value));
        }
    }
    headers
}

/// Checks a literal address, or its literal start: without `http` and a host, no request can be sent.
fn address(reader: &ManifestReader<'_>, url: &YamlText) {
    let text = url.value.trim();
    let written = text.split("{{").next().unwrap_or_default();
    let whole = written.len() == text.len();
    if let Some(d) = requests::no_address(written, whole, text, reader.location_of(url.span)) {
        return reader.report_finding(d);
    }
    if text.split("{{").any(|part| behind_placeholder(part).contains(char::is_whitespace)) {
        let d =
            Diagnostic::new_warning("invalid-url", reader.location_of(url.span), format!("`{text}` contains a space"));
        reader.report_finding(d.with_help("write `%20`, or remove it"));
    }
}

fn behind_placeholder(part: &str) -> &str {
    match part.split_once("}}") {
        Some((_, behind)) => behind,
        None => part,
    }
}

fn python<'n>(config: &mut MappingReader<'n, '_>) -> ToolSettings<'n> {
    let module = config.require_text("module");
    let function = config.require_text("function");
    let reader = config.reader;
    let args = match config.take("args") {
        Some(entry) if entry.value.as_mapping().is_none() => {
            reader.wrong_type(&entry.value, "args", "a mapping");
            None
        }
        args => args,
    };
    config.no_effect(&["kwargs"], "pass arguments in `args`");
    ToolSettings::Python { module, function, args }
}
