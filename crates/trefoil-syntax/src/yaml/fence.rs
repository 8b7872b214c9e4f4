//! Handles YAML that is still inside a Markdown code fence, possibly with prose around it.

use super::rules;
use crate::diagnostic::{Diagnostic, Fix, SourceEdit};
use crate::span::{FileId, Location, Span};

/// The characters that start a fence.
const MARKS: [&str; 2] = ["```", "~~~"];

/// The parts that are not YAML, from last to first, and the finding about them.
pub(super) fn find_fence(id: FileId, text: &str) -> Option<(Diagnostic, Vec<Span>)> {
    // Most files have none.
    if !MARKS.iter().any(|mark| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some()) {
        return None;
    }
    // Valid YAML never has a backquote at the left margin.
    let mut fences = lines(text).filter(|(_, line)| MARKS.iter().any(|mark| line.starts_with(mark)));
    let (first, fence) = fences.next()?;
    let (before, behind) = (text.get(..first.start as usize)?, text.get(first.end as usize..)?);
    let closes_only = behind.trim().is_empty() && !before.trim().is_empty();
    let mut outside = Vec::new();
    if closes_only {
        outside.push(Span::new(first.start, text.len() as u32));
    } else {
        if let Some((last, _)) = fences.next() {
            outside.push(Span::new(last.start, text.len() as u32));
        }
        outside.push(Span::new(0, first.end));
    }
    let at = |span: Span| Location::new(id, span);
    let marks = Span::new(first.start, first.start + fence.trim_end().len() as u32);
    let found = Diagnostic::new_error(rules::SYNTAX, at(marks), "a Markdown fence is not YAML");
    let mut edits = Vec::new();
    // Prose around the fence may be meant to stay, as a comment.
    let mut words = false;
    for span in outside.iter().rev() {
        edits.push(SourceEdit { location: at(*span), text: String::new() });
        let part = text.get(span.start as usize..span.end as usize).unwrap_or_default();
        words |= part.trim().lines().count() > 1;
    }
    let fix = Fix { message: "remove the fence".to_owned(), edits, safe: !words };
    let help = "keep only the text between the fences";
    Some((Diagnostic { fix: Some(Box::new(fix)), ..found.with_help(help) }, outside))
}

/// The lines of a text with their spans, including line breaks.
fn lines(text: &str) -> impl Iterator<Item = (Span, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len() as u32;
        (Span::new(start, at), line)
    })
}
