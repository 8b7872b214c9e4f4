//! Tool nodes: HTTP requests and Python functions. Read and checked; how they are run depends on the host.

use std::sync::Arc;

use trefoil_ir::LONGEST_REQUEST_MS;
use trefoil_syntax::yaml::{Entry, Text};
use trefoil_syntax::{Diagnostic, Span};

use super::{request, scalar};
use crate::{Fields, Reader, requests};

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
        url: Option<&'n Text>,
        /// `GET` or `POST`.
        method: &'static str,
        /// The headers, whose values are templates.
        headers: Vec<(&'n Text, &'n Text)>,
        /// The body, a template.
        body: Option<&'n Text>,
        /// The timeout in milliseconds.
        timeout_ms: u64,
        /// Where that is written.
        timeout_at: Option<Span>,
    },
    /// A Python function.
    Python {
        /// The module, a template.
        module: Option<&'n Text>,
        /// The function, a template.
        function: Option<&'n Text>,
        /// Its arguments, whose texts are templates.
        args: Option<&'n Entry>,
    },
}

/// The keys of a tool node.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> ToolNode<'n> {
    #[derive(Clone, Copy)]
    enum ToolSort {
        Http,
        Python,
    }
    let reader = fields.reader;
    let tool = fields.require("tool");
    let sort =
        tool.and_then(|e| reader.word(&e.value, "tool", &[("http", ToolSort::Http), ("python", ToolSort::Python)]));
    let config = fields.require("config").and_then(|e| reader.fields(&e.value, "config"));
    let settings = sort.zip(config).map(|(sort, mut config)| {
        let settings = match sort {
            ToolSort::Http => http(&mut config),
            ToolSort::Python => python(&mut config),
        };
        config.finish();
        settings
    });
    let output_key = match scalar::plain(fields, "output_key") {
        Some(text) if text.value.split('.').any(str::is_empty) => {
            reader.error("bad-path", text.span, format!("`{}` has an empty segment", text.value));
            vec!["output".into()]
        }
        Some(text) => text.value.split('.').map(Arc::from).collect(),
        None => vec!["output".into()],
    };
    let retries = scalar::count(fields, "retry", 0);
    let skip = fields.word("on_failure", &[("raise", false), ("skip", true)]).unwrap_or(false);
    fields.no_effect(&["writes"], "a tool node's result is `<its id>.<output_key>`");
    ToolNode { settings, output_key, retries, skip }
}

fn http<'n>(config: &mut Fields<'n, '_>) -> ToolSettings<'n> {
    config.also_called(&[("data", "body"), ("json", "body"), ("uri", "url"), ("verb", "method")]);
    let url = config.require_text("url");
    if let Some(url) = url {
        address(config.reader, url);
    }
    let written = config.word("method", &[("GET", "GET"), ("POST", "POST")]);
    let method = written.unwrap_or("GET");
    let headers: Vec<(&Text, &Text)> = match config.fields("headers") {
        Some(headers) => headers
            .entries()
            .iter()
            .filter_map(|e| headers.reader.text(&e.value, &e.key.value).map(|value| (&e.key, value)))
            .inspect(|(name, value)| request::header(headers.reader, name, value))
            .collect(),
        None => Vec::new(),
    };
    let body = config.text("body");
    if let Some(entry) =
        config.entry("body").filter(|_| body.is_some() && (method != "GET" || config.entry("method").is_none()))
    {
        request::body(config.reader, entry, method, &headers);
    }
    let timeout_ms = scalar::patience(config, "timeout").unwrap_or(10_000);
    let timeout_at = config.entry("timeout").map(|e| e.value.span);
    if let Some(at) = timeout_at.filter(|_| timeout_ms > LONGEST_REQUEST_MS) {
        let message = format!("a request is stopped after {} seconds", LONGEST_REQUEST_MS / 1000);
        let d = Diagnostic::warning("no-effect", config.reader.at(at), message);
        config.reader.report(d.help("lower it, or start the work with one request and fetch its result with another"));
    }
    ToolSettings::Http { url, method, headers, body, timeout_ms, timeout_at }
}

/// Checks a literal address, or its literal start: without `http` and a host, no request can be sent.
fn address(reader: &Reader<'_>, url: &Text) {
    let text = url.value.trim();
    let written = text.split("{{").next().unwrap_or_default();
    let whole = written.len() == text.len();
    if let Some(d) = requests::no_address(written, whole, text, reader.at(url.span)) {
        return reader.report(d);
    }
    let outside = text.split("{{").map(|part| part.split_once("}}").map_or(part, |(_, behind)| behind));
    if outside.into_iter().any(|part| part.contains(char::is_whitespace)) {
        let d = Diagnostic::warning("invalid-url", reader.at(url.span), format!("`{text}` contains a space"));
        reader.report(d.help("write `%20`, or remove it"));
    }
}

fn python<'n>(config: &mut Fields<'n, '_>) -> ToolSettings<'n> {
    let module = config.require_text("module");
    let function = config.require_text("function");
    let reader = config.reader;
    let args = config.take("args").filter(|entry| {
        let fits = entry.value.mapping().is_some();
        if !fits {
            reader.wrong_type(&entry.value, "args", "a mapping");
        }
        fits
    });
    config.no_effect(&["kwargs"], "pass arguments in `args`");
    ToolSettings::Python { module, function, args }
}
