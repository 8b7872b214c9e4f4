//! What fills holes: maps, the process's environment, `.env` files.

use std::collections::BTreeMap;

use trefoil_template::HoleKind;

use super::Secrets;

/// Two maps: environment and secret store.
#[derive(Clone, Default)]
pub struct MapSecrets {
    /// `env.NAME`.
    pub env: BTreeMap<String, String>,
    /// `secrets.NAME`.
    pub secrets: BTreeMap<String, String>,
}

impl MapSecrets {
    /// With nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With one more secret.
    #[must_use]
    pub fn secret(mut self, name: &str, value: &str) -> Self {
        self.secrets.insert(name.to_owned(), value.to_owned());
        self
    }
}

impl Secrets for MapSecrets {
    fn get(&self, kind: HoleKind, name: &str) -> Option<String> {
        let map = match kind {
            HoleKind::Env => &self.env,
            HoleKind::Secret => &self.secrets,
        };
        map.get(name).cloned()
    }
}

/// The process's environment, with variables beneath it that an `env_file` sets where the environment does not.
#[derive(Clone, Default)]
pub struct EnvSecrets {
    overlay: BTreeMap<String, String>,
}

impl EnvSecrets {
    /// The environment alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the variables of an `env_file`'s text beneath it. The first of two files, and the first of two lines, loses.
    #[must_use]
    pub fn with_env_file(mut self, text: &str) -> Self {
        self.overlay.extend(env_file(text));
        self
    }
}

impl Secrets for EnvSecrets {
    #[allow(clippy::disallowed_methods, reason = "this is the secrets port")]
    fn get(&self, kind: HoleKind, name: &str) -> Option<String> {
        match kind {
            HoleKind::Env => std::env::var(name).ok().or_else(|| self.overlay.get(name).cloned()),
            // There is no secret store.
            HoleKind::Secret => None,
        }
    }
}

/// The variables of an `env_file`: `KEY=VALUE` lines, `#` comments; a quoted value runs to the same quote, an unquoted one
/// to white space and `#`. What is not such a line is passed over.
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
