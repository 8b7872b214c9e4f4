//! Labels of runs: their limits, and how they are written.

/// The most labels of a run.
const COUNT: usize = 32;
/// The longest key, in characters.
const KEY: usize = 64;
/// The longest value, in characters.
const VALUE: usize = 256;
/// The start of the keys that are the engine's own: users see them, and cannot set them.
pub const RESERVED_LABEL: &str = "trefoil.";

/// What is wrong with a label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelFault {
    /// It has no key.
    #[error("`{text}` is not a label")]
    Form {
        /// The first characters of the text.
        text: String,
    },
    /// Its key is empty, too long, or has other characters.
    #[error("`{key}` is not a valid key of a label")]
    Key {
        /// The first characters of the key.
        key: String,
    },
    /// Its value is too long, or has a character that no store can keep.
    #[error("the value of the label `{key}` is invalid")]
    Value {
        /// The key.
        key: String,
    },
    /// Its key is one of the engine's own.
    #[error("the label `{key}` is reserved")]
    Reserved {
        /// The key.
        key: String,
    },
    /// Two labels have the same key.
    #[error("the label `{key}` is set twice")]
    Repeated {
        /// The key.
        key: String,
    },
    /// There are too many.
    #[error("{count} labels are more than the {COUNT} that a run may have")]
    Many {
        /// Their number.
        count: usize,
    },
}

impl LabelFault {
    /// How to fix it.
    pub fn help_text(&self) -> &'static str {
        match self {
            Self::Form { .. } => "write `KEY=VALUE`",
            Self::Key { .. } => "use 1 to 64 of the characters A to Z, a to z, 0 to 9, `_`, `.` and `-`",
            Self::Value { .. } => "use at most 256 characters, without NUL",
            Self::Reserved { .. } => "use a key that does not start with `trefoil.`",
            Self::Repeated { .. } => "set it once",
            Self::Many { .. } => "remove some",
        }
    }
}

/// Checks the labels of a new run against all limits.
///
/// # Errors
///
/// What is wrong with the first label that is invalid, or with all of them together.
pub fn check_labels(labels: &[(String, String)]) -> Result<(), LabelFault> {
    if labels.len() > COUNT {
        return Err(LabelFault::Many { count: labels.len() });
    }
    for (at, (key, value)) in labels.iter().enumerate() {
        if key.is_empty() || key.len() > KEY || !key.bytes().all(is_of_key) {
            return Err(LabelFault::Key { key: first_characters(key) });
        }
        if value.chars().count() > VALUE || value.contains('\0') {
            return Err(LabelFault::Value { key: key.clone() });
        }
        if labels.iter().take(at).any(|(earlier, _)| earlier == key) {
            return Err(LabelFault::Repeated { key: key.clone() });
        }
    }
    Ok(())
}

/// Checks labels that a user gives to a new run. The keys of the engine are not for users.
///
/// # Errors
///
/// As [`check_labels`], and [`LabelFault::Reserved`].
pub fn check_user_labels(labels: &[(String, String)]) -> Result<(), LabelFault> {
    check_labels(labels)?;
    for (key, _) in labels {
        if key.starts_with(RESERVED_LABEL) {
            return Err(LabelFault::Reserved { key: key.clone() });
        }
    }
    Ok(())
}

/// Parses a label in its text form, `KEY=VALUE`.
///
/// # Errors
///
/// [`LabelFault::Form`], or as [`check_labels`].
pub fn parse_label(text: &str) -> Result<(String, String), LabelFault> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(LabelFault::Form { text: first_characters(text) });
    };
    let label = (key.to_owned(), value.to_owned());
    check_labels(std::slice::from_ref(&label))?;
    Ok(label)
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

/// As much of a text as a message has room for.
fn first_characters(text: &str) -> String {
    text.chars().take(KEY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn limits_are_on_keys_values_and_their_number() {
        let (long, longer) = ("k".repeat(KEY), "k".repeat(KEY + 1));
        let (wide, wider) = ("\u{e9}".repeat(VALUE), "\u{e9}".repeat(VALUE + 1));
        for (text, found) in [
            ("who=Ada", Ok(label("who", "Ada"))),
            ("A-z_0.9=", Ok(label("A-z_0.9", ""))),
            ("a=b=c d\n", Ok(label("a", "b=c d\n"))),
            ("trefoil.key=x", Ok(label("trefoil.key", "x"))),
            (&format!("{long}={wide}"), Ok(label(&long, &wide))),
            ("who", Err(LabelFault::Form { text: "who".into() })),
            ("=Ada", Err(LabelFault::Key { key: String::new() })),
            ("w o=Ada", Err(LabelFault::Key { key: "w o".into() })),
            ("w\u{e9}=Ada", Err(LabelFault::Key { key: "w\u{e9}".into() })),
            (&format!("{longer}="), Err(LabelFault::Key { key: long.clone() })),
            (&format!("a={wider}"), Err(LabelFault::Value { key: "a".into() })),
            ("a=\0", Err(LabelFault::Value { key: "a".into() })),
        ] {
            assert_eq!(parse_label(text), found, "{text}");
        }
        let many: Vec<_> = (0..=COUNT).map(|n| label(&format!("k{n}"), "")).collect();
        assert_eq!(check_labels(&many), Err(LabelFault::Many { count: COUNT + 1 }));
        assert_eq!(check_labels(&many[1..]), Ok(()));
        let twice = [label("a", "1"), label("b", "1"), label("a", "2")];
        assert_eq!(check_labels(&twice), Err(LabelFault::Repeated { key: "a".into() }));
    }

    #[test]
    fn users_cannot_set_the_labels_of_the_engine() {
        assert_eq!(check_labels(&[label("trefoil.key", "k1")]), Ok(()));
        let reserved = LabelFault::Reserved { key: "trefoil.key".into() };
        assert_eq!(check_user_labels(&[label("a", ""), label("trefoil.key", "k1")]), Err(reserved));
        assert_eq!(check_user_labels(&[label("trefoil", ""), label("my.trefoil.key", "")]), Ok(()));
    }
}
