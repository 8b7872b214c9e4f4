//! Server addresses, and how to show them without their passwords.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// URL schemes of servers.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The environment variable with the password, as in other Postgres clients.
const PASSWORD: &str = "PGPASSWORD";

/// The address of a server. It may contain a password, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    url: String,
    password: Option<String>,
}

impl Address {
    /// Parses an address; `None` if the text is not one. `env` reads an environment variable.
    pub(crate) fn parse(text: &str, env: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let url = SCHEMES.iter().any(|scheme| text.starts_with(scheme)).then(|| text.to_owned())?;
        let password = env(PASSWORD).and_then(|password| password.into_string().ok());
        Some(Self { url, password })
    }

    /// The address as it was written, including any password, for connecting.
    #[cfg(feature = "postgres")]
    pub(crate) fn secret(&self) -> &str {
        &self.url
    }

    /// The password from the environment.
    #[cfg(feature = "postgres")]
    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The address as a path, because errors identify a store by its path.
    pub fn path(&self) -> PathBuf {
        self.to_string().into()
    }
}

/// Shown without passwords, neither the user's nor one in the parameters.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&unseen(&self.url))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// Removes the password from an address in a command-line word such as `--store=postgres://me@host/runs`.
pub fn without_password(word: &str) -> String {
    let at = SCHEMES.iter().filter_map(|scheme| word.find(scheme)).min();
    match at.and_then(|at| word.split_at_checked(at)) {
        Some((before, address)) => format!("{before}{}", unseen(address)),
        None => word.to_owned(),
    }
}

fn unseen(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("postgres", address));
    // A password that is not percent-encoded may contain any character, so everything up to the last `@` belongs to it.
    let (user, rest) = rest.rsplit_once('@').map_or(("", rest), |(of_user, rest)| {
        let user = of_user.split_once(':').map_or(of_user, |(user, _)| user);
        (user, rest)
    });
    let at = if user.is_empty() { "" } else { "@" };
    let (place, parameters) = rest.split_once('?').map_or((rest, None), |(place, all)| (place, Some(all)));
    // Parameter names may be percent-encoded, so those are hidden, too.
    let shown = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
        !name.contains("password") && !name.contains('%')
    };
    let parameters: Vec<&str> = parameters.into_iter().flat_map(|all| all.split('&')).filter(shown).collect();
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{at}{place}{mark}{}", parameters.join("&"))
}
