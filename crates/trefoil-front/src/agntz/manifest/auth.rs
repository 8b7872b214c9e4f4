//! `auth` of an http tool: how a token is obtained and applied.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

use super::texts::{body_tree, text_map};
use crate::read::Fields;

/// The maximum time for which a token is kept, in seconds: a year.
const LONGEST_TTL: f64 = 31_536_000.0;

/// Checks the mapping and returns its templates.
pub fn read<'n>(mut fields: Fields<'n, '_>) -> Vec<&'n Text> {
    let mut found = Vec::new();
    fields.require("type");
    match fields.word("type", &[("oauth2_client_credentials", true), ("token_exchange", false)]) {
        Some(true) => client_credentials(&mut fields, &mut found),
        Some(false) => token_exchange(&mut fields, &mut found),
        None => return found,
    }
    fields.number("cache_ttl", 0.001..=LONGEST_TTL);
    let reader = fields.reader;
    for status in fields.list("refresh_on").unwrap_or_default() {
        reader.integer(status, "refresh_on", 100..=599);
    }
    fields.finish();
    found
}

fn client_credentials<'n>(fields: &mut Fields<'n, '_>, found: &mut Vec<&'n Text>) {
    for key in ["token_url", "client_id", "client_secret"] {
        found.extend(fields.require_text(key));
    }
    found.extend(fields.text("scope"));
    fields.word("creds_location", &[("basic_header", ()), ("body", ())]);
}

fn token_exchange<'n>(fields: &mut Fields<'n, '_>, found: &mut Vec<&'n Text>) {
    fields.require("request");
    if let Some(mut request) = fields.fields("request") {
        found.extend(request.require_text("url"));
        request.word("method", &[("GET", ()), ("POST", ()), ("PUT", ()), ("PATCH", ())]);
        let reader = request.reader;
        if let Some(headers) = request.take("headers") {
            found.extend(text_map(reader, &headers.value, "headers").into_iter().map(|(_, v)| v));
        }
        request.word("body_type", &[("json", ()), ("form", ()), ("query", ())]);
        if let Some(body) = request.take("body") {
            body_tree(&body.value).texts(found);
        }
        request.finish();
    }
    fields.require("extract");
    if let Some(mut extract) = fields.fields("extract") {
        extract.word("response_format", &[("json", ()), ("text", ())]);
        for key in ["token_path", "expires_path"] {
            if let Some(path) = extract.text(key).filter(|p| !p.value.starts_with('$')) {
                let d = Diagnostic::error(
                    "unknown-value",
                    extract.reader.at(path.span),
                    format!("`{key}` must start with `$`"),
                );
                extract.reader.report(d.help("for example `$.access_token`"));
            }
        }
        extract.finish();
    }
    // By default the token goes into the header `Authorization`, as `Bearer {token}`.
    if let Some(mut apply) = fields.fields("apply") {
        if apply.word("location", &[("header", false), ("query", true)]) == Some(true) {
            apply.require("name");
        }
        apply.text("name");
        if let Some(format) = apply.text("format").filter(|f| !f.value.contains("{token}")) {
            let d =
                Diagnostic::error("unknown-value", apply.reader.at(format.span), "`format` does not contain `{token}`");
            apply.reader.report(d.help("for example `Bearer {token}`"));
        }
        apply.finish();
    }
}
