//! Detects comments after a plain value that were meant as part of the value: `prompt: Issue #4 is open`.
//!
//! Comments at the end of a line are common, so there must be evidence that the sentence continues. A comment with a
//! space after its `#` needs more evidence than one without.

/// Words that come before a number: `issue #4`, `ticket # 17`.
const NUMBERED: &[&str] = &[
    "issue",
    "issues",
    "ticket",
    "tickets",
    "order",
    "orders",
    "case",
    "cases",
    "bug",
    "bugs",
    "item",
    "items",
    "number",
    "room",
    "invoice",
    "pr",
    "rule",
    "step",
    "task",
    "request",
    "customer",
    "account",
    "question",
    "questions",
    "chapter",
    "section",
    "part",
    "page",
    "line",
    "version",
    "release",
];

/// Words that do not end a sentence.
const OPEN: &[&str] = &[
    "a", "an", "the", "and", "or", "of", "in", "on", "at", "to", "for", "with", "from", "by", "about", "as", "like",
    "into", "than", "that", "is", "are", "use", "using", "see", "your", "our", "their", "its", "this", "these",
    "called",
];

/// First words of comments that people write without a space.
const MARKS: &[&str] = &["todo", "fixme", "xxx", "hack", "note", "nosec", "noqa", "pragma", "yaml", "prettier"];

/// Whether a comment belongs to the value before it. `of_text`: the value is text, not a number or the like.
pub(super) fn is_cut(value: &str, comment: &str, of_text: bool) -> bool {
    let Some(rest) = comment.strip_prefix('#') else { return false };
    let first = match rest.chars().next() {
        // `#!` and `##` start comments as well.
        None | Some('#' | '!') => return false,
        Some(first) => first,
    };
    let apart = first.is_whitespace();
    // Nobody explains a text with a placeholder.
    if rest.contains("{{") && (of_text || !apart) {
        return !value.contains('\n');
    }
    if value.is_empty() {
        return !apart && is_tag(rest);
    }
    let rest = rest.trim_start();
    let words: Vec<&str> = value.split_whitespace().collect();
    let Some(last) = words.last() else { return false };
    if !of_text {
        return false;
    }
    let last = last.trim_start_matches(['(', '"', '\'', '`']).to_lowercase();
    let is = |list: &[&str]| list.contains(&&*last);
    if is(NUMBERED) && rest.starts_with(|c: char| c.is_ascii_digit() || c == '{') {
        return true;
    }
    let prose = words.len() >= 3;
    let ended = value.ends_with(['.', '!', '?', ';', ')']);
    if !ended && words.len() >= 2 && numbers_something(rest) {
        return true;
    }
    if prose && (is_closed_later(value, rest) || (is(OPEN) || last.ends_with(',')) && is_lower(rest)) {
        return true;
    }
    if apart {
        return false;
    }
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
    if first.is_ascii_digit() {
        return words.len() >= 2 || value.starts_with(char::is_uppercase);
    }
    // A hashtag.
    first.is_alphabetic() && !MARKS.contains(&&*word.to_lowercase()) && words.len() >= 2
}

/// Whether a comment may belong to the value before it, which is a single word: a number without a space, `support #2`.
pub(super) fn may_be_cut(comment: &str, of_text: bool) -> bool {
    let number = comment.strip_prefix('#').unwrap_or_default();
    of_text && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a comment is the whole value that a key lacks: a colour, a number, a channel.
fn is_tag(rest: &str) -> bool {
    let colour = matches!(rest.len(), 3 | 4 | 6 | 8) && rest.chars().all(|c| c.is_ascii_hexdigit());
    let name = rest.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    colour || name && rest.len() > 1 && !MARKS.contains(&&*rest.to_lowercase())
}

/// `3 of the list`, `1 and suggests`: a number, followed by the rest of a sentence.
fn numbers_something(text: &str) -> bool {
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let Some(rest) = after.strip_prefix([' ', ',', ';', ':', '.']) else { return false };
    let next = rest.split_whitespace().next().unwrap_or_default();
    after.len() < text.len() && OPEN.contains(&next)
}

/// Whether a text starts as in the middle of a sentence.
fn is_lower(text: &str) -> bool {
    text.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || c == '{')
}

/// Whether the value opens a bracket or a quotation that is closed only in the comment.
fn is_closed_later(value: &str, rest: &str) -> bool {
    let open = |a: char, b: char| value.matches(a).count() > value.matches(b).count();
    let closed = |a: char, b: char| rest.matches(b).count() > rest.matches(a).count();
    let odd = |text: &str| text.matches('"').count() % 2 == 1;
    open('(', ')') && closed('(', ')') || odd(value) && odd(rest)
}
