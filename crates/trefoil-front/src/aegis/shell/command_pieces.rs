//! Splits a command line into text and placeholders. Only for texts that are valid templates.

use std::ops::Range;

/// A part of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandPiece {
    /// Text for the shell, with template escapes resolved.
    Text(String),
    /// `{{x}}`, `{{{x}}}`, `{{helper x}}`: its bytes.
    Value(Range<usize>),
    /// `{{#if x}}...{{/if}}` as a whole.
    Block {
        /// Its span.
        range: Range<usize>,
        /// The texts between its tags.
        inner: String,
    },
}

struct CommandTag {
    end: usize,
    sort: TagSort,
    trims: (bool, bool),
}

#[derive(PartialEq, Eq)]
enum TagSort {
    Value,
    Comment,
    Open,
    Close,
    /// `{{else}}` and `{{^}}`.
    Else,
}

/// Splits a command line.
pub fn split_command(text: &str) -> Vec<CommandPiece> {
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    let mut trim_next = false;
    while let Some((before, start, literal)) = next_tag(text, at) {
        push_text(&mut plain, &before, trim_next);
        trim_next = false;
        if literal {
            plain.push_str("{{");
            at = start + 2;
            continue;
        }
        let tag = tag(text, start);
        if tag.trims.0 {
            plain.truncate(plain.trim_end().len());
        }
        trim_next = tag.trims.1;
        at = tag.end;
        match tag.sort {
            TagSort::Comment | TagSort::Close | TagSort::Else => continue,
            TagSort::Value => {
                flush(&mut out, &mut plain);
                out.push(CommandPiece::Value(start..tag.end));
            }
            TagSort::Open => {
                flush(&mut out, &mut plain);
                let (end, inner, trims) = block(text, tag.end);
                trim_next = trims;
                at = end;
                out.push(CommandPiece::Block { range: start..end, inner });
            }
        }
    }
    push_text(&mut plain, text.get(at..).unwrap_or_default(), trim_next);
    flush(&mut out, &mut plain);
    out
}

fn push_text(plain: &mut String, text: &str, trim: bool) {
    plain.push_str(if trim { text.trim_start() } else { text });
}

fn flush(out: &mut Vec<CommandPiece>, plain: &mut String) {
    if !plain.is_empty() {
        out.push(CommandPiece::Text(std::mem::take(plain)));
    }
}

/// The text before the next `{{`, the offset of that tag, and whether a backslash makes it literal.
fn next_tag(text: &str, from: usize) -> Option<(String, usize, bool)> {
    let rest = text.get(from..)?;
    let found = rest.find("{{")?;
    let before = rest.get(..found)?;
    let start = from + found;
    Some(match before.strip_suffix('\\') {
        // Two backslashes are one literal backslash, so the tag is active.
        Some(less) if less.ends_with('\\') => (less.to_owned(), start, false),
        Some(less) => (less.to_owned(), start, true),
        None => (before.to_owned(), start, false),
    })
}

/// The tag that starts at the `{{` at `start`.
fn tag(text: &str, start: usize) -> CommandTag {
    let rest = text.get(start..).unwrap_or_default();
    let body = rest.trim_start_matches("{{");
    let left = body.starts_with('~');
    let body = body.trim_start_matches('~');
    if rest.get(2..).unwrap_or_default().trim_start_matches('~').starts_with('!') {
        let length = if body.starts_with("!--") { long_comment_length(rest) } else { comment_length(rest) };
        let end = start + length.unwrap_or(rest.len());
        let right = text.get(..end).unwrap_or_default().ends_with("~}}");
        return CommandTag { end, sort: TagSort::Comment, trims: (left, right) };
    }
    let triple = rest.starts_with("{{{");
    let end = start + closing(rest, if triple { "}}}" } else { "}}" });
    let inner = body.trim_start();
    let word = inner.split(|c: char| c.is_whitespace() || c == '}' || c == '~').next().unwrap_or_default();
    let sort = match inner.chars().next() {
        _ if triple => TagSort::Value,
        Some('#') => TagSort::Open,
        Some('^') if word == "^" => TagSort::Else,
        Some('^') => TagSort::Open,
        Some('/') => TagSort::Close,
        _ if word == "else" => TagSort::Else,
        _ => TagSort::Value,
    };
    let written = text.get(..end).unwrap_or_default();
    let right = written.ends_with("~}}") || written.ends_with("~}}}");
    CommandTag { end, sort, trims: (left, right) }
}

/// The number of bytes of `{{! ... }}`; `None`: it is not closed.
fn comment_length(tag: &str) -> Option<usize> {
    let content = tag.get(2..)?;
    Some(2 + content.find("}}")? + 2)
}

/// The number of bytes of `{{!-- ... --}}`; `None`: it is not closed.
fn long_comment_length(tag: &str) -> Option<usize> {
    let start = tag.find("!--")? + 3;
    let end = start + tag.get(start..)?.find("--")?;
    Some(end + tag.get(end..)?.find("}}")? + 2)
}

/// The number of bytes from the start of `rest` to the end of the closing braces. Braces in quotes do not count.
fn closing(rest: &str, braces: &str) -> usize {
    let mut quote: Option<char> = None;
    for (i, c) in rest.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if rest.get(i..).unwrap_or_default().starts_with(braces) => return i + braces.len(),
            None => {}
        }
    }
    rest.len()
}

/// From the end of an opening tag to the end of its closing tag: the end, the text between, and whether it trims
/// whitespace.
fn block(text: &str, from: usize) -> (usize, String, bool) {
    let mut depth = 1;
    let mut at = from;
    let mut inner = String::new();
    while let Some((before, start, literal)) = next_tag(text, at) {
        inner.push_str(&before);
        if literal {
            inner.push_str("{{");
            at = start + 2;
            continue;
        }
        let tag = tag(text, start);
        at = tag.end;
        match tag.sort {
            TagSort::Open => depth += 1,
            TagSort::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at, inner, tag.trims.1);
        }
    }
    (text.len(), inner, false)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::{CommandPiece, split_command};

    fn shown(text: &str) -> Vec<String> {
        split_command(text)
            .into_iter()
            .map(|p| match p {
                CommandPiece::Text(t) => format!("t:{t}"),
                CommandPiece::Value(r) => format!("v:{}", &text[r]),
                CommandPiece::Block { range, inner } => format!("b:{}|{inner}", &text[range]),
            })
            .collect()
    }

    #[test]
    fn placeholders_are_cut_out_whole() {
        let cases: &[(&str, &[&str])] = &[
            ("echo hi", &["t:echo hi"]),
            ("a {{x.y}} b", &["t:a ", "v:{{x.y}}", "t: b"]),
            ("{{{json x}}}!", &["v:{{{json x}}}", "t:!"]),
            ("{{x}}}", &["v:{{x}}", "t:}"]),
            ("{{default x \"}}\"}} b", &["v:{{default x \"}}\"}}", "t: b"]),
            (r"a \{{x}} b", &["t:a {{x}} b"]),
            (r"a \\{{x}}", &[r"t:a \", "v:{{x}}"]),
            ("a {{! no }}b{{!-- }} --}}c", &["t:a bc"]),
            ("a  {{~x~}}  b", &["t:a", "v:{{~x~}}", "t:b"]),
            ("{{#if a}}x{{else}}y{{/if}}z", &["b:{{#if a}}x{{else}}y{{/if}}|xy", "t:z"]),
            ("{{#if a}}{{#each b}}{{this}}{{/each}}{{/if}}", &["b:{{#if a}}{{#each b}}{{this}}{{/each}}{{/if}}|"]),
            ("{{^if a}}x{{/if}}", &["b:{{^if a}}x{{/if}}|x"]),
            ("awk '{print $1}'", &["t:awk '{print $1}'"]),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), *expected, "{text}");
        }
    }
}
