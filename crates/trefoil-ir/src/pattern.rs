//! Patterns with look-ahead at their start, as several patterns that each take linear time: `^(?!A)(?=B)C` matches a text if `^(?:A)`
//! does not match, and `^(?:B)` and `^C` do. Other look-around, and back-references, are not supported.

use std::borrow::Cow;

use regex::Regex;
use serde_json::{Map, Value as Json, json};

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct LinearPattern {
    written: String,
    required: Vec<Regex>,
    forbidden: Vec<Regex>,
}

impl LinearPattern {
    /// Compiles a pattern.
    pub fn new(written: &str) -> Result<Self, regex::Error> {
        let parts = SplitPattern::from_pattern(written);
        let compiled = |patterns: &[String]| patterns.iter().map(|part| Regex::new(part)).collect::<Result<_, _>>();
        Ok(Self {
            written: written.to_owned(),
            required: compiled(&parts.required)?,
            forbidden: compiled(&parts.forbidden)?,
        })
    }
    /// Whether a text matches.
    pub fn is_match(&self, text: &str) -> bool {
        self.required.iter().all(|part| part.is_match(text)) && !self.forbidden.iter().any(|part| part.is_match(text))
    }
    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

/// The parts of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitPattern {
    /// All of these must match. The last one is the pattern without the look-ahead.
    pub required: Vec<String>,
    /// None of these may match.
    pub forbidden: Vec<String>,
}

impl SplitPattern {
    /// The parts of a pattern; one that cannot be split has only itself.
    pub fn from_pattern(pattern: &str) -> Self {
        match split(pattern) {
            Some(parts) => parts,
            None => Self { required: vec![pattern.to_owned()], forbidden: Vec::new() },
        }
    }
    /// The pattern without the look-ahead.
    pub fn without_lookahead(&self) -> &str {
        self.required.last().map(String::as_str).unwrap_or_default()
    }
}

fn split(pattern: &str) -> Option<SplitPattern> {
    let (flags, body) = flags(pattern);
    let mut rest = body.strip_prefix('^')?;
    let (mut required, mut forbidden) = (Vec::new(), Vec::new());
    loop {
        let (inner, is_forbidden) = match (rest.strip_prefix("(?="), rest.strip_prefix("(?!")) {
            (Some(inner), _) => (inner, false),
            (None, Some(inner)) => (inner, true),
            (None, None) => break,
        };
        let (_, end, _) = PatternWalk::new(inner).find(|(depth, _, c)| *depth == 0 && *c == ')')?;
        let (inner, after) = (inner.get(..end)?, inner.get(end + 1..)?);
        // A repeated assertion is not one at the start.
        if after.starts_with(['*', '+', '?', '{']) {
            return None;
        }
        let all = if is_forbidden { &mut forbidden } else { &mut required };
        all.push(format!("{flags}^(?:{inner})"));
        rest = after;
    }
    // In `^(?!A)B|C`, the look-ahead does not concern `C`.
    let is_open = PatternWalk::new(rest).any(|(depth, _, c)| depth == 0 && c == '|');
    if is_open || required.is_empty() && forbidden.is_empty() {
        return None;
    }
    required.push(format!("{flags}^{rest}"));
    Some(SplitPattern { required, forbidden })
}

/// The flags for the whole pattern, and what follows. With other flags, `^` or spaces mean something else.
fn flags(pattern: &str) -> (&str, &str) {
    let Some(end) = pattern.strip_prefix("(?").and_then(|rest| rest.find(')')) else { return ("", pattern) };
    match pattern.split_at_checked(end + 3) {
        Some((flags, rest)) if flags.len() > 3 && flags.chars().skip(2).all(|c| matches!(c, 'i' | 's' | 'u' | ')')) => {
            (flags, rest)
        }
        _ => ("", pattern),
    }
}

/// The characters of a pattern that are no part of an escape or of a class, with their depth in groups and their offset. The sign that
/// closes a group has the depth of what follows it.
struct PatternWalk<'p> {
    chars: std::str::CharIndices<'p>,
    depth: usize,
}

impl<'p> PatternWalk<'p> {
    fn new(pattern: &'p str) -> Self {
        Self { chars: pattern.char_indices(), depth: 0 }
    }
    /// Skips a class after its `[`.
    fn class(&mut self) {
        let mut is_start = true;
        while let Some((_, c)) = self.chars.next() {
            match c {
                '\\' => drop(self.chars.next()),
                '^' if is_start => continue,
                ']' if !is_start => return,
                _ => {}
            }
            is_start = false;
        }
    }
}

impl Iterator for PatternWalk<'_> {
    type Item = (usize, usize, char);
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (at, c) = self.chars.next()?;
            match c {
                '\\' => drop(self.chars.next()),
                '[' => self.class(),
                '(' => {
                    self.depth += 1;
                    return Some((self.depth, at, c));
                }
                ')' if self.depth > 0 => {
                    self.depth -= 1;
                    // Not the sign that closes the part which is read.
                    return Some((self.depth + 1, at, c));
                }
                c => return Some((self.depth, at, c)),
            }
        }
    }
}

/// Keywords whose values are data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// A schema in which such patterns are split.
pub fn linear_schema(schema: &Json) -> Cow<'_, Json> {
    if !has_split(schema) {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    rewrite(&mut schema);
    Cow::Owned(schema)
}

fn has_split(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().any(|(key, value)| match value {
            Json::String(pattern) => key == "pattern" && split(pattern).is_some(),
            _ => !DATA.contains(&key.as_str()) && has_split(value),
        }),
        Json::Array(items) => items.iter().any(has_split),
        _ => false,
    }
}

fn rewrite(json: &mut Json) {
    match json {
        Json::Object(members) => {
            for (key, value) in members.iter_mut() {
                if !DATA.contains(&key.as_str()) {
                    rewrite(value);
                }
            }
            divide(members);
        }
        Json::Array(items) => {
            for item in items {
                rewrite(item);
            }
        }
        _ => {}
    }
}

/// Replaces the pattern of a schema by its parts.
fn divide(members: &mut Map<String, Json>) {
    let Some(Json::String(pattern)) = members.get("pattern") else { return };
    let Some(parts) = split(pattern) else { return };
    members.remove("pattern");
    let all = members.entry("allOf").or_insert_with(|| Json::Array(Vec::new()));
    if let Json::Array(all) = all {
        for pattern in parts.required {
            all.push(json!({ "pattern": pattern }));
        }
        for pattern in parts.forbidden {
            // Only texts have a pattern.
            all.push(json!({ "not": { "type": "string", "pattern": pattern } }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ahead_at_the_start_is_split() {
        let parts = SplitPattern::from_pattern(r"^(?!-)(?=[^)(]*a)(?!b|c\))[a-z-]{1,20}$");
        assert_eq!(parts.forbidden, ["^(?:-)", r"^(?:b|c\))"]);
        assert_eq!(parts.required, ["^(?:[^)(]*a)", "^[a-z-]{1,20}$"]);
        for whole in ["a", "^a|b", "^(?!a)b|c", "(?!a)b", "^a(?!b)", "^(?!a)*b", "(?m)^(?!a)b", "^(?!a"] {
            assert_eq!(SplitPattern::from_pattern(whole).required, [whole], "{whole}");
        }
    }

    #[test]
    fn split_patterns_have_the_verdicts_of_the_whole() {
        // Pattern, texts that match, texts that do not.
        let cases: [(&str, &[&str], &[&str]); 7] = [
            ("^(?!-)[a-z-]{1,20}$", &["a-b", "a"], &["-a", "", "A"]),
            ("^(?!.*--)[a-z-]+$", &["a-b-c"], &["a--b"]),
            ("^(?=.*[0-9])(?=.*[A-Z]).{4,}$", &["abC1"], &["abcd", "ab1c", "A1"]),
            ("^(?!admin$|root$)[a-z]+$", &["adminx", "user"], &["admin", "root"]),
            ("(?i)^(?!draft)(.*)$", &["final"], &["DRAFT 2", "draft"]),
            ("^(?!)a", &[], &["a"]),
            ("^(?!a)(b|c)", &["b", "cx"], &["a", "d"]),
        ];
        for (pattern, hold, fail) in cases {
            let compiled = LinearPattern::new(pattern).unwrap();
            let schema = linear_schema(&json!({ "properties": { "x": { "pattern": pattern } } })).into_owned();
            let validator =
                jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex()).build(&schema);
            let validator = validator.unwrap();
            for (text, holds) in hold.iter().map(|t| (t, true)).chain(fail.iter().map(|t| (t, false))) {
                assert_eq!(compiled.is_match(text), holds, "{pattern} {text}");
                assert_eq!(validator.is_valid(&json!({ "x": text })), holds, "{pattern} {text}");
            }
            // Only texts have a pattern.
            assert!(validator.is_valid(&json!({ "x": 5 })), "{pattern}");
        }
        for refused in ["^a(?!b)", "(?<!a)b", r"^(a)\1", "^(?!a(?!b))c"] {
            assert!(LinearPattern::new(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn data_in_a_schema_stays_as_it_is() {
        let schema = json!({ "const": { "pattern": "^(?!a)b" }, "enum": [{ "pattern": "^(?!a)b" }], "default": { "pattern": "^(?!a)b" } });
        assert_eq!(*linear_schema(&schema), schema);
        let both = json!({ "allOf": [{ "minLength": 1 }], "pattern": "^(?!a)b" });
        let expected = json!({ "allOf": [{ "minLength": 1 }, { "pattern": "^b" }, { "not": { "type": "string", "pattern": "^(?:a)" } }] });
        assert_eq!(*linear_schema(&both), expected);
    }
}
