//! Finds text that looks like a placeholder. It runs on every text of every manifest, so it takes a single pass over
//! the bytes, whatever they are.

use std::ops::Range;

use trefoil_front::names::{in_path, is_path};

/// Something that looks like a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceholderLookalike<'t> {
    /// Its span.
    pub range: Range<usize>,
    /// Its form.
    pub form: LookalikeForm<'t>,
}

/// The forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookalikeForm<'t> {
    /// A placeholder with this path.
    Placeholder(&'t str),
    /// A block of another language around this path.
    Statement(&'t str),
    /// `{#if topic}`: the start of a block that lacks a brace.
    BlockStart,
    /// `{/if}`: the end of a block that lacks a brace.
    BlockEnd,
    /// A third brace after a placeholder.
    Brace,
    /// `== x` after `{{#if topic}}`.
    Comparison,
    /// `{# words #}`: a comment of another language.
    Comment,
}

/// The brackets of placeholders in other languages; the first match is used.
const BRACKETS: [(&str, &str); 12] = [
    ("{%", "%}"),
    ("{ {", "} }"),
    ("${", "}"),
    ("#{", "}"),
    ("{$", "}"),
    ("%(", ")s"),
    ("<%=", "%>"),
    ("<<", ">>"),
    ("<", ">"),
    ("((", "))"),
    ("[[", "]]"),
    ("{", "}"),
];

/// The maximum length of a placeholder in bytes.
const LONGEST: usize = 200;

/// Searches the text outside its tags. `is_there` says whether a path names something.
pub fn find_lookalikes<'t>(text: &'t str, is_there: &dyn Fn(&str) -> bool) -> Vec<PlaceholderLookalike<'t>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    // The number of open braces in the text itself.
    let mut depth = 0usize;
    // A tag that is not closed (reported separately) may end anywhere.
    let mut unclosed = false;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(next) = rest.iter().position(|byte| begins_something(*byte)) else { return found };
        at += next;
        let rest = bytes.get(at..).unwrap_or_default();
        if let Some(inner) = rest.strip_prefix(b"{{") {
            // Search only up to the next tag, so that a text with many open tags takes linear time.
            let end = match inner.windows(2).position(|pair| matches!(pair, b"{{" | b"}}")) {
                Some(end) if inner.get(end) == Some(&b'}') => end,
                _ => {
                    unclosed = true;
                    at += 2;
                    continue;
                }
            };
            let tag = text.get(at + 2..at + 2 + end).unwrap_or_default();
            at += end + 4;
            let after = text.get(at..).unwrap_or_default();
            if tag.starts_with('{') && after.starts_with('}') {
                // Three braces are also a tag.
                at += 1;
                continue;
            }
            let third = depth == 0 && !unclosed && !tag.starts_with(['{', '#', '/']);
            if third && after.starts_with('}') && !after.starts_with("}}") {
                found.push(PlaceholderLookalike { range: at..at + 1, form: LookalikeForm::Brace });
                at += 1;
                continue;
            }
            if tag.trim_start().starts_with("#if ") {
                found.extend(comparison(text, at));
            }
        } else if let Some(one) = comment(text, at)
            .or_else(|| bracketed(text, at, is_there))
            .or_else(|| block(text, at))
            .or_else(|| variable(text, at, is_there))
        {
            at = one.range.end;
            found.push(one);
        } else if rest.starts_with(b"}}") && depth == 0 && !unclosed {
            found.extend(closed_only(text, at, is_there));
            at += 2;
        } else {
            depth = match rest.first() {
                Some(b'{') => depth + 1,
                Some(b'}') => depth.saturating_sub(1),
                _ => depth,
            };
            at += 1;
        }
    }
}

/// Whether a byte can start one of the forms.
fn begins_something(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'$' | b'#' | b'<' | b'[' | b'%' | b'(')
}

fn bracketed<'t>(text: &'t str, at: usize, is_there: &dyn Fn(&str) -> bool) -> Option<PlaceholderLookalike<'t>> {
    BRACKETS.iter().find_map(|brackets| in_brackets(text, at, *brackets, is_there))
}

fn in_brackets<'t>(
    text: &'t str,
    at: usize,
    (left, right): (&str, &str),
    is_there: &dyn Fn(&str) -> bool,
) -> Option<PlaceholderLookalike<'t>> {
    let rest = text.get(at..)?;
    let inner = nearby(rest.strip_prefix(left)?);
    let inner = inner.get(..inner.find(right)?)?;
    let mut end = at + left.len() + inner.len() + right.len();
    if left == "{%" {
        let path = inner.split_whitespace().find(|word| is_path(word) && is_there(word))?;
        return Some(PlaceholderLookalike { range: at..end, form: LookalikeForm::Statement(path) });
    }
    let inner = inner.trim();
    let (path, filter) = match inner.split_once('|') {
        Some((path, filter)) => (path.trim_end(), Some(filter)),
        None => (inner, None),
    };
    if !is_path(path) || !is_there(path) {
        return None;
    }
    // A single word in these brackets is a markup tag; a value that consists of it is checked separately.
    let closed = || rest.contains(&format!("</{path}>"));
    if left == "<" && (!path.contains('.') || text.trim().len() == end - at || closed()) {
        return None;
    }
    if let Some(filter) = filter
        && !filter.trim().trim_start_matches("json_or_").starts_with("default(")
    {
        return None;
    }
    // `{topic}}`: one brace is missing.
    if right == "}" && text.get(end..).unwrap_or_default().starts_with('}') {
        end += 1;
    }
    let whole = if filter.is_some() { inner } else { path };
    Some(PlaceholderLookalike { range: at..end, form: LookalikeForm::Placeholder(whole) })
}

/// `$writer.draft`. A single word would be a shell variable.
fn variable<'t>(text: &'t str, at: usize, is_there: &dyn Fn(&str) -> bool) -> Option<PlaceholderLookalike<'t>> {
    let rest = text.get(at..)?.strip_prefix('$')?;
    let end = rest.find(|c: char| !in_path(c)).unwrap_or(rest.len());
    let path = rest.get(..end)?.trim_end_matches(['.', '-']);
    if !path.contains('.') || path.len() > LONGEST || !is_path(path) || !is_there(path) {
        return None;
    }
    Some(PlaceholderLookalike { range: at..at + 1 + path.len(), form: LookalikeForm::Placeholder(path) })
}

/// `{#if topic}`, `{/if}`.
fn block(text: &str, at: usize) -> Option<PlaceholderLookalike<'_>> {
    let rest = text.get(at..)?;
    if let Some(inner) = rest.strip_prefix("{#if ") {
        let (test, after) = nearby(inner).split_once('}')?;
        if test.contains(['{', '\n']) {
            return None;
        }
        let braces = if after.starts_with('}') { 2 } else { 1 };
        return Some(PlaceholderLookalike { range: at..at + 5 + test.len() + braces, form: LookalikeForm::BlockStart });
    }
    let end = if rest.strip_prefix("{/if}")?.starts_with('}') { 6 } else { 5 };
    Some(PlaceholderLookalike { range: at..at + end, form: LookalikeForm::BlockEnd })
}

/// `{# words #}`.
fn comment(text: &str, at: usize) -> Option<PlaceholderLookalike<'_>> {
    let inner = nearby(text.get(at..)?.strip_prefix("{#")?);
    let inner = inner.get(..inner.find("#}")?)?;
    if !inner.contains(char::is_alphabetic) || inner.contains(['{', '}']) {
        return None;
    }
    Some(PlaceholderLookalike { range: at..at + inner.len() + 4, form: LookalikeForm::Comment })
}

/// `topic}}` without the opening braces.
fn closed_only<'t>(text: &'t str, at: usize, is_there: &dyn Fn(&str) -> bool) -> Option<PlaceholderLookalike<'t>> {
    let before = text.get(..at)?.trim_end_matches(' ');
    let start = before.trim_end_matches(in_path).len();
    let path = before.get(start..)?;
    if !is_path(path) || !is_there(path) {
        return None;
    }
    Some(PlaceholderLookalike { range: start..at + 2, form: LookalikeForm::Placeholder(path) })
}

/// A comparison after the tag that should contain it.
fn comparison(text: &str, at: usize) -> Option<PlaceholderLookalike<'_>> {
    let rest = text.get(at..)?;
    let compared = rest.trim_start_matches(' ');
    let start = at + (rest.len() - compared.len());
    let behind = compared.strip_prefix("==").or_else(|| compared.strip_prefix("!="))?;
    if !behind.starts_with([' ', '\'', '"']) {
        return None;
    }
    Some(PlaceholderLookalike { range: start..start + 2, form: LookalikeForm::Comparison })
}

/// The longest prefix of a text that a placeholder can have.
fn nearby(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{LookalikeForm, PlaceholderLookalike, find_lookalikes};

    fn all(text: &str) -> Vec<(&str, LookalikeForm<'_>)> {
        let named = |path: &str| matches!(path, "topic" | "writer.draft");
        let found: Vec<PlaceholderLookalike<'_>> = find_lookalikes(text, &named);
        found.into_iter().map(|l| (&text[l.range], l.form)).collect()
    }

    #[test]
    fn what_names_something_in_other_brackets_is_found() {
        for whole in [
            "{topic}",
            "{ topic }",
            "{topic}}",
            "${topic}",
            "#{topic}",
            "<%= topic %>",
            "[[topic]]",
            "<<topic>>",
            "%(topic)s",
            "{$topic}",
            "{ {topic} }",
            "topic}}",
        ] {
            assert_eq!(all(&format!("About {whole}, é.")), [(whole, LookalikeForm::Placeholder("topic"))], "{whole}");
        }
        for whole in ["{topic | default('x')}", "${ topic|json_or_default('[]') }"] {
            let inner = whole.trim_start_matches('$').trim_matches(['{', '}']).trim();
            assert_eq!(all(whole), [(whole, LookalikeForm::Placeholder(inner))], "{whole}");
        }
        assert_eq!(all("About $writer.draft."), [("$writer.draft", LookalikeForm::Placeholder("writer.draft"))]);
        assert_eq!(all("{% if topic %}x{% endif %}"), [("{% if topic %}", LookalikeForm::Statement("topic"))]);
        assert_eq!(all("a {# short #} b"), [("{# short #}", LookalikeForm::Comment)]);
        assert_eq!(all("{{#if x}}a{/if}"), [("{/if}", LookalikeForm::BlockEnd)]);
        assert_eq!(all("{#if topic == 'a'}}a"), [("{#if topic == 'a'}}", LookalikeForm::BlockStart)]);
        assert_eq!(all("{{#if topic}} == 'a'"), [("==", LookalikeForm::Comparison)]);
        assert_eq!(all("é writer.draft }}"), [("writer.draft }}", LookalikeForm::Placeholder("writer.draft"))]);
    }

    #[test]
    fn other_braces_are_text() {
        for text in [
            "{other} ${HOME} {} { } {\"topic\": 1} [topic] <topic>",
            "{{topic}} {{ writer.draft }} {{#if topic}}==={{/if}} {{#if topic}}= x{{/if}}",
            r#"{"a": {"b": topic}}"#,
            "unclosed { topic, [[ topic, ${topic",
            "a }} b }}",
            "$topic $5.00 {topic | upper} {topic|other}",
            "{{#if {{x}} == topic}}",
            "{#} {##} {#1#} {# open",
        ] {
            assert_eq!(all(text), [], "{text}");
        }
    }
}
