//! Names in the blocks of a template: the properties of a loop's item, or of the value of a block.

use trefoil_ir::facts::{BlockPath, Scope};
use trefoil_syntax::FileId;
use trefoil_template::policy::BlockSyntax;

use super::tag::{CursorPath, closes_tag, helper_items, property_items_at, word_items};
use super::{CompletionItem, CompletionItems, STAND_IN};
use crate::analysis::{FolderAnalysis, location_touches};

/// Words that are allowed there in addition to properties.
const WORDS: &[&str] = &["this", "@index", "@key", "@first", "@last", "@root", "else"];

/// Completes at an offset in a loop or another block with its own value; `None` elsewhere, and for a path that leads
/// out of the block. `retry` returns the analysis with another text.
pub fn complete_in_block(
    analysis: &FolderAnalysis,
    file: FileId,
    offset: u32,
    retry: &mut dyn FnMut(&str) -> Option<(FolderAnalysis, FileId)>,
) -> Option<CompletionItems> {
    let scope: &Scope = analysis.scope_at(file, offset)?;
    if scope.policy.blocks != BlockSyntax::Handlebars {
        return None;
    }
    let text = analysis.file_text(file);
    let begun = text.get(scope.at.span.start as usize..offset as usize)?;
    let open = open_blocks(begun);
    if !open.iter().any(|b| b.has_value) {
        return None;
    }
    let replace = CursorPath::at_offset(text, offset).last;
    // Only a few words start with `@`, whatever the block's value is.
    let tag = begun.rsplit("{{").next().unwrap_or_default();
    if tag.rsplit([' ', '(']).next().unwrap_or_default().starts_with('@') {
        let words: Vec<&str> = WORDS.iter().copied().filter(|word| word.starts_with('@')).collect();
        return Some(CompletionItems { replace, items: word_items(&words) });
    }
    if let Some(inside) = inside_at(analysis, file, offset) {
        return Some(CompletionItems { replace, items: items(analysis, inside, offset) });
    }
    let (above, below) = (text.get(..offset as usize)?, text.get(offset as usize..)?);
    let line = below.lines().next().unwrap_or_default();
    let close = if closes_tag(line) { "" } else { "}}" };
    // First assume that the blocks are closed further below, then close them here.
    let ends: String = open.iter().rev().map(|b| format!("{{{{/{}}}}}", b.name)).collect();
    let attempts = [
        format!("{above}{STAND_IN}{close}{below}"),
        format!("{above}{STAND_IN}}}}}{ends}{}", below.get(line.len()..).unwrap_or_default()),
    ];
    for attempt in &attempts {
        if let Some((analysis, file)) = retry(attempt)
            && let Some(inside) = inside_at(&analysis, file, offset)
        {
            return Some(CompletionItems { replace, items: items(&analysis, inside, offset) });
        }
    }
    None
}

/// The path of a block that an offset is in.
fn inside_at(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<&BlockPath> {
    let all = analysis.facts().block_paths.iter().filter(|inside| location_touches(inside.at, file, offset));
    all.min_by_key(|inside| inside.at.span.len())
}

fn items(analysis: &FolderAnalysis, inside: &BlockPath, offset: u32) -> Vec<CompletionItem> {
    let mut done: Vec<&str> = Vec::new();
    for segment in &inside.segments {
        if segment.span.end >= offset {
            break;
        }
        done.push(analysis.text_at(*segment));
    }
    let mut items = property_items_at(&inside.start, &done);
    let bare = matches!(inside.segments.first(), Some(first) if first.span.start == inside.at.span.start);
    if done.is_empty() && bare {
        if let Some(scope) = analysis.scope_at(inside.at.file, offset) {
            items.extend(helper_items(scope));
        }
        items.extend(word_items(WORDS));
    }
    items
}

/// An unclosed block.
#[derive(Debug, PartialEq, Eq)]
struct UnclosedBlock<'t> {
    name: &'t str,
    /// Whether paths in it start at its value.
    has_value: bool,
}

/// The unclosed blocks of a text, outermost first. An unclosed tag does not count.
fn open_blocks(text: &str) -> Vec<UnclosedBlock<'_>> {
    let mut open: Vec<UnclosedBlock<'_>> = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).unwrap_or_default().find("{{") {
        let start = at + found;
        let rest = text.get(start + 2..).unwrap_or_default();
        let end = if rest.starts_with("!--") { "--}}" } else { "}}" };
        let Some(length) = rest.find(end) else { break };
        at = start + 2 + length + end.len();
        if text.get(..start).unwrap_or_default().ends_with('\\') {
            continue;
        }
        let tag = rest.get(..length).unwrap_or_default();
        let tag = tag.trim_matches(|c: char| c == '~' || c.is_whitespace());
        if let Some(rest) = tag.strip_prefix(['#', '^'])
            && !rest.is_empty()
        {
            let name = rest.split_whitespace().next().unwrap_or_default();
            open.push(UnclosedBlock { name, has_value: matches!(name, "each" | "with") && tag.starts_with('#') });
        } else if tag.starts_with('/') {
            open.pop();
        } else if (tag == "else" || tag == "^" || tag.starts_with("else "))
            && let Some(last) = open.last_mut()
        {
            // The alternative of a loop has no item.
            last.has_value = false;
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::open_blocks;

    #[test]
    fn blocks_are_open_until_they_are_closed() {
        let names = |text: &str| {
            let all = open_blocks(text).into_iter();
            all.map(|b| format!("{}{}", b.name, if b.has_value { "" } else { "-" })).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("a {{#each xs}} {{#if this.a}} {{this."), "each if-");
        assert_eq!(names("{{#each xs}}{{/each}}{{"), "");
        assert_eq!(names("{{~#with x as |y| ~}} {{!-- {{/with}} --}} \\{{/with}} {{"), "with");
        assert_eq!(names("{{#each xs}}{{else}}{{"), "each-");
        assert_eq!(names("{{#each xs}}{{#if a}}{{else}}{{/if}}{{#each this.b}}"), "each each");
        assert_eq!(names("{{^each xs}}{{"), "each-");
        assert_eq!(names("{{#"), "");
    }
}
