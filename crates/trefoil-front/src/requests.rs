//! Mistakes in http requests, for all dialects: impossible addresses, unknown header names. Judges texts; the callers
//! report the findings with the terms of their formats.

use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, FileId, Location, suggestions};

/// The finding about an address that no request can be sent to. `written`: its literal part; `whole`: there is no other
/// part.
pub fn no_address(written: &str, whole: bool, shown: &str, at: Location) -> Option<Diagnostic> {
    let host = without_scheme(written);
    let fits = match host {
        Some(host) => {
            let end = host.find(['/', '?', '#']);
            let name = host.get(..end.unwrap_or(host.len())).unwrap_or_default();
            !name.contains(char::is_whitespace) && (!name.is_empty() || end.is_none() && !whole)
        }
        // A placeholder may contain the start.
        None => !whole && written.is_empty(),
    };
    if fits {
        return None;
    }
    let d = Diagnostic::new_error("invalid-url", at, format!("`{shown}` is not an HTTP URL"));
    Some(d.with_help("start it with `https://` and a host"))
}

fn without_scheme(address: &str) -> Option<&str> {
    for scheme in ["https://", "http://"] {
        if let Some((start, rest)) = address.split_at_checked(scheme.len())
            && start.eq_ignore_ascii_case(scheme)
        {
            return Some(rest);
        }
    }
    None
}

/// The finding about the host of an address: an invalid host, or a placeholder for one.
pub fn check_host(file: FileId, url: &YamlText) -> Option<Diagnostic> {
    let text = &*url.value;
    let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme))?;
    let start = scheme.len();
    let rest = text.get(start..).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let at = Location::new(file, url.source_span(start as u32..(start + authority.len()) as u32));
    let error = |message: String, help: &str| {
        Some(Diagnostic::new_error("invalid-url", at, message).with_help(help.to_owned()))
    };
    if matches!(authority, "https:" | "http:") {
        return error("the URL starts with its scheme twice".to_owned(), "remove one `https://`");
    }
    let authority = authority.rsplit('@').next().unwrap_or_default();
    if authority.contains(['{', '[']) {
        return None;
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let your = |label: &str| {
        let lower = label.to_ascii_lowercase();
        lower.starts_with("your-") || lower.starts_with("your_")
    };
    if authority.contains(['<', '>']) || host.split('.').any(your) {
        let d = Diagnostic::new_warning("invalid-url", at, format!("`{authority}` is a placeholder host"));
        return Some(d.with_help("write the host to call"));
    }
    if host.contains(',') || host.contains("..") || host.starts_with('.') {
        return error(format!("`{host}` is not a valid host"), "separate its parts with one `.` each");
    }
    let port = port?;
    if port.is_empty() || port.parse::<u16>().is_ok() {
        return None;
    }
    error(format!("`{port}` is not a valid port"), "use a number from 0 to 65535")
}

/// Header names that are often misspelt.
const HEADERS: [&str; 4] = ["Authorization", "Content-Type", "Accept", "User-Agent"];

/// Whether a name is a well-known header or a custom one.
pub fn is_header(name: &str) -> bool {
    let is_custom = matches!(name.get(..2), Some(start) if start.eq_ignore_ascii_case("x-"));
    is_custom || HEADERS.iter().any(|header| header.eq_ignore_ascii_case(name))
}

/// The finding about a header with credentials in which the word for their kind has no space after it. `tag`: a placeholder, as the
/// dialect writes it.
pub fn check_auth_scheme(file: FileId, name: &YamlText, value: &YamlText, tag: &str) -> Option<Diagnostic> {
    let scheme = ["Bearer", "Basic"].into_iter().find(|scheme| value.value.starts_with(scheme))?;
    let rest = value.value.get(scheme.len()..)?;
    if !rest.starts_with(':') && !rest.starts_with("{{") {
        return None;
    }
    if !name.value.eq_ignore_ascii_case("Authorization") {
        return None;
    }
    let end = scheme.len() + usize::from(rest.starts_with(':'));
    let place = Location::new(file, value.source_span(0..end as u32));
    let d = Diagnostic::new_warning("no-effect", place, format!("`{scheme}` needs a space before its value"));
    let d = d.with_help(format!("write `{scheme} {tag}`"));
    let meant = if rest.starts_with(": ") { scheme.to_owned() } else { format!("{scheme} ") };
    let straight = (place.span.end - place.span.start) as usize == end;
    Some(if straight { d.with_suggestion(format!("write `{scheme} `"), place, meant) } else { d })
}

/// The header that was meant by an unknown name.
pub fn header_slip(name: &str) -> Option<suggestions::NearMatch<'static>> {
    if is_header(name) {
        return None;
    }
    let near = suggestions::find_near_match(name, HEADERS)?;
    if near.sure { Some(suggestions::NearMatch { sure: false, ..near }) } else { None }
}
