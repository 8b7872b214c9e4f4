//! Ids, state keys and the `id@version` form of references.

/// The default state key for the output of an agent with this id: a `-` and the lower-case letter after it become the
/// upper-case letter.
pub fn state_key(id: &str) -> String {
    let mut key = String::with_capacity(id.len());
    let mut letters = id.chars().peekable();
    while let Some(c) = letters.next() {
        match letters.peek() {
            Some(next) if c == '-' && next.is_ascii_lowercase() => {
                key.push(next.to_ascii_uppercase());
                letters.next();
            }
            _ => key.push(c),
        }
    }
    key
}

/// `id`, or `id@version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentRef<'t> {
    /// The agent's id.
    pub id: &'t str,
    /// `latest`, an alias or a time stamp.
    pub version: Option<&'t str>,
}

impl<'t> AgentRef<'t> {
    /// Parses a reference; the error is a message.
    pub fn parse(text: &'t str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the reference is empty".to_owned());
        }
        if text.contains(char::is_whitespace) {
            return Err("a reference cannot contain spaces".to_owned());
        }
        match text.split_once('@') {
            None => Ok(Self { id: text, version: None }),
            Some(("", _)) => Err("the id before the `@` is missing".to_owned()),
            Some((_, v)) if v.contains('@') => Err("a reference can have only one `@`".to_owned()),
            Some((id, version)) => {
                check_version(version)?;
                Ok(Self { id, version: Some(version) })
            }
        }
    }
}

/// The id in a reference; the whole text, if it is not a valid reference.
pub fn referenced_id(text: &str) -> &str {
    match AgentRef::parse(text) {
        Ok(reference) => reference.id,
        Err(_) => text,
    }
}

/// Checks that a version is `latest`, an alias or a time stamp; the error says what it must be.
pub fn check_version(version: &str) -> Result<(), String> {
    let is_alias = version.starts_with(|c: char| c.is_ascii_alphanumeric())
        && version.len() <= 64
        && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if is_alias || is_time_stamp(version) {
        return Ok(());
    }
    Err(format!(
        "`{version}` is not `latest`, an alias that starts with a letter or digit, or a timestamp that ends in `Z`"
    ))
}

/// `2026-05-17T15:30:00.000Z`: checks the form, not the calendar.
fn is_time_stamp(text: &str) -> bool {
    let Some(body) = text.strip_suffix('Z') else { return false };
    let (seconds, fraction) = body.split_once('.').unwrap_or((body, "0"));
    let shape = "dddd-dd-ddTdd:dd:dd";
    if seconds.len() != shape.len() {
        return false;
    }
    for (letter, expected) in seconds.chars().zip(shape.chars()) {
        let fits = if expected == 'd' { letter.is_ascii_digit() } else { letter == expected };
        if !fits {
            return false;
        }
    }
    !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit())
}

/// `^[a-zA-Z_][a-zA-Z0-9_]*$`: valid names of tools.
pub fn is_tool_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// `^[a-z][a-z0-9-]*$`: valid names of skills.
pub fn is_skill_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphen_and_lower_case_letter_become_upper_case() {
        for (id, key) in [
            ("web-researcher", "webResearcher"),
            ("web-researcher-2", "webResearcher-2"),
            ("a--b", "a-B"),
            ("a-B", "a-B"),
            ("-a", "A"),
            ("a-", "a-"),
            ("child_validator", "child_validator"),
        ] {
            assert_eq!(state_key(id), key, "{id}");
        }
    }

    #[test]
    fn references() {
        let version = |t| AgentRef::parse(t).map(|r| r.version);
        assert_eq!(version("a"), Ok(None));
        assert_eq!(version("a@latest"), Ok(Some("latest")));
        assert_eq!(version("a@2026-05-17T15:30:00.000Z"), Ok(Some("2026-05-17T15:30:00.000Z")));
        for bad in ["", "a b", "@latest", "a@", "a@-bad", "a@b@c", "a@2026-05-17T15:30"] {
            assert!(AgentRef::parse(bad).is_err(), "{bad}");
        }
    }
}
