//! Server addresses, and how to show them without their passwords.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use crate::error::{StoreError, StoreResult};

/// URL schemes of servers, in lower case. Users may write them in any case.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Keys of libpq's connection parameters (`host=... password=...`) that nobody uses in the name of a file.
const PARAMETERS: [&str; 8] = ["host", "hostaddr", "port", "dbname", "user", "password", "service", "sslmode"];

/// The environment variable with the password, as in other Postgres clients.
const PASSWORD: &str = "PGPASSWORD";

/// The address of a server. It may contain a password, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    url: String,
    password: Option<String>,
}

impl ServerAddress {
    /// Parses an address; `None` if the text is the name of a file. `env` reads an environment variable.
    ///
    /// # Errors
    ///
    /// [`StoreError::Address`] if the text looks like another address: used as the name of a file, it would be shown and
    /// written to the disk with its password.
    pub(crate) fn parse(text: &str, env: impl Fn(&str) -> Option<OsString>) -> StoreResult<Option<Self>> {
        let Some(url) = url(text.trim()) else {
            return match unsupported(text.trim()) {
                Some(why) => Err(StoreError::Address { why }),
                None => Ok(None),
            };
        };
        let password = env(PASSWORD).and_then(|password| password.into_string().ok());
        Ok(Some(Self { url, password }))
    }

    /// The address as it was written, including any password, for connecting.
    #[cfg(feature = "postgres")]
    pub(crate) fn url_with_password(&self) -> &str {
        &self.url
    }

    /// The password from the environment.
    #[cfg(feature = "postgres")]
    pub(crate) fn environment_password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The address as a path, because errors identify a store by its path.
    pub fn display_path(&self) -> PathBuf {
        self.to_string().into()
    }
}

/// Shown without passwords, neither the user's nor one in the parameters.
impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hide_password(&self.url))
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// The address with its scheme in lower case, if it is one of a server.
fn url(text: &str) -> Option<String> {
    for scheme in SCHEMES {
        if let Some((start, rest)) = text.split_at_checked(scheme.len())
            && start.eq_ignore_ascii_case(scheme)
        {
            return Some(format!("{scheme}{rest}"));
        }
    }
    None
}

/// Why the text is neither the name of a file nor an address of a server. The reason quotes nothing that may be a
/// password.
fn unsupported(text: &str) -> Option<String> {
    if text.starts_with(['.', '/', '~', '\\']) {
        return None;
    }
    if let Some((word, rest)) = text.split_once(':') {
        let is_scheme = word.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        // One letter is a drive of Windows.
        if is_scheme && word.len() > 1 && rest.starts_with('/') {
            return Some(format!("it starts with `{word}:{}`", if rest.starts_with("//") { "//" } else { "/" }));
        }
    }
    let is_drive = |word: &str, rest: &str| word.len() == 1 && rest.starts_with(['/', '\\']);
    let has_password =
        matches!(text.split_once(':'), Some((word, rest)) if !is_drive(word, rest) && rest.contains('@'));
    if text.contains("://") || has_password || is_mistyped(text) {
        return Some("it does not start with `postgres://`".to_owned());
    }
    let mut pieces = text.split('=').peekable();
    while let (Some(piece), Some(_)) = (pieces.next(), pieces.peek()) {
        if let Some(key) = piece.split_whitespace().next_back()
            && PARAMETERS.contains(&key.to_ascii_lowercase().as_str())
        {
            return Some("it is a list of parameters".to_owned());
        }
    }
    None
}

/// Whether it starts like an address of a server, with a slip: `postgres//`, `postgres:`.
fn is_mistyped(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    for word in ["postgresql", "postgres"] {
        if let Some(rest) = lower.strip_prefix(word)
            && (rest.starts_with(':') || rest.starts_with("//"))
        {
            return true;
        }
    }
    false
}

/// Removes the password from an address in a command-line word such as `--store=postgres://me@host/runs`.
pub fn without_password(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let at = SCHEMES.iter().filter_map(|scheme| lower.find(scheme)).min();
    if let Some(at) = at
        && let Some((before, address)) = word.split_at_checked(at)
    {
        return format!("{before}{}", hide_password(address));
    }
    match word.split_once('=') {
        Some((option, value)) if word.starts_with("--") => {
            if unsupported(value).is_some() {
                format!("{option}=***")
            } else {
                word.to_owned()
            }
        }
        _ if unsupported(word).is_some() => "***".to_owned(),
        _ => word.to_owned(),
    }
}

fn hide_password(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("postgres", address));
    // A password that is not percent-encoded may contain any character, so everything up to the last `@` belongs to it.
    let (of_user, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
    let (user, _) = of_user.split_once(':').unwrap_or((of_user, ""));
    let at = if user.is_empty() { "" } else { "@" };
    // Without `@`, what follows the host is a port, or a password.
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (hosts, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok();
    let host = |host: &str| match host.rsplit_once(':') {
        Some((name, port)) if !is_port(port) && !host.ends_with(']') => {
            name.split(':').next().unwrap_or_default().to_owned()
        }
        _ => host.to_owned(),
    };
    let rest = format!("{}{after}", hosts.split(',').map(host).collect::<Vec<_>>().join(","));
    let mut pieces = rest.splitn(2, '?');
    let place = pieces.next().unwrap_or_default();
    let mut parameters: Vec<&str> = Vec::new();
    if let Some(all) = pieces.next() {
        for parameter in all.split('&') {
            // Parameter names may be percent-encoded, so those are hidden, too.
            let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
            if !name.contains("password") && !name.contains('%') {
                parameters.push(parameter);
            }
        }
    }
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{at}{place}{mark}{}", parameters.join("&"))
}
