//! Sources of values for holes: maps, the process's environment, `.env` files.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_template::HoleKind;

use super::Secrets;

/// The value of a secret or an environment variable. It cannot be printed by accident: `Debug` masks it, and it implements neither
/// `Display` nor serde.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// A secret. `None` if the text is empty.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The value of an environment variable, which may be empty.
    pub fn of_environment(text: &str) -> Self {
        Self(text.into())
    }

    /// The value itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Two maps: environment and secret store.
#[derive(Clone, Default)]
pub struct MapSecrets {
    /// `env.NAME`.
    pub env: BTreeMap<String, String>,
    /// `secrets.NAME`.
    pub secrets: BTreeMap<String, String>,
}

impl MapSecrets {
    /// Empty maps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Adds a secret.
    #[must_use]
    pub fn secret(mut self, name: &str, value: &str) -> Self {
        self.secrets.insert(name.to_owned(), value.to_owned());
        self
    }
}

impl Secrets for MapSecrets {
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret> {
        let map = match kind {
            HoleKind::Env => &self.env,
            HoleKind::Secret => &self.secrets,
        };
        map.get(name).map(|text| Secret::of_environment(text))
    }
}

/// The process's environment, and the variables of `env_file`s that it does not set.
#[derive(Clone, Default)]
pub struct EnvSecrets {
    overlay: BTreeMap<String, String>,
}

impl EnvSecrets {
    /// The environment alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the variables in the text of an `env_file`. Later files and lines override earlier ones.
    #[must_use]
    pub fn with_env_file(mut self, text: &str) -> Self {
        self.overlay.extend(env_file(text));
        self
    }
}

impl Secrets for EnvSecrets {
    #[allow(clippy::disallowed_methods, reason = "this is the secrets port")]
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret> {
        match kind {
            HoleKind::Env => {
                let own = std::env::var(name).ok().map(|text| Secret::of_environment(&text));
                own.or_else(|| self.overlay.get(name).map(|text| Secret::of_environment(text)))
            }
            // There is no secret store.
            HoleKind::Secret => None,
        }
    }
}

/// The variables of an `env_file`: `KEY=VALUE` lines and `#` comments. A quoted value ends at the same quote, an unquoted one
/// before whitespace and `#`. Other lines are skipped.
pub fn env_file(text: &str) -> Vec<(String, String)> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(String, String)> {
    let (key, value) = line.trim().split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) || !key.chars().all(name) {
        return None;
    }
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = value.get(1..)?;
            inner.split_once(quote).map_or(inner, |(value, _)| value)
        }
        Some('#') => "",
        _ => {
            let comment = value
                .char_indices()
                .zip(value.chars().skip(1))
                .find(|((_, c), next)| c.is_whitespace() && *next == '#');
            comment.and_then(|((at, _), _)| value.get(..at)).unwrap_or(value).trim_end()
        }
    };
    Some((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_files_are_read_line_by_line() {
        let text =
            "A=1\n# B=2\n C = two words # gone \nexport D=4\nE='x # y' z\nF=\"open\nG=a#b\n1H=no\nI=\nJ=# none\n";
        let read = env_file(text);
        let expect =
            [("A", "1"), ("C", "two words"), ("E", "x # y"), ("F", "open"), ("G", "a#b"), ("I", ""), ("J", "")];
        assert_eq!(read, expect.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }
}
