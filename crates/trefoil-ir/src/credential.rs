//! Decides which values are credentials: by the name of a variable, and by the place that a value is sent to. The lists are in
//! `docs/limits.md`.
//!
//! Knows only names and places, never values.

use trefoil_template::{Hole, MaskedPiece, Value};

use crate::effect::ToolKind;

/// Headers that carry credentials, in lower case, in addition to those whose names say so.
const HEADERS: [&str; 9] = [
    "authorization",
    "proxy-authorization",
    "www-authenticate",
    "cookie",
    "set-cookie",
    "x-api-key",
    "x-amz-security-token",
    "x-csrf-token",
    "x-goog-api-key",
];

/// Last words of the names of headers, parameters and members that are credentials, besides those of environment variables.
const WORDS: [&str; 10] =
    ["KEY", "AUTH", "AUTHORIZATION", "CREDENTIAL", "CREDENTIALS", "PASS", "PWD", "PASSPHRASE", "SIG", "SIGNATURE"];

/// Members of a tool's `auth` that say how to get a token and are not credentials themselves.
const OF_AUTH: [&str; 12] = [
    "type",
    "url",
    "token_url",
    "method",
    "scope",
    "cache_ttl",
    "refresh_on",
    "creds_location",
    "token_path",
    "expires_path",
    "apply",
    "audience",
];

/// Whether an environment variable probably holds a credential, judging by its name.
pub fn is_credential(name: &str) -> bool {
    const LAST: [&str; 9] =
        ["APIKEY", "API_KEY", "SECRET", "SECRET_KEY", "PRIVATE_KEY", "ACCESS_KEY", "PASSWORD", "PASSWD", "TOKEN"];
    // Markers in tokenized text, not credentials: `STOP_TOKEN`.
    const MARKS: [&str; 7] = ["STOP", "START", "END", "BOS", "EOS", "SEP", "PAD"];
    let upper = name.to_ascii_uppercase();
    let word = |last: &str| matches!(upper.strip_suffix(last), Some(rest) if rest.is_empty() || rest.ends_with('_'));
    LAST.into_iter().any(word) && !upper.split('_').any(|part| MARKS.contains(&part))
}

/// Whether a header, a parameter or a member with this name carries a credential: `api_key`, `access-token`, `accessToken`,
/// `X-Amz-Signature`.
pub fn names_credential(name: &str) -> bool {
    let mut words = String::new();
    let mut lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && lower {
            words.push('_');
        }
        lower = letter.is_ascii_lowercase();
        words.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' });
    }
    let last = words.rsplit('_').next().unwrap_or_default();
    is_credential(&words) || WORDS.contains(&last)
}

/// Whether a header carries a credential.
pub fn is_header(name: &str) -> bool {
    HEADERS.contains(&name.to_ascii_lowercase().as_str()) || names_credential(name)
}

/// Whether a text in an HTTP tool's arguments is a credential. `path` leads to it.
pub fn is_position(path: &[&str]) -> bool {
    match path {
        ["auth", rest @ ..] => !rest.is_empty() && !rest.iter().any(|name| OF_AUTH.contains(name)),
        ["headers", name, ..] => is_header(name),
        ["params" | "body" | "query", rest @ ..] => rest.iter().any(|name| names_credential(name)),
        _ => false,
    }
}

/// A part of an address.
pub enum UrlPart<'p, V> {
    /// Known text.
    Text(&'p str),
    /// A value.
    Value(V),
}

/// The values in an address that are credentials: a user, a password, and parameters whose names say so.
pub fn in_address<'p, V>(parts: impl IntoIterator<Item = UrlPart<'p, V>>) -> Vec<V> {
    let (mut before, mut found, mut in_host) = (String::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            UrlPart::Text(text) => {
                let authority = text.find(['/', '?', '#']).and_then(|end| text.get(..end)).unwrap_or(text);
                if authority.contains('@') {
                    found.append(&mut in_host);
                }
                before.push_str(text);
                if path_of(&before).is_some() {
                    in_host.clear();
                }
            }
            UrlPart::Value(value) => match path_of(&before) {
                None => in_host.push(value),
                Some(rest) if ends_in_credential(rest) => found.push(value),
                Some(_) => {}
            },
        }
    }
    found
}

/// Whether what follows the host ends inside a parameter whose name says that it is a credential.
fn ends_in_credential(rest: &str) -> bool {
    if !rest.contains(['?', '#']) {
        return false;
    }
    let last = rest.rsplit(['?', '&', '#']).next().unwrap_or_default();
    matches!(last.split_once('='), Some((name, _)) if names_credential(name))
}

/// What follows the host in the start of an address, if it has come that far.
fn path_of(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let end = rest.find(['/', '?', '#'])?;
    rest.get(end..)
}

/// The holes in the arguments of a tool that are sent as credentials.
pub fn in_arguments<'v>(kind: &'v ToolKind, arguments: &'v Value) -> Vec<&'v Hole> {
    let mut found = Vec::new();
    match kind {
        ToolKind::Http => in_members(arguments, &mut Vec::new(), &mut found),
        ToolKind::Mcp { headers, .. } => {
            for (name, text) in headers {
                if is_header(name) {
                    holes(text, &mut found);
                }
            }
        }
        ToolKind::Local | ToolKind::Python => {}
    }
    found
}

fn in_members<'v>(value: &'v Value, path: &mut Vec<&'v str>, found: &mut Vec<&'v Hole>) {
    match value {
        Value::Masked(_) if is_position(path) => holes(value, found),
        Value::Object(members) => {
            for (name, member) in members.iter() {
                path.push(name);
                in_members(member, path, found);
                path.pop();
            }
        }
        Value::List(items) => items.iter().for_each(|item| in_members(item, path, found)),
        Value::Masked(masked) if *path == ["url"] => {
            let parts = masked.pieces.iter().map(|piece| match piece {
                MaskedPiece::Text(text) => UrlPart::Text(text),
                MaskedPiece::Hole(hole) => UrlPart::Value(hole),
            });
            found.extend(in_address(parts));
        }
        _ => {}
    }
}

/// The holes in a text.
fn holes<'v>(text: &'v Value, found: &mut Vec<&'v Hole>) {
    let Value::Masked(masked) = text else { return };
    for piece in masked.pieces.iter() {
        if let MaskedPiece::Hole(hole) = piece {
            found.push(hole);
        }
    }
}
