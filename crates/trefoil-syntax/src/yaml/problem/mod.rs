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
        self.value.filter(|v| locate::same_line(self.text, *v, self.at))
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
    let last = builder.last_value.map(|last| last.start as usize);
    if let Some(problem) = braces(&scene).or_else(|| last.and_then(|last| text_of_lines(&scene, last))) {
        return problem;
    }
    let ErrorWording { kind, rule, message, help, place: told, above, uneven } =
        wording::error_wording(error.kind(), &scene, limits);
    let (kind, message, help) =
        match scene.flow.filter(|open| kind == ProblemKind::Inside && left_open(text, *open, at)) {
            Some(open) => {
                let (open, close) = if text.as_bytes().get(open) == Some(&b'[') { ('[', ']') } else { ('{', '}') };
                let help = format!("add `{close}`, or put quotes around the value if it is text");
                (ProblemKind::Opening, format!("`{open}` is not closed"), Some(help))
            }
            None => (kind, message, help),
        };
    let further = uneven.then(|| too_far_in(text, at)).flatten();
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
    let advice = match (kind, scene.value_on_line()) {
        (ProblemKind::Value, Some(value))
            if flow.is_none() && !text.get(value..).is_some_and(|t| t.starts_with(['"', '\''])) =>
        {
            quoted_text(text.get(value..locate::content_end(text, value)).unwrap_or_default())
                .map(|quoted| format!("put quotes around the whole value: {quoted}"))
        }
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

/// The first line of a block, if the line at `at` and those after it are indented less. As the only line with its
/// indentation, the first one is the wrong one.
fn too_far_in(text: &str, at: usize) -> Option<(usize, usize)> {
    let content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let start = locate::line_start(text, at);
    let own = indent(text.get(start..locate::line_end(text, at))?);
    let above: Vec<&str> = text.get(..start)?.lines().collect();
    let parent = above.iter().rposition(|line| content(line) && indent(line) < own)?;
    let block: Vec<&str> = above.get(parent + 1..)?.iter().copied().filter(content).collect();
    let (first, outer) = (*block.first()?, indent(above.get(parent)?));
    let beside = |level: usize, lines: &mut dyn Iterator<Item = &str>| lines.filter(|l| indent(l) == level).count();
    let before = beside(indent(first), &mut block.iter().copied());
    let below = text.get(start..)?.lines().filter(content).take_while(|l| indent(l) >= own);
    let after = beside(own, &mut below.into_iter());
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
    let content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let start = locate::line_start(text, at);
    let own = indent(text.get(start..locate::line_end(text, at))?);
    let mut lines = text.get(..start)?.lines().rev().filter(content);
    let (above, before) = (lines.next()?, lines.next()?);
    let begin = above.as_ptr() as usize - text.as_ptr() as usize + indent(above);
    let place = (begin, begin + above.trim().len());
    let key = |line: &str| line.trim_start().split_once(": ").is_some_and(|(key, _)| !key.contains([' ', '"', '\'']));
    if let Some(item) = above.trim_start().strip_prefix("- ") {
        let aside = key(item) && own <= indent(above) && own + 2 > indent(above) && before.trim_end().ends_with(':');
        return aside
            .then_some((place, "or the item is indented too far; its keys are aligned two columns after its `-`"));
    }
    if !key(above) || indent(above) >= own {
        return None;
    }
    if indent(before) > indent(above) && indent(before) <= own {
        return Some((place, "this line is indented less than its neighbours"));
    }
    let below = indent(before) == indent(above) && before.trim_end().ends_with(':');
    below.then_some((place, "this line is not indented further than the key above it"))
}

/// Whether a bracket was certainly left open on its own line: the next line is not indented further and closes nothing.
fn left_open(text: &str, open: usize, at: usize) -> bool {
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let own = text.get(locate::line_start(text, open)..locate::line_end(text, open)).unwrap_or_default();
    let below = text.get(locate::line_end(text, open)..).unwrap_or_default();
    let next = below.lines().find(|line| !blank(line));
    !locate::same_line(text, open, at)
        && next.is_some_and(|next| indent(next) <= indent(own) && !next.trim_start().starts_with([']', '}', ',']))
}

/// The finding, with a suggestion to replace the tabs at `at` with spaces. Their number is guessed from the line above.
fn without_tab(scene: &SyntaxErrorContext<'_>, at: usize, found: Diagnostic) -> Diagnostic {
    let text = scene.text;
    let start = locate::line_start(text, at);
    let line = text.get(start..locate::line_end(text, at)).unwrap_or_default();
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    if at >= start + indent {
        let run = text.get(at..).map_or(0, |t| t.len() - t.trim_start_matches('\t').len());
        return found.with_suggestion("write a space", scene.location(at, at + run), " ");
    }
    let above = text.get(..start).unwrap_or_default().lines().rev();
    let above =
        above.map(str::trim_end).find(|l| !l.is_empty() && !l.trim_start().starts_with('#')).unwrap_or_default();
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
    (in_list && line.trim_start_matches(' ').starts_with('-')).then_some(next)
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
            let before = text.get(locate::line_start(text, at)..text.len().min(at + 1)).unwrap_or_default();
            let tab = match before.rfind('\t') {
                Some(i) => Some(locate::line_start(text, at) + i),
                None => text.get(at..).and_then(|after| after.find('\t')).map(|i| at + i),
            };
            tab.map_or((at, at), |tab| (tab, tab + 1))
        }
        ProblemKind::Item => {
            let start = locate::line_start(text, at);
            let indent = text.get(start..at).map_or(0, |line| line.len() - line.trim_start_matches([' ', '\t']).len());
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
