//! Text for people: message, excerpt with carets, other places, advice, in the layout that compilers use.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet};

use super::escape::escape_same_length;
use super::{clean_line, file_and_span};
use crate::diagnostic::{Diagnostic, FindingSeverity};
use crate::file::{SourceFile, SourceFiles};
use crate::span::{FileId, Span};

/// A span of at least this many lines is marked only to the end of its first line.
const LINES: u32 = 3;
/// Longer lines are cut around the marked part.
const LINE_BYTES: u32 = 2000;
/// How many bytes of a cut line are shown on each side of the marked part.
const MARGIN: u32 = 400;
/// Marks in one file that are further apart get separate excerpts.
const APART: u32 = 32_000;

/// Layout options.
#[derive(Debug, Clone, Copy)]
pub struct TextOptions {
    /// Whether to write terminal colours.
    pub color: bool,
    /// Width of the terminal in columns; source lines are cut to this width.
    pub width: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { color: false, width: 120 }
    }
}

/// One block for each finding, separated by blank lines.
pub fn render_text(diagnostics: &[Diagnostic], files: &SourceFiles, options: TextOptions) -> String {
    let renderer = if options.color { Renderer::styled() } else { Renderer::plain() }.term_width(options.width);
    let mut out = String::new();
    for d in diagnostics {
        if !out.is_empty() {
            out.push('\n');
        }
        let (group, cut) = group(d, files);
        let block = match patch(d, files) {
            Some(patch) => renderer.render(&[group, patch]),
            None => renderer.render(&[group]),
        };
        // Lines of the frame in which nothing is framed.
        let is_nowhere = file_and_span(files, d.file, d.span).0.is_none() && d.fix.is_none();
        let is_bare = |line: &str| cut && consists_of(line, ":::") || is_nowhere && consists_of(line, "|");
        for line in block.trim_end_matches('\n').lines() {
            if !is_bare(line) {
                out.extend([line, "\n"]);
            }
        }
    }
    out
}

/// Whether a line consists of a sign of the renderer. `:::` without a file name is the separator between a place that we name
/// ourselves and the next excerpt.
fn consists_of(line: &str, sign: &str) -> bool {
    let mut escape = false;
    let text = line.chars().filter(|c| {
        let shown = !escape && *c != '\x1b';
        escape = *c == '\x1b' || (escape && *c != 'm');
        shown
    });
    text.filter(|c| *c != ' ').eq(sign.chars())
}

/// A finding in the form that the renderer accepts, and whether a line in it is cut.
fn group<'a>(d: &'a Diagnostic, files: &'a SourceFiles) -> (Group<'a>, bool) {
    let mut cut = false;
    let level = match d.severity {
        FindingSeverity::Error => Level::ERROR,
        FindingSeverity::Warning => Level::WARNING,
        FindingSeverity::Info => Level::INFO,
        FindingSeverity::Hint => Level::NOTE,
    };
    let mut group = Group::with_title(level.primary_title(clean_line(&d.message)).id(d.rule));
    let (file, span) = file_and_span(files, d.file, d.span);
    match (file, span) {
        (Some(file), Some(span)) => {
            for excerpt in excerpts(d, file, span, files) {
                group = excerpt.add_to(group, &mut cut);
            }
        }
        (Some(file), None) => group = group.element(Origin::path(clean_line(file.name()))),
        (None, _) => {}
    }
    if let Some(help) = &d.help
        && d.fix.is_none()
    {
        group = group.element(Level::HELP.message(clean_line(help)));
    }
    (group, cut)
}

/// The advice and the fix of a finding: the changed lines, or only the message of the fix if they are long.
fn patch<'a>(d: &'a Diagnostic, files: &'a SourceFiles) -> Option<Group<'a>> {
    let fix = d.fix.as_deref()?;
    let title = match &d.help {
        Some(help) => clean_line(help),
        None => clean_line(&fix.message),
    };
    let mut group = Group::with_title(Level::HELP.secondary_title(title));
    let mut files_of: Vec<FileId> = fix.edits.iter().map(|e| e.location.file).collect();
    files_of.dedup();
    for id in files_of {
        let Some(file) = files.get(id) else { continue };
        let edits: Vec<_> = fix.edits.iter().filter(|e| e.location.file == id).collect();
        let cover = edits.iter().map(|e| marked_part(file, e.location.span)).reduce(Span::cover_both)?;
        let (first, last) = (file.line_number(cover.start), file.line_number(cover.end));
        let whole = Span::new(file.line_span(first).start, file.line_span(last).end.max(cover.end));
        // Deleting a whole line also deletes its line break, which `shown` may leave out.
        let long = whole.len() > APART || (first..=last).any(|line| file.line_span(line).len() > LINE_BYTES);
        if long || edits.iter().any(|e| e.text.len() as u32 > LINE_BYTES || cover.end < e.location.span.end) {
            if d.help.is_some() {
                group = group.element(Level::NOTE.message(clean_line(&fix.message)));
            }
            continue;
        }
        let (start, source) = slice(file.text(), whole);
        let within = |offset: u32| (offset as usize).saturating_sub(start).min(source.len());
        let patches = edits.iter().map(|e| {
            let span = e.location.span;
            Patch::new(within(span.start)..within(span.end), tame_text(&e.text))
        });
        group = group.element(
            Snippet::source(escape_same_length(source))
                .line_start(first as usize)
                .path(clean_line(file.name()))
                .patches(patches),
        );
    }
    Some(group)
}

/// Inserted text in displayable form.
fn tame_text(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_ascii_control() && c != '\n' { ' ' } else { c }).collect();
    escape_same_length(&text).into_owned()
}

/// The marks in one part of a file.
struct SourceExcerpt<'a> {
    file: &'a SourceFile,
    id: FileId,
    marks: Vec<ExcerptMark<'a>>,
}

struct ExcerptMark<'a> {
    span: Span,
    label: Option<&'a str>,
    primary: bool,
}

fn excerpts<'a>(d: &'a Diagnostic, file: &'a SourceFile, span: Span, files: &'a SourceFiles) -> Vec<SourceExcerpt<'a>> {
    let id = d.file.unwrap_or(FileId(0));
    let mut all = vec![SourceExcerpt {
        file,
        id,
        marks: vec![ExcerptMark { span: marked_part(file, span), label: None, primary: true }],
    }];
    for label in &d.labels {
        let Some(file) = files.get(label.location.file) else { continue };
        let mark =
            ExcerptMark { span: marked_part(file, label.location.span), label: Some(&label.message), primary: false };
        match all.iter_mut().find(|e| e.id == label.location.file && e.takes(&mark)) {
            Some(excerpt) => excerpt.marks.push(mark),
            None => all.push(SourceExcerpt { file, id: label.location.file, marks: vec![mark] }),
        }
    }
    all
}

/// The part of a span that is marked: only the first line of a long span.
fn marked_part(file: &SourceFile, span: Span) -> Span {
    let end = file.text().len() as u32;
    let (start, mut stop) = (span.start.min(end), span.end.clamp(span.start.min(end), end));
    let (first, last) = (file.line_number(start), file.line_number(stop));
    let line = file.line_span(first);
    if last - first + 1 >= LINES || line.len() > LINE_BYTES {
        stop = stop.min(line.end).max(start);
    }
    Span::new(start, stop.min(start + MARGIN.max(LINES * LINE_BYTES)))
}

impl<'a> SourceExcerpt<'a> {
    fn cover(&self) -> Span {
        self.marks.iter().map(|m| m.span).reduce(Span::cover_both).unwrap_or_default()
    }
    /// Whether a mark is close enough to share the excerpt.
    fn takes(&self, mark: &ExcerptMark<'_>) -> bool {
        self.cover().cover_both(mark.span).len() <= APART
    }
    fn add_to(self, mut group: Group<'a>, cut: &mut bool) -> Group<'a> {
        let cover = self.cover();
        let (first, last) = (self.file.line_number(cover.start), self.file.line_number(cover.end));
        let (head, tail) = (self.file.line_span(first), self.file.line_span(last));
        let whole = Span::new(head.start, tail.end.max(cover.end));
        let name = clean_line(self.file.name());
        if (first..=last).all(|line| self.file.line_span(line).len() <= LINE_BYTES) {
            let (start, source) = slice(self.file.text(), whole);
            let marks: Vec<_> = self.marks.iter().map(|m| annotation(m, start, source.len())).collect();
            return group.element(
                Snippet::source(escape_same_length(source)).line_start(first as usize).path(name).annotations(marks),
            );
        }
        // The renderer would count columns from the cut, so each place is named here.
        *cut = true;
        for mark in &self.marks {
            let place = self.file.line_column(mark.span.start);
            let line = self.file.line_span(place.line);
            let window = Span::new(
                mark.span.start.saturating_sub(MARGIN).max(line.start),
                (mark.span.end + MARGIN).min(line.end.max(mark.span.end)),
            );
            let (start, source) = slice(self.file.text(), window);
            let origin = Origin::path(name.clone()).line(place.line as usize).char_column(place.column as usize);
            let annotation = annotation(mark, start, source.len());
            let snippet = Snippet::source(escape_same_length(source)).line_start(place.line as usize);
            group = group.element(origin).element(snippet.annotation(annotation));
        }
        group
    }
}

/// The whole characters of a text that a window touches, and the offset of the first one.
fn slice(text: &str, window: Span) -> (usize, &str) {
    let (mut start, mut end) = (window.start as usize, window.end as usize);
    while start < end && !text.is_char_boundary(start) {
        start += 1;
    }
    while end > start && !text.is_char_boundary(end) {
        end -= 1;
    }
    if start == 0 && text.starts_with('\u{feff}') {
        start = '\u{feff}'.len_utf8().min(end);
    }
    (start, text.get(start..end).unwrap_or_default())
}

fn annotation<'a>(mark: &ExcerptMark<'a>, start: usize, length: usize) -> Annotation<'a> {
    let within = |offset: u32| (offset as usize).saturating_sub(start).min(length);
    let range: Range<usize> = within(mark.span.start)..within(mark.span.end);
    let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    kind.span(range).label(mark.label.map(clean_line))
}
