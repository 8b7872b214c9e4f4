//! Tags of agntz (`{{path}}`, `{{#if}}`) and SirenSpec (`{{ path | filter('text') }}`).

use std::ops::Range;

use crate::condition::literal::{self, BadLiteral};
use crate::expression::{ComparisonOperator, ConditionExpression};
use crate::path::{self, in_segment};
use crate::policy::{BlockSyntax, DialectWords, Policy};
use crate::template::builder::{BlockOpening, TemplateBuilder};
use crate::template::scanner::{TagEnd, end_of_quoted, find_close, find_open};
use crate::value::Value;

const NO_ESCAPE: &str = "a literal `{{` cannot be escaped here; pass such text in as a value";

/// Reads the whole source.
pub(crate) fn parse(b: &mut TemplateBuilder<'_>) {
    let mut at = 0;
    while let Some(open) = find_open(b.source, at).filter(|_| !b.too_deep()) {
        b.add_literal(at..open);
        at = if b.source.as_bytes().get(open + 2) == Some(&b'{') { triple(b, open) } else { tag(b, open) };
    }
    b.add_literal(at..b.source.len());
}

/// Reads the tag at `open` and returns its end.
fn tag(b: &mut TemplateBuilder<'_>, open: usize) -> usize {
    match find_close(b.source, open + 2, false) {
        TagEnd::At(close) => {
            inside(b, open..close + 2, trimmed_range(b.source, open + 2..close));
            close + 2
        }
        // A placeholder on another line is not part of the tag.
        TagEnd::Nested(inner)
            if b.source.as_bytes().get(open + 2) == Some(&b'#')
                && !b.source_slice(open..inner).contains(['\n', '}'])
                && !b.source_slice(inner + 2..b.source.len()).starts_with(['#', '/']) =>
        {
            nested(b, open, inner)
        }
        TagEnd::Nested(inner) => {
            report_unclosed(b, open, inner);
            inner
        }
        TagEnd::Never => {
            report_unclosed(b, open, b.source.len());
            b.source.len()
        }
    }
}

fn report_unclosed(b: &mut TemplateBuilder<'_>, open: usize, before: usize) {
    let line = b.source_slice(open..before).split('\n').next().unwrap_or_default().trim_end();
    let line = line.split_inclusive('}').next().unwrap_or(line);
    let tag = shorten(line);
    b.mistakes
        .add_mistake("template-unclosed", open..open + line.len().max(2), format!("`{tag}` has no closing `}}}}`"))
        .set_help(format!("end it with `}}}}`; {NO_ESCAPE}"));
    if let Some(closed) = with_closing_braces(line, |_| false) {
        b.mistakes.set_replacement(closed);
    }
    b.block_of_unclosed(open..open + line.len());
}

/// The tag with its missing closing braces added after its path, if nothing else can follow there.
pub(super) fn with_closing_braces(tag: &str, is_helper: fn(&str) -> bool) -> Option<String> {
    let inner = tag.strip_prefix("{{")?;
    let blank = inner.len() - inner.trim_start().len();
    let rest = inner.trim_start();
    let word =
        |text: &str| text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.')).unwrap_or(text.len());
    let mut end = word(rest);
    if is_helper(rest.get(..end)?) {
        // Its arguments belong to the tag.
        while let Some(next) = rest.get(end..).and_then(|t| t.strip_prefix(' ')).map(word).filter(|len| *len > 0) {
            end += 1 + next;
        }
    }
    let name = rest.get(..end)?.trim_end_matches(['.', '-']);
    let behind = rest.get(name.len()..)?;
    // One of the two braces may already be there.
    if let Some(after) = behind.trim_start().strip_prefix('}').filter(|_| !name.is_empty()) {
        let between = behind.get(..behind.len() - behind.trim_start().len())?;
        return Some(format!("{{{{{}{name}{between}}}}}{after}", " ".repeat(blank)));
    }
    if let Some(inner) = tag.strip_suffix('}').filter(|inner| !inner.ends_with('}') && !inner.contains(['"', '\''])) {
        return Some(format!("{inner}}}}}"));
    }
    if name.is_empty() || behind.trim_start().starts_with(['|', '(', '=', '!', '<', '>']) {
        return None;
    }
    Some(format!("{{{{{}{name}{}}}}}{behind}", " ".repeat(blank), " ".repeat(blank)))
}

/// `{{#if {{a}} == b}}`: the inner braces are the mistake; the block is still opened.
fn nested(b: &mut TemplateBuilder<'_>, open: usize, inner: usize) -> usize {
    let TagEnd::At(inner_end) = find_close(b.source, inner + 2, false) else {
        report_unclosed(b, open, inner);
        return inner;
    };
    let path = b.source_slice(inner + 2..inner_end).trim();
    b.mistakes
        .add_mistake("template-bad-condition", inner..inner_end + 2, "a placeholder inside a tag")
        .set_help(format!("write the path without braces: `{path}`"));
    let TagEnd::At(close) = find_close(b.source, inner_end + 2, false) else { return inner_end + 2 };
    let name = b.source_slice(open + 3..inner).split_whitespace().next().unwrap_or("if");
    b.open_broken(name, open..close + 2);
    close + 2
}

fn triple(b: &mut TemplateBuilder<'_>, open: usize) -> usize {
    let TagEnd::At(close) = find_close(b.source, open + 3, false) else {
        report_unclosed(b, open, b.source.len());
        return b.source.len();
    };
    let braces = b.source_slice(close..close + 3);
    let end = close + if braces == "}}}" { 3 } else { 2 };
    let path = b.source_slice(open + 3..close).trim_matches(['{', ' ']);
    let meant = format!("{{{{{path}}}}}");
    let plain = !path.is_empty() && path.chars().all(|c| in_segment(c) || c == '.');
    b.mistakes.add_mistake("template-unsupported", open..end, "triple braces").set_help(format!(
        "write `{meant}`, because nothing is escaped; for a brace before a placeholder, put a space between them"
    ));
    // After a word, the outer braces are another language's (`\\textbf{{{unit}}}`).
    let behind_word = b.source_slice(0..open).ends_with(char::is_alphanumeric);
    if plain && braces == "}}}" && !behind_word {
        b.mistakes.set_replacement(meant);
    }
    end
}

/// Reads the inside of a tag, without surrounding whitespace.
fn inside(b: &mut TemplateBuilder<'_>, tag: Range<usize>, inner: Range<usize>) {
    let text = b.source_slice(inner.clone());
    let blocks = b.policy.blocks == BlockSyntax::If;
    match text.chars().next() {
        None => {
            b.mistakes.add_mistake("template-empty", tag, "empty placeholder").set_help(NO_ESCAPE);
        }
        Some('#') => open(b, tag, inner),
        Some('/') => close(b, tag, inner),
        Some('!') => {
            b.mistakes
                .add_mistake("template-unsupported", tag, "templates here have no comments")
                .set_help("write a YAML comment outside the text");
        }
        Some('^') if blocks => stray_else(b, tag),
        Some(_) if blocks && text.split_whitespace().next() == Some("else") => stray_else(b, tag),
        Some(sigil @ ('>' | '&' | '^' | '*')) => {
            b.mistakes.add_mistake("template-unsupported", tag, format!("tags with `{sigil}` are not supported"));
        }
        Some(_) => placeholder(b, tag, inner),
    }
}

fn placeholder(b: &mut TemplateBuilder<'_>, tag: Range<usize>, inner: Range<usize>) {
    if super::foreign_fallbacks::report_fallback(b, trimmed_range(b.source, inner.clone())) {
        return;
    }
    let text = b.source_slice(inner.clone());
    let bar = if b.policy.filters { text.find('|') } else { None };
    let span = trimmed_range(b.source, inner.start..bar.map_or(inner.end, |bar| inner.start + bar));
    if span.is_empty() {
        b.mistakes.add_mistake("template-empty", inner, "a filter without a path before it");
        return;
    }
    let filter = match bar {
        Some(bar) => match filter(b, inner.start + bar + 1..inner.end) {
            Some(filter) => Some(filter),
            None => return,
        },
        None => None,
    };
    if b.policy.blocks == BlockSyntax::If && of_another_language(b, span.clone()) {
        return;
    }
    let Some(path) = parse_path(b, span.clone()) else { return };
    let (default, json) = match filter {
        Some((text, json)) => (Some(b.source_slice(text).into()), json),
        None => (None, false),
    };
    let reference = b.add_reference(path, span, default);
    b.add_placeholder(ConditionExpression::Reference(reference), json, tag);
}

/// Reports syntax of other languages that is not a valid path: `if x`, `end`, `../x`, `json x`.
fn of_another_language(b: &mut TemplateBuilder<'_>, span: Range<usize>) -> bool {
    const CODE: &str = "template-bad-path";
    let text = b.source_slice(span.clone());
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    if word == "if" && !rest.is_empty() {
        // If the closing tag also has a different form, fixing only this one would cause another mistake.
        let ends = b.source_slice(span.end..b.source.len()).contains("{{/if}}");
        let mistake = b.mistakes.add_mistake(CODE, span, "a block starts with `#`");
        let mistake = if ends { mistake.set_replacement(format!("#if {rest}")) } else { mistake };
        mistake.set_help(format!("write `{{{{#if {rest}}}}}`"));
    } else if text.starts_with("../") || text.starts_with("./") {
        b.mistakes
            .add_mistake(CODE, span, "a template reads only the state of its own agent, from the top level")
            .set_help(std::iter::once("write only the name").chain(b.policy.words.pass).collect::<Vec<_>>().join("; "));
    } else if text.contains('/')
        && text.split('/').all(|part| !part.is_empty() && part.chars().all(|c| in_segment(c) || c == '.'))
    {
        let meant = text.replace('/', ".");
        b.mistakes
            .add_mistake(CODE, span, "write dots between the segments of a path")
            .set_replacement(meant.clone())
            .set_help(format!("write `{meant}`"));
    } else if matches!(
        word,
        "json" | "upper" | "lower" | "trim" | "length" | "len" | "default" | "lookup" | "toJson" | "tojson"
    ) && !rest.is_empty()
    {
        b.mistakes
            .add_mistake(CODE, span, format!("unknown helper `{word}`"))
            .set_help("templates only print values; lists and objects are printed as JSON");
    } else {
        return false;
    }
    true
}

fn parse_path(b: &mut TemplateBuilder<'_>, span: Range<usize>) -> Option<Vec<crate::scope::PathSegment>> {
    match path::parse_dotted(b.source, span.clone()) {
        Ok(path) => Some(path),
        Err(bad) => {
            let policy = b.policy;
            let choice = chooses(b.source_slice(span.clone())).then(|| instead_of_choice(&policy));
            bad.report_mistake(&mut b.mistakes, "template-bad-path", b.source, span, |c| {
                choice.or_else(|| advice(c, &policy))
            });
            None
        }
    }
}

fn advice(c: char, policy: &Policy) -> Option<String> {
    let (filters, words) = (policy.filters, policy.words);
    Some(match c {
        '[' => "write `.0` for the first list item, and `.key` for a property".to_owned(),
        '\'' | '"' if filters => {
            "quoted text is allowed only in `default('...')` and `json_or_default('...')`".to_owned()
        }
        '\'' | '"' => "write text outside the braces".to_owned(),
        '(' if filters => "write a path before the filter: `{{ path | default('text') }}`".to_owned(),
        '(' => "functions and helpers are not supported here".to_owned(),
        '|' => "filters are not supported here".to_owned(),
        '=' | '!' | '<' | '>' | '&' if policy.blocks == BlockSyntax::None => {
            format!("templates cannot compare; use {}", words.decides)
        }
        '=' | '!' | '<' | '>' | '&' => format!("only {} can compare", all(&comparing(words))),
        '+' | '*' | '/' => "templates cannot do arithmetic".to_owned(),
        '{' | '}' => "close the tag with `}}`".to_owned(),
        c if c.is_whitespace() => NO_ESCAPE.to_owned(),
        _ => return None,
    })
}

/// Whether a path is Python's choice between two values: `x if y else z`.
fn chooses(text: &str) -> bool {
    text.split_once(" if ").is_some_and(|(_, rest)| rest.contains(" else "))
}

fn instead_of_choice(policy: &Policy) -> String {
    match policy.blocks {
        BlockSyntax::If => {
            "templates do not choose like this; write a block for each case, as `{{#if y}}{{x}}{{/if}}`".to_owned()
        }
        _ => format!("templates cannot choose between values; {}", instead_of_blocks(policy)),
    }
}

/// What can compare, as it is written.
fn comparing(words: &DialectWords) -> Vec<String> {
    let keys = words.conditions.iter().map(|key| format!("`{key}`"));
    std::iter::once("`{{#if}}`".to_owned()).chain(keys).collect()
}

/// `a`, `a and b`, `a, b and c`.
fn all(parts: &[String]) -> String {
    match parts.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// What to write in a language without blocks.
fn instead_of_blocks(policy: &Policy) -> String {
    let decides = policy.words.decides;
    if policy.filters {
        format!("use `| default('text')` for a value that may be missing, and {decides} for a condition")
    } else {
        format!("use {decides} for a condition")
    }
}

/// `default('text')` or `json_or_default('text')`: the span of the text, and whether it is the latter.
fn filter(b: &mut TemplateBuilder<'_>, range: Range<usize>) -> Option<(Range<usize>, bool)> {
    const CODE: &str = "template-bad-filter";
    const FORM: &str = "write `| default('text')` or `| json_or_default('text')`";
    let range = trimmed_range(b.source, range);
    let text = b.source_slice(range.clone());
    let name_len = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let name = b.source_slice(range.start..range.start + name_len);
    let json = match name {
        "default" => false,
        "json_or_default" => true,
        _ => {
            let message =
                if name.is_empty() { "filter without a name".to_owned() } else { format!("unknown filter `{name}`") };
            b.mistakes.add_mistake(
                CODE,
                if name.is_empty() { range.clone() } else { range.start..range.start + name_len },
                message,
            );
            match crate::suggestion::closest_name(name, &["default", "json_or_default"]) {
                Some(meant) => b.mistakes.set_replacement(meant).set_help(format!("did you mean `{meant}`?")),
                None => b.mistakes.set_help(FORM),
            }
            return None;
        }
    };
    let bytes = b.source.as_bytes();
    let skip = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let mut at = skip(range.start + name_len);
    let argument = if bytes.get(at) == Some(&b'(') { skip(at + 1) } else { range.end };
    if argument >= range.end || !matches!(bytes.get(argument), Some(b'"' | b'\'')) {
        b.mistakes.add_mistake(CODE, range, format!("`{name}` needs a quoted text")).set_help(FORM);
        return None;
    }
    let end = end_of_quoted(bytes, argument, false).filter(|end| *end < range.end);
    let Some(end) = end else {
        b.mistakes
            .add_mistake(CODE, argument..range.end, "the filter's text has no closing quote")
            .set_help("end it with the quote that it starts with");
        return None;
    };
    at = skip(end + 1);
    if bytes.get(at) != Some(&b')') || at >= range.end {
        let rest = at.min(range.end)..range.end;
        b.mistakes
            .add_mistake(CODE, if rest.is_empty() { range } else { rest }, format!("missing `)` after the text of `{name}`"))
            .set_help("the text cannot contain the quote around it, and escapes are not supported; use the other kind of quote");
        return None;
    }
    at = skip(at + 1);
    if at < range.end {
        let junk = b.source_slice(at..range.end);
        let message = if junk.starts_with('|') { "a second filter" } else { "text after the filter" };
        b.mistakes.add_mistake(CODE, at..range.end, message).set_help("a placeholder can have one filter, at its end");
        return None;
    }
    Some((argument + 1..end, json))
}

fn open(b: &mut TemplateBuilder<'_>, tag: Range<usize>, inner: Range<usize>) {
    let text = b.source_slice(inner.start + 1..inner.end);
    let name = text.split_whitespace().next().unwrap_or_default();
    let spaced = text.starts_with(char::is_whitespace) || inner.start != tag.start + 2;
    if name.is_empty() {
        b.mistakes.add_mistake("template-unknown-block", tag, "block without a name");
        return;
    }
    if b.policy.blocks == BlockSyntax::None {
        b.mistakes
            .add_mistake(
                "template-unknown-block",
                tag.clone(),
                format!("`{{{{#{name}}}}}`: blocks are not supported here"),
            )
            .set_help(instead_of_blocks(&b.policy));
        return b.open_broken(name, tag);
    }
    if name != "if" {
        b.mistakes
            .add_mistake("template-unknown-block", tag.clone(), format!("unknown block `{{{{#{name}}}}}`"))
            .set_help(match name {
                "each" => "loops are not supported; `{{path}}` prints a list as JSON",
                "unless" => "write `{{#if path == null}}` or `{{#if path == false}}`",
                _ => "the only block is `{{#if path}}...{{/if}}`",
            });
        if name.eq_ignore_ascii_case("if") && b.source_slice(tag.end..b.source.len()).contains("{{/if}}") {
            let rest = text.trim_start().get(name.len()..).unwrap_or_default();
            let meant = format!("{{{{#if{rest}}}}}");
            b.mistakes.set_replacement(meant);
        }
        return b.open_broken(name, tag);
    }
    if spaced {
        let meant = format!("{{{{#{}}}}}", text.trim());
        b.mistakes
            .add_mistake("template-unknown-block", tag.clone(), "space next to `#`")
            .set_replacement(meant)
            .set_help("write `{{#if `");
        return b.open_broken(name, tag);
    }
    let test = trimmed_range(b.source, inner.start + 1 + name.len()..inner.end);
    let mark = b.mark_guards();
    b.guarding += 1;
    let condition = condition(b, tag.clone(), test);
    b.guarding -= 1;
    match condition {
        Some((condition, guarded)) => {
            let guards = (b.guards_since(mark), guarded);
            b.open(name, tag, BlockOpening::If { negate: false, zero: false }, condition, [None, None], guards);
        }
        None => b.open_broken(name, tag),
    }
}

/// The rule of mistakes in the test of `{{#if}}`.
const BAD_CONDITION: &str = "template-bad-condition";

/// The test of `{{#if}}`, and whether its path is defined if the test holds.
fn condition(
    b: &mut TemplateBuilder<'_>,
    tag: Range<usize>,
    test: Range<usize>,
) -> Option<(ConditionExpression, bool)> {
    let text = b.source_slice(test.clone());
    if text.is_empty() {
        b.mistakes
            .add_mistake("template-bad-arguments", tag, "`{{#if}}` without a path")
            .set_help("write `{{#if path}}`");
        return None;
    }
    let left = text.find(|c: char| !(in_segment(c) || c == '.')).unwrap_or(text.len());
    if left == 0 {
        let sigil = text.chars().next().unwrap_or_default();
        b.mistakes.add_mistake(BAD_CONDITION, test, format!("expected a path, not `{sigil}`")).set_help(match sigil {
            '!' => "for the opposite, write `{{#if path == null}}`, `== false` or `== ''`",
            '\'' | '"' => "the path comes first: `{{#if path == 'text'}}`",
            '(' => "parentheses are not supported; nest two `{{#if}}` blocks",
            _ => "write `{{#if path}}`, `{{#if path == literal}}` or `{{#if path != literal}}`",
        });
        return None;
    }
    let path_span = test.start..test.start + left;
    let rest = trimmed_range(b.source, path_span.end..test.end);
    let operator = b.source_slice(rest.clone());
    let comparison = match operator {
        "" => None,
        _ if operator.starts_with("===") || operator.starts_with("!==") => {
            let meant = if operator.starts_with('=') { "==" } else { "!=" };
            let help = format!("write `{meant}`");
            b.mistakes
                .add_mistake(BAD_CONDITION, rest.start..rest.start + 3, "unknown operator")
                .set_replacement(meant)
                .set_help(help);
            return None;
        }
        _ if operator.starts_with("==") => Some(ComparisonOperator::Equal),
        _ if operator.starts_with("!=") => Some(ComparisonOperator::NotEqual),
        _ if operator.starts_with('=') => {
            b.mistakes
                .add_mistake(BAD_CONDITION, rest.start..rest.start + 1, "`=` does not compare")
                .set_replacement("==")
                .set_help("write `==`");
            return None;
        }
        _ => {
            report_bad_operator(b, rest, operator);
            return None;
        }
    };
    let path = parse_path(b, path_span.clone())?;
    let Some(comparison) = comparison else {
        let reference = b.add_reference(path, path_span, None);
        return Some((ConditionExpression::Reference(reference), true));
    };
    let right = trimmed_range(b.source, rest.start + 2..rest.end);
    let place = right.clone();
    let value = match literal::read_literal(b.source_slice(right.clone())) {
        Ok(value) => value,
        Err(bad) => {
            if let BadLiteral::Empty = bad {
                b.mistakes
                    .add_mistake(BAD_CONDITION, rest, "nothing to compare with")
                    .set_help("write a literal; for empty text, write `''`");
            } else {
                bad.report_mistake(&mut b.mistakes, BAD_CONDITION, right, false);
            }
            return None;
        }
    };
    let reference = b.add_reference(path, path_span, None);
    let defined = (comparison == ComparisonOperator::Equal) == !matches!(value, Value::Null);
    let operands = vec![ConditionExpression::Reference(reference), b.literal_expression(value, place)];
    Some((ConditionExpression::Compare(operands, vec![comparison]), defined))
}

/// Reports what follows the path of `{{#if}}` and is no operator.
fn report_bad_operator(b: &mut TemplateBuilder<'_>, rest: Range<usize>, operator: &str) {
    let word = operator.split_whitespace().next().unwrap_or_default();
    let help = match word {
        "and" | "&&" => "nest two `{{#if}}` blocks",
        "or" | "||" => "write two `{{#if}}` blocks, or decide in a step and read its result",
        "is" | "eq" => "write `==`",
        _ if operator.starts_with(['<', '>']) => {
            &format!("`{{{{#if}}}}` has only `==` and `!=`; move the comparison to {}", b.policy.words.decides)
        }
        _ => "write `{{#if path}}`, `{{#if path == literal}}` or `{{#if path != literal}}`",
    };
    b.mistakes.add_mistake(BAD_CONDITION, rest, format!("`{}` after the path", shorten(word))).set_help(help);
}

fn close(b: &mut TemplateBuilder<'_>, tag: Range<usize>, inner: Range<usize>) {
    let name = b.source_slice(inner.start + 1..inner.end);
    let spaced = name.starts_with(char::is_whitespace) || inner.start != tag.start + 2;
    let name = name.trim();
    if spaced {
        b.mistakes
            .add_mistake("template-stray-close", tag.clone(), "space next to `/`")
            .set_replacement(format!("{{{{/{name}}}}}"))
            .set_help(format!("write `{{{{/{name}}}}}`"));
        if b.innermost_block() == Some(name) {
            b.close(name, tag);
        }
        return;
    }
    b.close(name, tag);
}

fn stray_else(b: &mut TemplateBuilder<'_>, tag: Range<usize>) {
    b.mistakes
        .add_mistake("template-stray-else", tag, "`else` is not supported here")
        .set_help("close with `{{/if}}` and open a second block for the opposite, such as `{{#if path == null}}`");
}

fn trimmed_range(source: &str, range: Range<usize>) -> Range<usize> {
    let text = source.get(range.clone()).unwrap_or_default();
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

/// A text shortened to a few words for a message.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
