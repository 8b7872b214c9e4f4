//! Which requests a page of somebody else could have made a browser send: another `Host` than ours (DNS rebinding), or an
//! `Origin` that is not ours (cross-site requests). Clients that are no browsers send no `Origin`.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use tower_http::cors::{AllowHeaders, CorsLayer};

use crate::problem::{ApiResult, Problem};

/// The hosts and origins from which requests are accepted.
#[derive(Debug, Clone, Default)]
pub struct AllowedOrigins {
    /// Names by which the server may be called, beside those of loopback; `None`: any, because a key is needed.
    pub hosts: Option<Vec<String>>,
    /// Origins of pages that may call the server (CORS): `https://app.example.com`.
    pub origins: Vec<String>,
}

impl AllowedOrigins {
    /// Tells browsers that pages of these origins may call the server, and see its answers.
    pub fn cors_layer(&self) -> CorsLayer {
        let mut allowed = Vec::new();
        for origin in &self.origins {
            // Anything else is never the origin of a page.
            if let Ok(value) = HeaderValue::from_str(origin)
                && parse_page_origin(origin).is_ok()
            {
                allowed.push(value);
            }
        }
        let headers = [header::LOCATION, header::RETRY_AFTER, HeaderName::from_static("x-request-id")];
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(headers)
            .max_age(PREFLIGHT)
    }
}

/// An origin as browsers write it: `https://app.example.com`, and a port unless it is that of the scheme.
///
/// # Errors
///
/// What to write instead.
pub fn parse_page_origin(text: &str) -> Result<String, String> {
    if text == "*" || text == "null" {
        return Err(
            "name each origin: `https://app.example.com`; pages of any other site must not call a server".to_owned()
        );
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(format!("write the scheme, too: `https://{}`", text.trim_matches('/')));
    };
    let scheme = scheme.to_ascii_lowercase();
    let (host, _) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    let host = host.to_ascii_lowercase();
    let is_scheme =
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    if !is_scheme || host.is_empty() || !host.bytes().all(is_host) {
        return Err("an origin is a scheme, a name, and perhaps a port: `https://app.example.com:8443`".to_owned());
    }
    let usual = match &*scheme {
        "https" => ":443",
        "http" => ":80",
        _ => "",
    };
    let host = if usual.is_empty() { &*host } else { host.strip_suffix(usual).unwrap_or(&host) };
    let origin = format!("{scheme}://{host}");
    if origin == text { Ok(origin) } else { Err(format!("browsers write this origin as `{origin}`")) }
}

/// A name by which clients call the server, as it is in `Host` without its port.
///
/// # Errors
///
/// What to write instead.
pub fn parse_host_name(text: &str) -> Result<String, String> {
    let name = text.rsplit_once("://").map_or(text, |(_, rest)| rest);
    let (name, _) = name.split_once('/').unwrap_or((name, ""));
    let name = without_port(name);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte) || !byte.is_ascii();
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err("write the name alone: `flows.example.com`".to_owned());
    }
    if name == text { Ok(name.to_owned()) } else { Err(format!("write the name alone: `{name}`")) }
}

/// How long a browser may believe what it was told of an origin.
const PREFLIGHT: Duration = Duration::from_secs(600);
/// The names of this machine for itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Refuses a request that a page of somebody else could have sent.
///
/// # Errors
///
/// 421 for an unknown `Host`, 403 for a strange `Origin`.
pub fn check_origin(headers: &HeaderMap, authority: Option<&str>, allowed: &AllowedOrigins) -> ApiResult<()> {
    let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = named.or(authority).unwrap_or_default();
    if let Some(hosts) = &allowed.hosts {
        let name = without_port(host);
        // A name may have the dot that ends a full name of DNS.
        let plain = name.strip_suffix('.').unwrap_or(name);
        let is_known = |known: &str| known.eq_ignore_ascii_case(plain) || known.eq_ignore_ascii_case(name);
        if !LOOPBACK.into_iter().any(is_known) && !hosts.iter().any(|known| is_known(known)) {
            let detail = format!("this server is not called `{name}`");
            let help = "call it by `localhost` or `127.0.0.1`, or start it with `--host-name NAME`";
            let problem = Problem::new(StatusCode::MISDIRECTED_REQUEST, "HOST_NOT_ALLOWED", detail);
            return Err(problem.with_help(help));
        }
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let (_, from) = origin.split_once("://").unwrap_or_default();
    let is_own = !from.is_empty() && from.eq_ignore_ascii_case(host);
    if is_own || allowed.origins.iter().any(|known| known == origin) {
        return Ok(());
    }
    let detail = "requests of pages of other sites are not accepted";
    let help = "the operator allows them with `--allow-origin ORIGIN`";
    Err(Problem::new(StatusCode::FORBIDDEN, "ORIGIN_NOT_ALLOWED", detail).with_help(help))
}

/// The name in `NAME:PORT`, `[::1]:PORT`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, origin: Option<&str>, allowed: &AllowedOrigins) -> Option<u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        check_origin(&headers, None, allowed).err().map(|problem| problem.status)
    }

    #[test]
    fn names_of_others_and_pages_of_others_are_refused() {
        let allowed =
            AllowedOrigins { hosts: Some(vec!["Box.lan".to_owned()]), origins: vec!["https://app.example".to_owned()] };
        for host in ["LOCALHOST:8080", "localhost.", "localhost.:8080", "BOX.lan.", "[::1]:80", "localhost:"] {
            assert_eq!(check(host, None, &allowed), None, "{host}");
        }
        for host in ["localhost..", ".", "127.0.0.1.evil.example."] {
            assert_eq!(check(host, None, &allowed), Some(421), "{host}");
        }
        for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]", "localhost", "box.lan:80"] {
            assert_eq!(check(host, None, &allowed), None, "{host}");
        }
        for host in ["evil.example", "evil.example:8080", "localhost.evil.example", ""] {
            assert_eq!(check(host, None, &allowed), Some(421), "{host}");
        }
        let at = "localhost:8080";
        assert_eq!(check(at, Some("http://localhost:8080"), &allowed), None);
        assert_eq!(check(at, Some("https://app.example"), &allowed), None);
        for origin in ["https://evil.example", "null", "http://localhost:9090", "", "://"] {
            assert_eq!(check(at, Some(origin), &allowed), Some(403), "{origin}");
        }
        assert_eq!(check("any.example", None, &AllowedOrigins::default()), None);
    }

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        for right in ["https://app.example", "http://localhost:5173", "https://app.example:8443", "tauri://localhost"] {
            let parsed = parse_page_origin(right);
            assert!(parsed.as_deref() == Ok(right), "{right}: {parsed:?}");
        }
        for (wrong, advice) in [
            ("*", "name each origin"),
            ("null", "name each origin"),
            ("app.example", "`https://app.example`"),
            ("https://app.example/", "`https://app.example`"),
            ("https://App.example/path?x", "`https://app.example`"),
            ("https://app.example:443", "`https://app.example`"),
            ("http://app.example:80/", "`http://app.example`"),
            ("https://", "a scheme, a name"),
            ("https://a b", "a scheme, a name"),
        ] {
            let why = parse_page_origin(wrong).unwrap_err();
            assert!(why.contains(advice), "{wrong}: {why}");
        }
        for (wrong, advice) in
            [("box.lan:8080", "`box.lan`"), ("http://box.lan/", "`box.lan`"), ("", "the name alone"), ("a b", "alone")]
        {
            assert!(parse_host_name(wrong).unwrap_err().contains(advice), "{wrong}");
        }
        for right in ["box.lan", "[fe80::1]", "192.168.0.4"] {
            assert_eq!(parse_host_name(right).as_deref(), Ok(right));
        }
    }
}
