//! `auth` of an http tool: how a token is obtained and applied.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use super::texts::{body_tree, take_text_map};
use crate::yaml_reader::MappingReader;

/// The maximum time for which a token is kept, in seconds: a year.
const LONGEST_TTL: f64 = 31_536_000.0;

/// Checks the mapping and returns its templates.
pub fn read_auth<'n>(mut fields: MappingReader<'n, '_>) -> Vec<&'n YamlText> {
    let mut found = Vec::new();
    fields.require_entry("type");
    match fields.read_word("type", &[("oauth2_client_credentials", true), ("token_exchange", false)]) {
        Some(true) => client_credentials(&mut fields, &mut found),
        Some(false) => token_exchange(&mut fields, &mut found),
        None => return found,
    }
    fields.read_number("cache_ttl", 0.001..=LONGEST_TTL);
    let reader = fields.reader;
    for status in fields.read_list("refresh_on").unwrap_or_default() {
        reader.read_integer(status, "refresh_on", 100..=599);
    }
    fields.finish_mapping();
    found
}

fn client_credentials<'n>(fields: &mut MappingReader<'n, '_>, found: &mut Vec<&'n YamlText>) {
    for key in ["token_url", "client_id", "client_secret"] {
        found.extend(fields.require_text(key));
    }
    found.extend(fields.read_text("scope"));
    fields.read_word("creds_location", &[("basic_header", ()), ("body", ())]);
}

fn token_exchange<'n>(fields: &mut MappingReader<'n, '_>, found: &mut Vec<&'n YamlText>) {
    fields.require_entry("request");
    if let Some(mut request) = fields.read_mapping("request") {
        found.extend(request.require_text("url"));
        request.read_word("method", &[("GET", ()), ("POST", ()), ("PUT", ()), ("PATCH", ())]);
        for (_, value) in take_text_map(&mut request, "headers") {
            found.push(value);
        }
        request.read_word("body_type", &[("json", ()), ("form", ()), ("query", ())]);
        if let Some(body) = request.take("body") {
            body_tree(&body.value).collect_texts(found);
        }
        request.finish_mapping();
    }
    fields.require_entry("extract");
    if let Some(mut extract) = fields.read_mapping("extract") {
        extract.read_word("response_format", &[("json", ()), ("text", ())]);
        for key in ["token_path", "expires_path"] {
            if let Some(path) = extract.read_text(key)
                && !path.value.starts_with('$')
            {
                let d = Diagnostic::new_error(
                    "unknown-value",
                    extract.reader.location_of(path.span),
                    format!("`{key}` must start with `$`"),
                );
                extract.reader.report_finding(d.with_help("for example `$.access_token`"));
            }
        }
        extract.finish_mapping();
    }
    // By default the token goes into the header `Authorization`, as `Bearer {token}`.
    if let Some(mut apply) = fields.read_mapping("apply") {
        if apply.read_word("location", &[("header", false), ("query", true)]) == Some(true) {
            apply.require_entry("name");
        }
        apply.read_text("name");
        if let Some(format) = apply.read_text("format")
            && !format.value.contains("{token}")
        {
            let d = Diagnostic::new_error(
                "unknown-value",
                apply.reader.location_of(format.span),
                "`format` does not contain `{token}`",
            );
            apply.reader.report_finding(d.with_help("for example `Bearer {token}`"));
        }
        apply.finish_mapping();
    }
}
