//! Builds a request from a tool's arguments.

use std::time::Duration;

use reqwest::Method;
use trefoil_runtime::ToolError;
use trefoil_template::{Value, ValueObject};
use url::form_urlencoded;

use crate::guard::GuardedRequest;

/// A request without placeholders: `method`, `headers`, `body_type`, `body`, `timeout_ms`.
pub fn build_request(all: &ValueObject, url: String) -> Result<GuardedRequest, ToolError> {
    no_way_up(&url)?;
    let text = |key: &str| all.get(key).and_then(Value::as_str);
    let method = text("method").unwrap_or("GET");
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| {
        let why = format!("`{method}` is not a valid HTTP method");
        ToolError::with_advice(why, "set `method` to `GET`, `POST` or another method")
    })?;
    let mut headers: Vec<(String, String)> = Vec::new();
    if let Some(given) = all.get("headers").and_then(Value::as_object) {
        for (name, value) in given.iter() {
            // Headers without a value are not sent.
            if !value.is_null() {
                headers.push((name.to_string(), value.to_text().to_string()));
            }
        }
    }
    let ms = all.get("timeout_ms").and_then(Value::as_f64);
    let time = ms.map(|ms| Duration::from_millis(ms as u64));
    let mut call = GuardedRequest { method, headers, time, ..GuardedRequest::for_get(url) };
    let Some(body) = all.get("body") else { return Ok(call) };
    let (bytes, kind) = match (text("body_type"), body) {
        (Some("query"), body) => {
            call.url = with_query(&call.url, pairs(body)?);
            return Ok(call);
        }
        (Some("form"), body) => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for (name, value) in pairs(body)? {
                form.append_pair(name, &value.to_text());
            }
            (form.finish(), "application/x-www-form-urlencoded")
        }
        // A text is sent as it is. Its type is JSON unless a header says otherwise.
        (None, Value::Str(text)) => (text.to_string(), "application/json"),
        (_, body) => (body.to_json().to_string(), "application/json"),
    };
    if !call.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        call.headers.push(("content-type".to_owned(), kind.to_owned()));
    }
    call.body = Some(bytes.into_bytes());
    Ok(call)
}

/// Rejects `..` in the path, in any encoding and from any source: it leads to the parent, so a value for one segment
/// could lead to another resource.
fn no_way_up(url: &str) -> Result<(), ToolError> {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    for segment in path.split(['/', '\\']).skip(1) {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        if segment == "." || segment == ".." {
            let why = "a segment of the address is `.` or `..`, which leads to another address";
            return Err(ToolError::with_advice(why, "pass another value for this part of the URL"));
        }
    }
    Ok(())
}

/// Adds pairs to the query of an address.
pub fn with_query<'p>(url: &str, pairs: impl IntoIterator<Item = (&'p str, &'p Value)>) -> String {
    let (address, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        query.append_pair(name, &value.to_text());
    }
    let query = query.finish();
    let separator = match address.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    if query.is_empty() { url.to_owned() } else { format!("{address}{separator}{query}{fragment}") }
}

fn pairs(body: &Value) -> Result<Vec<(&str, &Value)>, ToolError> {
    let Some(object) = body.as_object() else {
        return Err(ToolError::with_advice("a form must be an object", "make `body` an object"));
    };
    let mut pairs = Vec::new();
    for (name, value) in object.iter() {
        if !value.is_null() {
            pairs.push((&**name, value));
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_segment_of_a_path_leads_to_another_one() {
        for url in [
            "https://h/a/../b",
            "https://h/a/..",
            "https://h/./a",
            "https://h/a/%2E%2e/b",
            "https://h\\a\\..\\b",
            "https://h/.%2e?x",
        ] {
            assert!(no_way_up(url).is_err(), "{url}");
        }
        for url in
            ["https://h", "https://h/", "https://h/a..b/...", "https://h/a?b=../c", "https://h/a#../c", "https://h../x"]
        {
            assert!(no_way_up(url).is_ok(), "{url}");
        }
    }
}
