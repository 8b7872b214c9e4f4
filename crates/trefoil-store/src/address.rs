//! The addresses of servers, and how they are shown: without their passwords.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// How the address of a server begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The variable of the environment that has a password, as other clients of Postgres know it.
const PASSWORD: &str = "PGPASSWORD";

/// The address of a server. It may have a password, which nobody sees: it is shown without.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    url: String,
    password: Option<String>,
}

impl Address {
    /// Of what a person wrote, if it is one. `env` reads a variable of the environment.
    pub(crate) fn parse(text: &str, env: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let url = SCHEMES.iter().any(|scheme| text.starts_with(scheme)).then(|| text.to_owned())?;
        let password = env(PASSWORD).and_then(|password| password.into_string().ok());
        Some(Self { url, password })
    }

    /// As it was written, with a password that may be in it: for whoever connects.
    #[cfg(feature = "postgres")]
    pub(crate) fn secret(&self) -> &str {
        &self.url
    }

    /// The password of the environment.
    #[cfg(feature = "postgres")]
    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// For errors, which name a store by its path.
    pub fn path(&self) -> PathBuf {
        self.to_string().into()
    }
}

/// Without a password: neither that of the user nor one among the parameters.
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

/// A word of a command line without the password of an address that may be in it: `--store=postgres://me@host/runs`.
pub fn without_password(word: &str) -> String {
    let at = SCHEMES.iter().filter_map(|scheme| word.find(scheme)).min();
    match at.and_then(|at| word.split_at_checked(at)) {
        Some((before, address)) => format!("{before}{}", unseen(address)),
        None => word.to_owned(),
    }
}

fn unseen(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("postgres", address));
    // A password that is not encoded as it should be may have any character: all up to the last `@` counts.
    let (user, rest) = rest.rsplit_once('@').map_or(("", rest), |(of_user, rest)| {
        let user = of_user.split_once(':').map_or(of_user, |(user, _)| user);
        (user, rest)
    });
    let at = if user.is_empty() { "" } else { "@" };
    let (place, parameters) = rest.split_once('?').map_or((rest, None), |(place, all)| (place, Some(all)));
    // Names of parameters may be encoded, too.
    let shown = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
        !name.contains("password") && !name.contains('%')
    };
    let parameters: Vec<&str> = parameters.into_iter().flat_map(|all| all.split('&')).filter(shown).collect();
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{at}{place}{mark}{}", parameters.join("&"))
}
