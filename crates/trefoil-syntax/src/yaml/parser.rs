//! From text to tree: rejects unsuitable files, then reads the text repeatedly until no new mistake is found.

use granit_parser::Parser;

use super::builder::{BuildStop, TreeBuilder};
use super::fence;
use super::limits::YamlLimits;
use super::problem::{self, SyntaxProblem};
use super::recovery::{RecoveryMask, RecoveryMasks};
use super::rules;
use super::tree::YamlNode;
use crate::diagnostic::{Diagnostic, FindingSeverity};
use crate::file::SourceFile;
use crate::span::{FileId, Location, Span};

/// The maximum nesting, whatever the limits say, because dropping a tree recurses.
const DEEPEST: usize = 1000;

/// The result of parsing: a tree, if there is one, and the findings.
#[derive(Debug, Clone, Default)]
pub struct YamlDocument {
    /// The root, unless the text is not YAML or is empty. After an error, the readable part.
    pub root: Option<YamlNode>,
    /// Whether the tree contains everything in the file. If not, a key missing from it may be in the file.
    pub complete: bool,
    /// The findings, in file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses one document. Never fails, never panics; [`rules`](super::rules) has what it reports.
pub fn parse(id: FileId, file: &SourceFile, limits: &YamlLimits) -> YamlDocument {
    let text: &str = file.text();
    if let Some(found) = refuse(id, file, limits) {
        return YamlDocument { root: None, complete: false, diagnostics: vec![found] };
    }
    let limits = YamlLimits { depth: limits.depth.min(DEEPEST), ..*limits };
    let mut found = Vec::new();
    let mut masks = RecoveryMasks::default();
    if let Some((fenced, outside)) = fence::find_fence(id, text) {
        found.push(fenced);
        for span in outside {
            masks.add_mask(RecoveryMask::Foreign(span), text);
        }
    }
    let (root, complete) = loop {
        let masked = if masks.is_empty() { None } else { Some(masks.apply_masks(text)) };
        let reading = read(id, text, masked.as_deref().unwrap_or(text), &limits, &masks.spans);
        let mut again = false;
        if let Some(SyntaxProblem { diagnostic, mask }) = reading.problem
            && masks.are_before(diagnostic.span)
        {
            found.push(diagnostic);
            again = match mask {
                Some(mask) => masks.add_mask(mask, text),
                None => false,
            };
        }
        if !again {
            // The skipped text may have contained the anchor.
            for finding in reading.findings {
                if finding.rule != rules::ALIAS || !masks.has_skips() {
                    found.push(finding);
                }
            }
            break (reading.root, reading.complete && !masks.has_skips());
        }
    };
    let root = root.filter(|root| !(root.span.is_empty() && root.is_null()));
    if root.is_none() && found.is_empty() {
        found.push(empty(id, text));
    }
    if let Some(control) = control_character(id, text) {
        found.retain(|d| d.rule != rules::CHARACTER);
        found.push(control);
    }
    found.sort_by_key(|d| d.span.map_or((u32::MAX, 0), |s| (s.start, s.end)));
    YamlDocument { root, complete, diagnostics: found }
}

/// The result of one reading of the text.
struct ParsePass {
    root: Option<YamlNode>,
    findings: Vec<Diagnostic>,
    problem: Option<SyntaxProblem>,
    complete: bool,
}

/// Reads `shown`, which is `text` with the masks applied.
fn read(id: FileId, text: &str, shown: &str, limits: &YamlLimits, masked: &[Span]) -> ParsePass {
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_comments: false,
        // The builder enforces the limits; these options only bound the parser's memory.
        flow_nesting_limit: limits.depth + 1,
        block_nesting_limit: limits.depth + 1,
    };
    let mut builder = TreeBuilder::new(id, text, *limits, masked);
    let mut problem = None;
    let mut complete = true;
    for event in Parser::new_from_str_with_options(shown, options) {
        match event {
            Ok((event, span)) => match builder.add_event(event, span) {
                Ok(()) => {}
                Err(stop) => {
                    complete = stop == BuildStop::SecondDocument;
                    break;
                }
            },
            Err(error) => {
                complete = false;
                problem = Some(problem::explain_error(id, text, &error, &builder, limits));
                break;
            }
        }
    }
    let (root, findings) = builder.into_root();
    ParsePass { root, findings, problem, complete }
}

/// The reason to reject the file without parsing it, if any.
fn refuse(id: FileId, file: &SourceFile, limits: &YamlLimits) -> Option<Diagnostic> {
    let text = file.text();
    let bytes = limits.bytes.min(u32::MAX as usize - 1);
    if text.len() > bytes {
        let message = format!("the file has {} bytes; the limit is {bytes}", text.len());
        return Some(
            Diagnostic::without_location(rules::LIMIT, FindingSeverity::Error, Some(id), message)
                .with_help("split the file"),
        );
    }
    if let Some(at) = file.not_utf8() {
        let at = Location::new(id, Span::new(at, at + char::REPLACEMENT_CHARACTER.len_utf8() as u32));
        let found = Diagnostic::new_error(rules::ENCODING, at, "the file is not UTF-8 text");
        return Some(found.with_help(if text.contains('\0') {
            "it looks like UTF-16 or a binary file; save it as UTF-8"
        } else {
            "save the file as UTF-8"
        }));
    }
    let nul = memchr::memchr(0, text.as_bytes())? as u32;
    let at = Location::new(id, Span::new(nul, nul + 1));
    Some(
        Diagnostic::new_error(rules::CHARACTER, at, "the file contains a NUL character (U+0000)")
            .with_help("it looks like UTF-16 or a binary file; save it as UTF-8"),
    )
}

/// The first control character in the text.
fn control_character(id: FileId, text: &str) -> Option<Diagnostic> {
    let bad = |b: &u8| *b < b' ' && !matches!(*b, b'\t' | b'\n' | b'\r');
    // Nearly every file has none, so whole blocks are tested at once.
    let block = text.as_bytes().chunks(1024).position(|block| block.iter().fold(false, |any, b| any | bad(b)))? * 1024;
    let at = block + text.as_bytes().get(block..)?.iter().position(bad)?;
    let code = text.as_bytes().get(at).copied().unwrap_or(0);
    let at = Location::new(id, Span::new(at as u32, at as u32 + 1));
    Some(
        Diagnostic::new_error(rules::CHARACTER, at, format!("the file contains a control character (U+{code:04X})"))
            .with_help(format!("remove it, or write it as `\\x{code:02X}` in double quotes")),
    )
}

fn empty(id: FileId, text: &str) -> Diagnostic {
    let blank = text.trim_start_matches('\u{feff}').trim().is_empty();
    let message = if blank { "the file is empty" } else { "the file has only comments and markers" };
    Diagnostic::without_location(rules::EMPTY, FindingSeverity::Error, Some(id), message)
}
