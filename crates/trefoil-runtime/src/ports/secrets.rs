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
        if text.is_empty() { None } else { Some(Self(text.into())) }
    }

    /// The value of an environment variable, which may be empty.
    pub fn of_environment(text: &str) -> Self {
        Self(text.into())
    }

    /// The value itself, for the one place that needs it.
    pub fn expose_value(&self) -> &str {
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
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Adds a secret.
    #[must_use]
    pub fn with_secret(mut self, name: &str, value: &str) -> Self {
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
        Some(Secret::of_environment(map.get(name)?))
    }
}

/// The process's environment, and the variables of `env_file`s that it does not set.
#[derive(Clone, Default)]
pub struct EnvSecrets {
    overlay: BTreeMap<String, String>,
    /// Lines that set nothing: the name that is probably meant, and what is wrong.
    unread: Vec<(String, String)>,
}

impl EnvSecrets {
    /// The environment alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the variables in the text of an `env_file`. Later files and lines override earlier ones. `name` is for messages.
    #[must_use]
    pub fn with_env_file(mut self, name: &str, text: &str) -> Self {
        let file = EnvFile::from_text(text);
        self.overlay.extend(file.values);
        for line in file.unread {
            let what = line.describe_fault(name);
            self.unread.push((line.meant, what));
        }
        self
    }
}

impl Secrets for EnvSecrets {
    #[allow(clippy::disallowed_methods, reason = "this is the secrets port")]
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret> {
        match kind {
            HoleKind::Env => match std::env::var(name) {
                Ok(text) => Some(Secret::of_environment(&text)),
                Err(_) => Some(Secret::of_environment(self.overlay.get(name)?)),
            },
            // There is no secret store.
            HoleKind::Secret => None,
        }
    }

    fn find_problem(&self, kind: HoleKind, name: &str) -> Option<String> {
        if kind != HoleKind::Env {
            return None;
        }
        let (_, what) = self.unread.iter().find(|(meant, _)| meant == name)?;
        if self.get(kind, name).is_none() { Some(what.clone()) } else { None }
    }
}

/// What an `env_file` has: `KEY=VALUE` lines and `#` comments. A quoted value ends at the same quote, an unquoted one before
/// whitespace and `#`. A value does not go on in the next line.
#[derive(Default)]
pub struct EnvFile {
    /// The variables, in order.
    pub values: Vec<(String, String)>,
    /// The lines that set nothing, although they are not empty.
    pub unread: Vec<UnreadLine>,
}

/// A line of an `env_file` that sets nothing. Contains no value.
pub struct UnreadLine {
    /// Its number, from 1.
    pub number: usize,
    /// Whether it is the start of a quoted value without an end, instead of no `KEY=VALUE`.
    pub is_open: bool,
    /// The name of the variable that was probably meant; may be empty.
    meant: String,
}

impl UnreadLine {
    /// What is wrong with it. `name` is that of the file.
    pub fn describe_fault(&self, name: &str) -> String {
        let number = self.number;
        match self.is_open {
            true => format!("`{name}:{number}` has a quote without an end"),
            false => format!("`{name}:{number}` is not `NAME=value` and was skipped"),
        }
    }
}

impl EnvFile {
    /// Reads a text.
    pub fn from_text(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut file = Self::default();
        // A carriage return alone ends a line, too.
        let lines = text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'));
        for (index, written) in lines.enumerate() {
            match line(written) {
                EnvLine::Nothing => {}
                EnvLine::Value(name, value) => file.values.push((name, value)),
                EnvLine::Open(meant) => file.unread.push(UnreadLine { number: index + 1, is_open: true, meant }),
                EnvLine::Other(meant) => file.unread.push(UnreadLine { number: index + 1, is_open: false, meant }),
            }
        }
        file
    }
}

enum EnvLine {
    /// Blank, or a comment.
    Nothing,
    Value(String, String),
    /// A quoted value without an end, of the variable with this name.
    Open(String),
    /// Anything else, with the name that is probably meant.
    Other(String),
}

fn line(line: &str) -> EnvLine {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return EnvLine::Nothing;
    }
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let Some((key, value)) = line.split_once('=') else { return EnvLine::Other(String::new()) };
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) || !key.chars().all(name) {
        // `export NAME`, `MY-NAME`
        let last = key.split_whitespace().next_back().unwrap_or_default();
        return EnvLine::Other(last.chars().map(|c| if name(c) { c } else { '_' }).collect());
    }
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => match value.get(1..).and_then(|inner| inner.split_once(quote)) {
            Some((value, _)) => value,
            None => return EnvLine::Open(key.to_owned()),
        },
        Some('#') => "",
        _ => {
            let comment = value
                .char_indices()
                .zip(value.chars().skip(1))
                .find(|((_, c), next)| c.is_whitespace() && *next == '#');
            comment.and_then(|((at, _), _)| value.get(..at)).unwrap_or(value).trim_end()
        }
    };
    EnvLine::Value(key.to_owned(), value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let file = EnvFile::from_text(text);
        (file.values, file.unread.iter().map(|line| line.describe_fault("s.env")).collect())
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn env_files_are_read_line_by_line() {
        let text = "A=1\n# B=2\n C = two words # gone \n\nE='x # y' z\nG=a#b\nI=\nJ=# none\nK=it's\n";
        let expected =
            [("A", "1"), ("C", "two words"), ("E", "x # y"), ("G", "a#b"), ("I", ""), ("J", ""), ("K", "it's")];
        assert_eq!(read(text), (pairs(&expected), Vec::new()));
    }

    #[test]
    fn a_byte_order_mark_and_every_line_end_are_no_part_of_a_name_or_value() {
        let expected = (pairs(&[("A", "1"), ("B", "2"), ("C", "3")]), Vec::new());
        for text in ["A=1\nB=2\nC=3", "\u{feff}A=1\nB=2\nC=3\n", "A=1\r\nB=2\r\nC=3\r\n", "A=1\rB=2\rC=3\r"] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_that_set_nothing_are_named() {
        let text = "export D=4\nMY-NAME=5\n1H=no\njust words\nF=\"open\nG=g\nKEY='-----BEGIN\nMIIB\n-----END'\n";
        let (values, unread) = read(text);
        assert_eq!(values, pairs(&[("G", "g")]), "no part of a value is taken for the whole");
        expect_test::expect![[r#"
            `s.env:1` is not `NAME=value` and was skipped
            `s.env:2` is not `NAME=value` and was skipped
            `s.env:3` is not `NAME=value` and was skipped
            `s.env:4` is not `NAME=value` and was skipped
            `s.env:5` has a quote without an end
            `s.env:7` has a quote without an end
            `s.env:8` is not `NAME=value` and was skipped
            `s.env:9` is not `NAME=value` and was skipped"#]]
        .assert_eq(&unread.join("\n"));
        let secrets = EnvSecrets::new().with_env_file("s.env", text);
        let problem = |name: &str| secrets.find_problem(HoleKind::Env, name);
        assert_eq!(problem("D").as_deref(), Some("`s.env:1` is not `NAME=value` and was skipped"));
        assert_eq!(problem("MY_NAME").as_deref(), Some("`s.env:2` is not `NAME=value` and was skipped"));
        assert_eq!(problem("KEY").as_deref(), Some("`s.env:7` has a quote without an end"));
        assert_eq!((problem("G"), problem("Z")), (None, None));
    }
}
