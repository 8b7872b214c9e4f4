//! Turns a parser error into a finding: its place, our wording, and how to continue reading.

mod escape;
mod wording;

use granit_parser::ScanError;

use super::builder::{TreeBuilder, quoted_text, unquoted_braces};
use super::limits::YamlLimits;
use super::recovery::{RecoveryMask, to_next_key};
use super::{locate, rules};
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Location, Span};
use wording::{ErrorWording, ProblemKind};

/// A syntax error and the mask under which the text can be read again.
pub(super) struct SyntaxProblem {
    pub(super) diagnostic: Diagnostic,
    pub(super) mask: Option<RecoveryMask>,
}

/// The context of a syntax error.
struct SyntaxErrorContext<'a> {
    file: FileId,
    text: &'a str,
    /// The offset where the parser stopped.
    at: usize,
    /// The start of the value that the parser was reading, or had just read on this line.
    value: Option<usize>,
    /// The innermost open flow collection.
    flow: Option<usize>,
}

impl SyntaxErrorContext<'_> {
    fn location(&self, start: usize, end: usize) -> Location {
        Location::new(self.file, Span::new(start as u32, end as u32))
    }
    /// The value, if it is on the line of the error.
    fn value_on_line(&self) -> Option<usize> {
        let value = self.value?;
        if locate::same_line(self.text, value, self.at) { Some(value) } else { None }
    }
}

/// Turns a parser error into a finding.
pub(super) fn explain_error(
    file: FileId,
    text: &str,
    error: &ScanError,
    builder: &TreeBuilder<'_>,
    limits: &YamlLimits,
) -> SyntaxProblem {
    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let flow = builder.open_flow();
    let value = match (flow, builder.last_value) {
        (Some((outer, _)), _) => Some(outer as usize),
        (None, Some(last)) => behind(text, last, at, builder.wants_value()),
        (None, None) if builder.wants_value() => Some(locate::value_start(text, builder.token_end as usize).min(at)),
        _ => None,
    };
    let scene = SyntaxErrorContext { file, text, at, value, flow: flow.map(|(_, inner)| inner as usize) };
    if let Some(problem) = braces(&scene) {
        return problem;
    }
    if let Some(last) = builder.last_value
        && let Some(problem) = text_of_lines(&scene, last.start as usize)
    {
        return problem;
    }
    let ErrorWording { kind, rule, message, help, place: told, above, uneven } =
        wording::error_wording(error.kind(), &scene, limits);
    let (kind, message, help) = match scene.flow {
        Some(open) if kind == ProblemKind::Inside && left_open(text, open, at) => {
            let (open, close) = if text.as_bytes().get(open) == Some(&b'[') { ('[', ']') } else { ('{', '}') };
            let help = format!("add `{close}`, or put quotes around the value if it is text");
            (ProblemKind::Opening, format!("`{open}` is not closed"), Some(help))
        }
        _ => (kind, message, help),
    };
    let further = if uneven { too_far_in(text, at) } else { None };
    let (message, help) = match further {
        Some(_) => (
            "this line is indented further than its neighbours".to_owned(),
            Some("align it with the keys or items below".to_owned()),
        ),
        None => (message, help),
    };
    let (start, end) = further.or(told).unwrap_or_else(|| place(kind, &scene));
    let (start, end) = locate::whole_characters(text, start, end);
    let mut diagnostic = Diagnostic::new_error(rule, scene.location(start, end), message);
    if let (ProblemKind::Inside, Some(open)) = (kind, scene.flow)
        && open != start
    {
        diagnostic = diagnostic.with_label(scene.location(open, open + 1), "opened here");
    }
    let advice = match scene.value_on_line() {
        Some(value) if kind == ProblemKind::Value && flow.is_none() => quoting_advice(text, value),
        _ => None,
    };
    diagnostic.help = advice.or(help);
    if kind == ProblemKind::Tab {
        diagnostic = without_tab(&scene, start, diagnostic);
    }
    if let (ProblemKind::Item, None, None) = (kind, further, above)
        && let Some(((start, end), why)) = slipped(text, at)
    {
        let (start, end) = locate::whole_characters(text, start, end);
        diagnostic = diagnostic.with_label(scene.location(start, end), why);
    }
    if let Some((start, end)) = above {
        let (start, end) = locate::whole_characters(text, start, end);
        diagnostic =
            diagnostic.with_label(scene.location(start, end), "this value continues, because its line has no `:`");
    }
    SyntaxProblem { diagnostic, mask: mask(kind, &scene) }
}

/// The advice for a value that is not in quotes, if it is short enough to show it with them.
fn quoting_advice(text: &str, value: usize) -> Option<String> {
    if text.get(value..).unwrap_or_default().starts_with(['"', '\'']) {
        return None;
    }
    let quoted = quoted_text(text.get(value..locate::content_end(text, value)).unwrap_or_default())?;
    Some(format!("put quotes around the whole value: {quoted}"))
}

/// Whether a line is neither blank nor a comment.
fn has_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// The number of spaces before a line's text.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The first line of a block, if the line at `at` and those after it are indented less. As the only line with its
/// indentation, the first one is the wrong one.
fn too_far_in(text: &str, at: usize) -> Option<(usize, usize)> {
    let start = locate::line_start(text, at);
    let own = indent(text.get(start..locate::line_end(text, at))?);
    let above: Vec<&str> = text.get(..start)?.lines().collect();
    let parent = above.iter().rposition(|line| has_content(line) && indent(line) < own)?;
    let block: Vec<&str> = above.get(parent + 1..)?.iter().copied().filter(|line| has_content(line)).collect();
    let (first, outer) = (*block.first()?, indent(above.get(parent)?));
    let before = block.iter().filter(|line| indent(line) == indent(first)).count();
    let mut after = 0;
    for line in text.get(start..)?.lines() {
        if !has_content(line) {
            continue;
        }
        if indent(line) < own {
            break;
        }
        after += usize::from(indent(line) == own);
    }
    // Most people indent by two spaces.
    let usual = own == outer + 2 && indent(first) != outer + 2;
    if before != 1 || indent(first) <= own || !(after > 1 || usual) {
        return None;
    }
    let line = first.as_ptr() as usize - text.as_ptr() as usize;
    Some((line + indent(first), line + first.trim_end().len()))
}

/// The line above the one at `at`, if that line is badly indented: less than the lines around it, or no further than
/// its parent key; or it is an item whose keys are aligned with its `-`.
fn slipped(text: &str, at: usize) -> Option<((usize, usize), &'static str)> {
    let start = locate::line_start(text, at);
    let own = indent(text.get(start..locate::line_end(text, at))?);
    let mut lines = text.get(..start)?.lines().rev().filter(|line| has_content(line));
    let (above, before) = (lines.next()?, lines.next()?);
    let begin = above.as_ptr() as usize - text.as_ptr() as usize + indent(above);
    let place = (begin, begin + above.trim().len());
    let key =
        |line: &str| matches!(line.trim_start().split_once(": "), Some((key, _)) if !key.contains([' ', '"', '\'']));
    if let Some(item) = above.trim_start().strip_prefix("- ") {
        if key(item) && own <= indent(above) && own + 2 > indent(above) && before.trim_end().ends_with(':') {
            return Some((place, "or the item is indented too far; its keys are aligned two columns after its `-`"));
        }
        return None;
    }
    if !key(above) || indent(above) >= own {
        return None;
    }
    if indent(before) > indent(above) && indent(before) <= own {
        return Some((place, "this line is indented less than its neighbours"));
    }
    if indent(before) == indent(above) && before.trim_end().ends_with(':') {
        return Some((place, "this line is not indented further than the key above it"));
    }
    None
}

/// Whether a bracket was certainly left open on its own line: the next line is not indented further and closes nothing.
fn left_open(text: &str, open: usize, at: usize) -> bool {
    if locate::same_line(text, open, at) {
        return false;
    }
    let own = text.get(locate::line_start(text, open)..locate::line_end(text, open)).unwrap_or_default();
    let below = text.get(locate::line_end(text, open)..).unwrap_or_default();
    let Some(next) = below.lines().find(|line| has_content(line)) else { return false };
    indent(next) <= indent(own) && !next.trim_start().starts_with([']', '}', ','])
}

/// The finding, with a suggestion to replace the tabs at `at` with spaces. Their number is guessed from the line above.
fn without_tab(scene: &SyntaxErrorContext<'_>, at: usize, found: Diagnostic) -> Diagnostic {
    let text = scene.text;
    let start = locate::line_start(text, at);
    let line = text.get(start..locate::line_end(text, at)).unwrap_or_default();
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    if at >= start + indent {
        let after = text.get(at..).unwrap_or_default();
        let run = after.len() - after.trim_start_matches('\t').len();
        return found.with_suggestion("write a space", scene.location(at, at + run), " ");
    }
    let mut lines_above = text.get(..start).unwrap_or_default().lines().rev();
    let above = lines_above.find(|line| has_content(line)).unwrap_or_default().trim_end();
    let mut width = above.len() - above.trim_start_matches(' ').len();
    let in_item = above.trim_start().starts_with("- ") && !line.trim_start().starts_with("- ");
    if above.ends_with(':') || in_item {
        width += 2;
    }
    found.with_suggestion("indent with spaces", scene.location(start, start + indent), " ".repeat(width))
}

/// The value that an error at `at` is about, if the last token is a value: that value if both are on the same line,
/// otherwise the one after the next `-`.
fn behind(text: &str, last: Span, at: usize, in_list: bool) -> Option<usize> {
    if locate::same_line(text, last.start as usize, at) {
        return Some(last.start as usize);
    }
    let next = locate::value_start(text, last.end as usize).min(at);
    let line = text.get(locate::line_start(text, next)..next)?;
    if in_list && line.trim_start_matches(' ').starts_with('-') { Some(next) } else { None }
}

/// A value that starts with a template tag, whatever error the parser reported.
fn braces(scene: &SyntaxErrorContext<'_>) -> Option<SyntaxProblem> {
    let value = scene.value_on_line()?;
    let rest = scene.text.get(value..)?;
    if !rest.starts_with("{{") && !rest.starts_with("{%") {
        return None;
    }
    if let Some(problem) = text_of_lines(scene, value) {
        return Some(problem);
    }
    let end = locate::content_end(scene.text, value);
    let span = Span::new(value as u32, end as u32);
    let diagnostic = unquoted_braces(scene.file, scene.text, span, false);
    Some(SyntaxProblem { diagnostic, mask: Some(RecoveryMask::Quote(span)) })
}

/// A text of several lines below its key that starts with a template tag and lacks the `|`.
fn text_of_lines(scene: &SyntaxErrorContext<'_>, value: usize) -> Option<SyntaxProblem> {
    let text = scene.text;
    let line = locate::line_start(text, value);
    let width = value - line;
    if !text.get(value..)?.starts_with("{{") || !text.get(line..value)?.bytes().all(|b| b == b' ') {
        return None;
    }
    let above = text.get(..line)?.trim_end_matches(['\n', '\r']);
    let key = above.rsplit('\n').next()?;
    let word = key.trim_start_matches([' ', '-']).strip_suffix(':')?;
    if key.len() - key.trim_start().len() >= width || word.contains([':', ' ', '"', '\'']) {
        return None;
    }
    let (mut end, mut lines, mut next) = (value, 0, line);
    for one in text.get(line..)?.split_inclusive('\n') {
        let content = one.trim();
        if !content.is_empty() && one.len() - one.trim_start().len() < width {
            break;
        }
        if !content.is_empty() {
            end = next + one.trim_end().len();
            lines += 1;
        }
        next += one.len();
    }
    if lines < 2 || scene.at > next {
        return None;
    }
    let at = scene.location(value, end);
    let first = scene.location(value, locate::content_end(text, value));
    let message = "a multi-line text that starts with `{{` needs `|` after its key";
    let d = Diagnostic::new_error(rules::UNQUOTED_BRACES, first, message);
    // It is unknown here whether the key accepts text at all.
    let d = d.with_suggestion(format!("write `{word}: |`"), scene.location(above.len(), above.len()), " |");
    Some(SyntaxProblem { diagnostic: d, mask: Some(RecoveryMask::Quote(at.span)) })
}

/// The bytes to mark.
fn place(kind: ProblemKind, scene: &SyntaxErrorContext<'_>) -> (usize, usize) {
    let text = scene.text;
    let at = scene.at;
    match kind {
        ProblemKind::Opening => {
            let at = scene.flow.unwrap_or(at);
            (at, at + 1)
        }
        ProblemKind::Quote => {
            let at = scene.value.unwrap_or(at);
            (at, locate::content_end(text, at).max(at))
        }
        ProblemKind::Tab => {
            let line = locate::line_start(text, at);
            let before = text.get(line..text.len().min(at + 1)).unwrap_or_default();
            let after = text.get(at..).unwrap_or_default();
            match (before.rfind('\t'), after.find('\t')) {
                (Some(tab), _) => (line + tab, line + tab + 1),
                (None, Some(tab)) => (at + tab, at + tab + 1),
                (None, None) => (at, at),
            }
        }
        ProblemKind::Item => {
            let start = locate::line_start(text, at);
            let line = text.get(start..at).unwrap_or_default();
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            (start + indent, locate::word_end(text, start + indent))
        }
        ProblemKind::Value | ProblemKind::Inside | ProblemKind::Here | ProblemKind::Directive | ProblemKind::First => {
            (at, locate::word_end(text, at))
        }
    }
}

/// How to continue reading: read a value as text, or skip the broken part up to the next key at the margin.
fn mask(kind: ProblemKind, scene: &SyntaxErrorContext<'_>) -> Option<RecoveryMask> {
    let text = scene.text;
    if kind == ProblemKind::Value
        && scene.flow.is_none()
        && let Some(value) = scene.value_on_line()
    {
        let end = locate::content_end(text, value);
        return Some(RecoveryMask::Quote(Span::new(value as u32, end as u32)));
    }
    if let (ProblemKind::Quote, Some(value)) = (kind, scene.value) {
        // Only one line, because the next ones may be keys again.
        let end = locate::content_end(text, value);
        return Some(RecoveryMask::Quote(Span::new(value as u32, end as u32)));
    }
    if kind == ProblemKind::First {
        let ((start, end), _) = wording::lone_line(text)?;
        return Some(RecoveryMask::Skip(Span::new(locate::line_start(text, start) as u32, end as u32)));
    }
    if kind == ProblemKind::Directive {
        let line = wording::directive_line(text)?;
        return Some(RecoveryMask::Skip(Span::new(line as u32, locate::line_end(text, line) as u32)));
    }
    let start = match scene.flow {
        Some(_) => scene.value?,
        None => scene.value_on_line().unwrap_or_else(|| locate::line_start(text, scene.at)),
    };
    Some(RecoveryMask::Skip(to_next_key(text, start)))
}
