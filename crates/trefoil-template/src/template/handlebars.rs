//! Tags of AEGIS: Handlebars without partials, decorators and HTML escaping.

use std::ops::Range;

use crate::expression::ConditionExpression;
use crate::handlebars::{HandlebarsCursor, MistakeCodes, in_name};
use crate::template::builder::{BLOCKS, BlockGuards, BlockOpening, TemplateBuilder};
use crate::template::scanner::{TagEnd, find_close, find_open};
use crate::value::Value;

const CODES: MistakeCodes = MistakeCodes {
    path: "template-bad-path",
    helper: "template-unknown-helper",
    arguments: "template-bad-arguments",
    syntax: "template-syntax",
    deep: "template-too-deep",
};

const ESCAPE: &str = "write `\\{{` for literal braces";

/// A tag in the source.
struct HandlebarsTag {
    /// The span including braces.
    span: Range<usize>,
    /// The content between braces, `~` and sigils.
    inner: Range<usize>,
    kind: TagKind,
    /// `{{~`.
    trims_left: bool,
    /// `~}}`.
    trims_right: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TagKind {
    Placeholder,
    /// `#`
    Open,
    /// `^` before a name.
    Inverted,
    /// `/`
    Close,
    /// `else`, `^`
    Else,
    Comment,
    /// An unsupported construct, already reported.
    Refused,
}

impl TagKind {
    /// Whether the tag's line is removed if it contains nothing else.
    fn may_stand_alone(self) -> bool {
        !matches!(self, TagKind::Placeholder)
    }
}

/// Reads the whole source.
pub(crate) fn parse(b: &mut TemplateBuilder<'_>) {
    // The start of literal text that is not yet added, and the offset at which the search for tags continues.
    let (mut text, mut from) = (0, 0);
    while let Some(open) = find_open(b.source, from).filter(|_| !b.too_deep()) {
        let backslashes = b.source_slice(text..open).bytes().rev().take_while(|c| *c == b'\\').count();
        if backslashes == 1 {
            b.add_literal(text..open - 1);
            text = open;
            from = b.source.len() - b.source_slice(open..b.source.len()).trim_start_matches('{').len();
            continue;
        }
        let before = text..open - usize::from(backslashes > 1);
        let tag = match cut(b, open) {
            Ok(tag) => tag,
            Err(resume) => {
                b.add_literal(before);
                (text, from) = (resume, resume);
                continue;
            }
        };
        let alone = tag.kind.may_stand_alone().then(|| stands_alone(b.source, &tag.span)).flatten();
        let keep = b.source_slice(before.clone());
        let kept = match (tag.trims_left, &alone) {
            (true, _) => keep.trim_end(),
            (false, Some(_)) => keep.trim_end_matches([' ', '\t']),
            (false, None) => keep,
        };
        b.add_literal(before.start..before.start + kept.len());
        text = alone.unwrap_or(tag.span.end);
        if tag.trims_right {
            text = b.source.len() - b.source_slice(text..b.source.len()).trim_start().len();
        }
        from = text;
        read(b, tag);
    }
    b.add_literal(text..b.source.len());
}

/// The end of a tag's line, if the line otherwise contains only whitespace.
fn stands_alone(source: &str, span: &Range<usize>) -> Option<usize> {
    let before = source.get(..span.start)?.trim_end_matches([' ', '\t']);
    let after = source.get(span.end..)?.trim_start_matches([' ', '\t']);
    let rest = match after {
        "" => after,
        _ => after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'))?,
    };
    (before.is_empty() || before.ends_with('\n')).then_some(source.len() - rest.len())
}

/// Reads the tag at `open`, or reports why not and returns where to continue.
fn cut(b: &mut TemplateBuilder<'_>, open: usize) -> Result<HandlebarsTag, usize> {
    let bytes = b.source.as_bytes();
    let mut at = open + 2;
    let trims_left = bytes.get(at) == Some(&b'~');
    at += usize::from(trims_left);
    if b.source_slice(open..open + 4) == "{{{{" {
        return Err(raw_block(b, open));
    }
    let sigil = bytes.get(at).copied();
    if sigil == Some(b'!') {
        return comment(b, open, at + 1, trims_left);
    }
    let triple = sigil == Some(b'{');
    at += usize::from(triple || matches!(sigil, Some(b'&')));
    let close = match find_close(b.source, at, true) {
        TagEnd::At(close) => close,
        TagEnd::Nested(inner) if inside_path(b.source_slice(at..inner)) => {
            let head = b.source_slice(at..inner).trim().trim_end_matches(['.', '/', '[']);
            b.mistakes.add_mistake("template-syntax", open..inner + 2, "a tag inside a tag").set_help(format!(
                "tags cannot be nested; to look up a property by a value, write `{{{{lookup {head} name}}}}`"
            ));
            let end = b.source_slice(inner..b.source.len()).find("}}}}").map_or(inner, |len| inner + len + 4);
            return Err(end);
        }
        TagEnd::Nested(inner) => {
            report_unclosed(b, open, inner);
            return Err(inner);
        }
        TagEnd::Never => {
            report_unclosed(b, open, b.source.len());
            return Err(b.source.len());
        }
    };
    let mut inner_end = close;
    let mut end = close + 2;
    let trims_right = close > at && bytes.get(close - 1) == Some(&b'~');
    inner_end -= usize::from(trims_right);
    if triple {
        if trims_right && bytes.get(inner_end.wrapping_sub(1)) == Some(&b'}') {
            inner_end -= 1;
        } else if !trims_right && bytes.get(end) == Some(&b'}') {
            end += 1;
        } else {
            b.mistakes
                .add_mistake("template-unclosed", open..end, "`{{{` is closed by two braces")
                .set_help("end it with `}}}`, or write `{{x}}`, which means the same because nothing is escaped");
            return Err(end);
        }
    }
    let inner = trimmed_range(b, at..inner_end);
    let text = b.source_slice(inner.clone());
    let plain = !triple && sigil != Some(b'&');
    let (kind, sigil_len) = match text.bytes().next() {
        _ if !plain => (TagKind::Placeholder, 0),
        Some(b'#') => (TagKind::Open, 1),
        Some(b'/') => (TagKind::Close, 1),
        Some(b'^') if text.len() > 1 => (TagKind::Inverted, 1),
        Some(b'^') => (TagKind::Else, 1),
        Some(b'>') => (refuse(b, open..end, "partials are not supported"), 1),
        Some(b'*') => (refuse(b, open..end, "decorators are not supported"), 1),
        _ if text == "else" || text.strip_prefix("else").is_some_and(|rest| rest.starts_with(char::is_whitespace)) => {
            (TagKind::Else, 4)
        }
        _ => (TagKind::Placeholder, 0),
    };
    let inner = trimmed_range(b, inner.start + sigil_len..inner.end);
    Ok(HandlebarsTag { span: open..end, inner, kind, trims_left, trims_right })
}

/// Whether the text ends inside a path that a tag would continue.
fn inside_path(text: &str) -> bool {
    let path = text.trim_start();
    path.len() > 1 && path.ends_with(['.', '/', '[']) && !path.contains(char::is_whitespace)
}

fn refuse(b: &mut TemplateBuilder<'_>, span: Range<usize>, message: &str) -> TagKind {
    b.mistakes.add_mistake("template-unsupported", span, message).set_help("write the text itself here");
    TagKind::Refused
}

fn report_unclosed(b: &mut TemplateBuilder<'_>, open: usize, before: usize) {
    let line = b.source_slice(open..before).split('\n').next().unwrap_or_default().trim_end();
    let shown: String = line.chars().take(40).collect();
    b.mistakes
        .add_mistake("template-unclosed", open..open + line.len().max(2), format!("`{shown}` has no closing `}}}}`"))
        .set_help(format!("end it with `}}}}`; {ESCAPE}"));
    let simple = !line.starts_with("{{{")
        && !line.get(2..).is_some_and(|t| t.trim_start().starts_with(['#', '/', '^', '!', '&', '~', '>']));
    let is_helper = |name: &str| crate::handlebars::find_helper(name).is_some();
    if let Some(closed) = super::simple_tags::with_closing_braces(line, is_helper).filter(|_| simple) {
        b.mistakes.set_replacement(closed);
    }
    b.block_of_unclosed(open..open + line.len());
}

/// `{{{{raw}}}}` or `{{{{/raw}}}}`.
fn raw_block(b: &mut TemplateBuilder<'_>, open: usize) -> usize {
    let rest = b.source_slice(open..b.source.len());
    let end = rest.find("}}}}").map_or(b.source.len(), |len| open + len + 4);
    if !rest.starts_with("{{{{/") {
        b.mistakes.add_mistake("template-unsupported", open..end, "raw blocks are not supported").set_help(ESCAPE);
    }
    end
}

fn comment(b: &mut TemplateBuilder<'_>, open: usize, at: usize, trims_left: bool) -> Result<HandlebarsTag, usize> {
    let rest = b.source_slice(at..b.source.len());
    let long = rest.strip_prefix("--").map(|inside| {
        inside.match_indices('-').find_map(|(len, _)| {
            let end = inside.get(len..)?;
            let close = [("--}}", false), ("--~}}", true)].into_iter().find(|(close, _)| end.starts_with(close));
            close.map(|(close, trims)| (2 + len, close.len(), trims))
        })
    });
    let found = match long {
        Some(found) => found,
        None => rest.find("}}").map(|len| (len, 2, rest.get(..len).is_some_and(|inside| inside.ends_with('~')))),
    };
    let Some((len, close, trims_right)) = found else {
        let line = rest.split('\n').next().unwrap_or_default();
        let end = if rest.starts_with("--") { "--}}" } else { "}}" };
        b.mistakes
            .add_mistake("template-unclosed", open..at + line.len(), "the comment is never closed")
            .set_help(format!("end it with `{end}`"));
        return Err(b.source.len());
    };
    let span = open..at + len + close;
    Ok(HandlebarsTag { span, inner: at..at + len, kind: TagKind::Comment, trims_left, trims_right })
}

fn trimmed_range(b: &TemplateBuilder<'_>, range: Range<usize>) -> Range<usize> {
    let text = b.source_slice(range.clone());
    let start = range.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

fn read(b: &mut TemplateBuilder<'_>, tag: HandlebarsTag) {
    match tag.kind {
        TagKind::Comment | TagKind::Refused => {}
        TagKind::Placeholder => {
            if let Some(value) = placeholder(b, &tag) {
                b.add_placeholder(value, false, tag.span);
            }
        }
        TagKind::Open => block(b, &tag, false),
        TagKind::Inverted => block(b, &tag, true),
        TagKind::Else => {
            b.begin_else(tag.span.clone());
            if !tag.inner.is_empty() {
                block(b, &tag, false);
                b.mark_chained();
            }
        }
        TagKind::Close if b.source_slice(tag.inner.clone()) == "else" => not_a_block(b, &tag),
        TagKind::Close => {
            let name = b.source_slice(tag.inner.clone());
            b.close(name, tag.span);
        }
    }
}

fn cursor<'c, 't>(b: &'c mut TemplateBuilder<'t>, inner: &Range<usize>) -> HandlebarsCursor<'c, 't> {
    HandlebarsCursor { b, at: inner.start, end: inner.end, depth: 0, codes: &CODES, group: None }
}

/// A path, a literal or a helper call.
fn placeholder(b: &mut TemplateBuilder<'_>, tag: &HandlebarsTag) -> Option<ConditionExpression> {
    if tag.inner.is_empty() {
        b.mistakes.add_mistake("template-empty", tag.span.clone(), "empty placeholder").set_help(ESCAPE);
        return None;
    }
    if let (word @ ("end" | "endif" | "endeach" | "endwith" | "endunless" | "endfor" | "fi"), Some(open)) =
        (b.source_slice(tag.inner.clone()), b.innermost_block())
    {
        let (meant, span) = (format!("{{{{/{open}}}}}"), tag.span.clone());
        let noted =
            b.mistakes.add_mistake("template-stray-close", span.clone(), format!("`{word}` does not close a block"));
        noted.set_replacement(meant.clone()).set_help(format!("close it with `{meant}`"));
        b.close(open, span);
        return None;
    }
    // The whole state in the middle of a text is probably a mistake; `{{json this}}` is explicit.
    if b.block_contexts().is_empty() && matches!(b.source_slice(tag.inner.clone()), "this" | ".") {
        b.add_stray_path(tag.inner.clone());
    }
    if super::foreign_fallbacks::report_fallback(b, tag.inner.clone()) {
        return None;
    }
    let mut c = cursor(b, &tag.inner);
    let name = c.peek_name();
    if ["elseif", "elsif", "elif", "else_if", "elseIf"].contains(&name) {
        let test = c.b.source_slice(c.at + name.len()..c.end).trim();
        let meant = format!("else if {test}");
        let noted =
            c.b.mistakes.add_mistake("template-unknown-helper", tag.inner.clone(), format!("unknown tag `{name}`"));
        noted.set_replacement(meant.clone()).set_help(format!("write `{{{{{meant}}}}}`"));
        return None;
    }
    let called = c.b.source_slice(c.at + name.len()..c.end);
    if let (Some(_), Some(inner)) = (
        crate::handlebars::find_helper(name),
        called
            .strip_prefix('(')
            .and_then(|rest| rest.trim_end().strip_suffix(')'))
            .filter(|i| !i.contains(['(', '"', '\''])),
    ) {
        let arguments: Vec<&str> = inner.split(',').map(str::trim).collect();
        let meant = format!("{name} {}", arguments.join(" "));
        let message = format!("`{name}` is a helper; write its argument after it, without parentheses");
        let noted = c.b.mistakes.add_mistake("template-syntax", tag.inner.clone(), message);
        noted.set_replacement(meant.clone()).set_help(format!("write `{{{{{meant}}}}}`"));
        return None;
    }
    let after = c.b.source_slice(c.at + name.len()..c.end);
    let spaced = after.trim_start();
    // A name is a helper only if it has arguments, because a value may have the same name.
    let is_call = !name.is_empty()
        && after.len() > spaced.len()
        && match spaced.as_bytes() {
            [b'-', next, ..] => next.is_ascii_digit(),
            [b'"' | b'\'' | b'(' | b'@' | b'.' | b'[', ..] => true,
            _ => spaced.starts_with(in_name) && spaced != "-",
        };
    if is_call && BLOCKS.contains(&name) {
        let meant = format!("#{}", c.b.source_slice(tag.inner.clone()));
        let message = format!("`{name}` needs a `#` to open a block");
        let noted = c.b.mistakes.add_mistake("template-unknown-helper", tag.inner.clone(), message);
        noted.set_replacement(meant.clone()).set_help(format!("write `{{{{{meant}}}}}`"));
        b.open_broken(name, tag.span.clone());
        return None;
    }
    let value = if is_call {
        let span = c.at..c.at + name.len();
        c.at = span.end;
        c.parse_call(name, span)?
    } else {
        c.parse_argument()?
    };
    c.skip_space();
    if c.at < c.end {
        c.report_unexpected("", None);
        return None;
    }
    Some(value)
}

fn block(b: &mut TemplateBuilder<'_>, tag: &HandlebarsTag, inverted: bool) {
    let text = b.source_slice(tag.inner.clone());
    let name_len = text.find(|c: char| !in_name(c)).unwrap_or(text.len());
    let name = b.source_slice(tag.inner.start..tag.inner.start + name_len);
    let span = tag.span.clone();
    if text.starts_with('>') || text.starts_with('*') {
        b.mistakes
            .add_mistake("template-unsupported", span.clone(), "partials and decorators are not supported")
            .set_help("write the text itself here");
        let rest = text.trim_start_matches(['>', '*', ' ']);
        let name = rest.get(..rest.find(|c: char| !in_name(c)).unwrap_or(rest.len())).unwrap_or_default();
        return b.open_broken(name, span);
    }
    if name.is_empty() && matches!(tag.kind, TagKind::Else) {
        b.mistakes
            .add_mistake("template-bad-arguments", span.clone(), "`else` cannot have a condition")
            .set_help(format!("write `{{{{else if {text}}}}}`"));
        return b.open_broken("if", span);
    }
    if let (TagKind::Open, Some(b'.' | b'/')) = (tag.kind, text.as_bytes().get(name_len)) {
        b.mistakes
            .add_mistake("template-unknown-block", span.clone(), format!("`{text}` is a path, not a block"))
            .set_help(format!("write `{{{{#with {text}}}}}`, or for a list `{{{{#each {text}}}}}`"));
        return b.open_broken(text, span);
    }
    if name == "else" {
        return not_a_block(b, tag);
    }
    if !BLOCKS.contains(&name) {
        let message =
            if name.is_empty() { "block without a name".to_owned() } else { format!("unknown block `{name}`") };
        b.mistakes.add_mistake("template-unknown-block", span.clone(), message).set_help(
            match crate::suggestion::closest_name(name, &BLOCKS) {
                Some(meant) => format!("did you mean `{{{{#{meant}}}}}`?"),
                None => "the blocks are `if`, `unless`, `each` and `with`; use `{{#each list}}` for a list".to_owned(),
            },
        );
        return b.open_broken(name, span);
    }
    let mark = b.mark_guards();
    let conditional = matches!(name, "if" | "unless");
    // Every block is a test: for a missing value, `each` and `with` render nothing, or their `else`.
    b.guarding += 1;
    let head = head(b, tag, name);
    b.guarding -= 1;
    let Some(BlockHead { value, zero, parameters }) = head else { return b.open_broken(name, span) };
    let guards: BlockGuards = b.guards_since(mark);
    // `(not x)` inverts the test.
    let negated = matches!(value, ConditionExpression::Not(_));
    let (opening, guarded) = match name {
        "if" => (BlockOpening::If { negate: inverted, zero }, inverted == negated),
        "unless" => (BlockOpening::If { negate: !inverted, zero }, inverted != negated),
        "each" => (BlockOpening::Each, true),
        _ => (BlockOpening::With, true),
    };
    b.open(name, span, opening, value, parameters, (guards, guarded));
    if inverted && !conditional {
        b.invert_block();
    }
}

/// `{{#else}}` and `{{/else}}`.
fn not_a_block(b: &mut TemplateBuilder<'_>, tag: &HandlebarsTag) {
    let meant = format!("{{{{{}}}}}", b.source_slice(tag.inner.clone()));
    let noted = b.mistakes.add_mistake("template-unknown-block", tag.span.clone(), "`else` is not a block");
    noted.set_replacement(meant.clone()).set_help(format!("write `{meant}`"));
    if b.innermost_block().is_some() {
        b.begin_else(tag.span.clone());
    }
}

/// The text after a block's name.
struct BlockHead<'t> {
    value: ConditionExpression,
    zero: bool,
    parameters: [Option<&'t str>; 2],
}

fn head<'t>(b: &mut TemplateBuilder<'t>, tag: &HandlebarsTag, name: &str) -> Option<BlockHead<'t>> {
    const CODE: &str = "template-bad-arguments";
    let conditional = matches!(name, "if" | "unless");
    let mut c = cursor(b, &(tag.inner.start + name.len()..tag.inner.end));
    c.skip_space();
    if c.at == c.end {
        c.b.mistakes
            .add_mistake(CODE, tag.span.clone(), format!("`{{{{#{name}}}}}` without a value"))
            .set_help(format!("write `{{{{#{name} path}}}}`"));
        return None;
    }
    if c.peek_char() == Some('!') {
        c.report_unexpected("", None);
        c.b.mistakes.set_help("write `{{#unless path}}`");
        return None;
    }
    let first = c.at;
    let word = c.peek_name();
    let behind = c.b.source_slice(c.at + word.len()..c.end);
    let next = behind.trim_start();
    if let (true, Some(list)) = (name == "each" && behind.len() > next.len(), next.strip_prefix("in ")) {
        let meant = format!("each {} as |{word}|", list.trim());
        let noted =
            c.b.mistakes.add_mistake(CODE, tag.inner.clone(), "the list comes first, then the name of its item");
        noted.set_replacement(meant.clone()).set_help(format!("write `{{{{#{meant}}}}}`"));
        return None;
    }
    // Otherwise the helper would be read as a name, with misleading findings.
    let option = next.get(next.find(|c: char| !in_name(c)).unwrap_or(next.len())..).unwrap_or_default();
    if crate::handlebars::find_helper(word).is_some()
        && behind.len() > next.len()
        && next.starts_with(|c: char| in_name(c) || matches!(c, '"' | '\'' | '('))
        && !next.starts_with("as |")
        && !option.starts_with('=')
    {
        let call = c.b.source_slice(first..c.end).trim();
        c.b.mistakes
            .add_mistake(CODE, c.end - next.len()..c.end, format!("`{name}` needs one value"))
            .set_help(format!("put the helper in parentheses: `{{{{#{name} ({call})}}}}`"));
        return None;
    }
    let value = c.parse_argument()?;
    let (mut zero, mut parameters) = (false, [None, None]);
    loop {
        c.skip_space();
        if c.at == c.end {
            return Some(BlockHead { value, zero, parameters });
        }
        if let Some(named) = c.parse_named_argument()? {
            match (conditional, named.name, named.value) {
                (true, "includeZero", ConditionExpression::Literal(Value::Bool(include), _)) => zero = include,
                (_, option, _) => {
                    let message = format!("invalid option `{option}` for `{name}`");
                    c.b.mistakes
                        .add_mistake(CODE, named.span, message)
                        .set_help("`if` and `unless` have one option, `includeZero=true`");
                    return None;
                }
            }
        } else if c.peek_name() == "as" && !conditional {
            parameters = block_parameters(&mut c)?;
        } else if c.at_argument() {
            let helper =
                c.b.source_slice(first..first + c.b.source_slice(first..c.end).find(|c| !in_name(c)).unwrap_or(0));
            let message = format!("`{name}` needs one value");
            c.b.mistakes.add_mistake(CODE, c.at..c.end, message);
            if crate::handlebars::find_helper(helper).is_some() {
                let call = c.b.source_slice(first..c.end).trim();
                c.b.mistakes.set_help(format!("put the helper in parentheses: `{{{{#{name} ({call})}}}}`"));
            }
            return None;
        } else {
            c.report_unexpected("", None);
            return None;
        }
    }
}

/// `as |item index|`.
fn block_parameters<'t>(c: &mut HandlebarsCursor<'_, 't>) -> Option<[Option<&'t str>; 2]> {
    let start = c.at;
    c.at += 2;
    c.skip_space();
    let names = c.remaining_text().strip_prefix('|').and_then(|rest| rest.split_once('|')).map(|(names, _)| names);
    let list: Vec<&'t str> = names.unwrap_or_default().split_whitespace().collect();
    let valid = list.iter().all(|name| name.chars().all(in_name));
    match (names, list.as_slice()) {
        (Some(names), [first, rest @ ..]) if rest.len() < 2 && valid => {
            c.at += names.len() + 2;
            Some([Some(*first), rest.first().copied()])
        }
        _ => {
            c.b.mistakes
                .add_mistake("template-bad-arguments", start..c.end, "expected one or two names between the bars")
                .set_help("write `as |item|` or `as |item index|`");
            None
        }
    }
}
