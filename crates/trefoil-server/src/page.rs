//! The page of the server: what a browser gets at `/`. Its views are in the fragment of the address (`/#/runs/ID`), which no client of
//! the other interfaces sends, so no path means two things. The page needs no key, and has no data; it gets them from the API.

use std::sync::OnceLock;

use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};
use trefoil_view::trace::page::served::{INDEX, PAGE_FILES, PageFile};

use crate::problem::Problem;
use crate::state::AppState;

/// What the page may do: run its own script and style, call this server, and nothing else. No text ever becomes HTML in it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";
/// For files whose address has the hash of their content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// For everything else: the browser asks whether it has changed.
const ASK_AGAIN: &str = "no-cache";

/// The routes of the page. Anybody may call them.
pub fn page_routes() -> Router<AppState> {
    Router::new().route("/", get(show_page)).route("/assets/{file}", get(show_file))
}

async fn show_page(headers: HeaderMap) -> Response {
    static TAG: OnceLock<String> = OnceLock::new();
    let tag = TAG.get_or_init(|| short_hash(INDEX.text));
    let mut response = answer_file(&INDEX, tag, ASK_AGAIN, &headers);
    let policies = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in policies {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn show_file(Path(name): Path<String>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    static TAGS: OnceLock<Vec<String>> = OnceLock::new();
    let tags = TAGS.get_or_init(|| PAGE_FILES.iter().map(|file| short_hash(file.text)).collect());
    let mut all = PAGE_FILES.iter().zip(tags);
    let Some((file, tag)) = all.find(|(file, _)| file.name == name) else {
        return Problem::not_found("NOT_FOUND", format!("the page has no file `{name}`")).into_response();
    };
    let is_named = query.as_deref().and_then(|query| query.strip_prefix("v=")) == Some(tag);
    answer_file(file, tag, if is_named { FOR_EVER } else { ASK_AGAIN }, &headers)
}

/// The file, or that the browser has it.
fn answer_file(file: &'static PageFile, tag: &str, caching: &'static str, headers: &HeaderMap) -> Response {
    let tag = format!("\"{tag}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let has_it = known.is_some_and(|known| known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag));
    let mut response = match has_it {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, file.content_type)], file.text).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// As the build of the page writes it into the addresses of its files.
fn short_hash(text: &str) -> String {
    let mut short = String::new();
    for byte in Sha256::digest(text).iter().take(8) {
        short.push_str(&format!("{byte:02x}"));
    }
    short
}
