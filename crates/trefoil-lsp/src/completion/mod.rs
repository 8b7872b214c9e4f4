//! Completion: names and properties in templates and conditions, keys and values of the format, ids, rules in comments.
//!
//! A text that is being written is often no YAML or no template yet. Then it is looked at as it would be with a stand-in at
//! the cursor; what is replaced is always in the text as it is.

mod deeper;
mod elsewhere;
mod inside;
mod seen;
mod structure;
mod template;

pub use seen::environment;
pub use seen::{models, written as written_model};
pub use structure::named_by;
pub use template::in_tag;

use trefoil_check::RULES;
use trefoil_syntax::{FileId, Span};

use crate::analysis::Analysis;
use crate::cursor::line;

/// What stands in for what is still to be written.
const STAND_IN: &str = "zzz";

/// What sort of thing is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemSort {
    /// A name that begins a path, or that a key takes.
    Name,
    /// A property of a value.
    Property,
    /// A key of the format.
    Key,
    /// A value out of a choice.
    Value,
    /// A block, helper or filter.
    Word,
    /// A rule.
    Rule,
}

/// Something that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What is shown.
    pub label: String,
    /// What is put in.
    pub insert: String,
    /// What sort of thing.
    pub sort: ItemSort,
    /// A few words beside it.
    pub detail: Option<String>,
    /// More about it, in Markdown.
    pub documentation: Option<String>,
}

impl Item {
    fn new(label: impl Into<String>, sort: ItemSort) -> Self {
        let label = label.into();
        Self { insert: label.clone(), label, sort, detail: None, documentation: None }
    }
    fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
    fn documentation(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.documentation = (!text.is_empty()).then_some(text);
        self
    }
}

/// What is offered at a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// The bytes that an item takes the place of.
    pub replace: Span,
    /// The items, the likeliest first.
    pub items: Vec<Item>,
}

/// What is allowed at an offset. `retry` gives the analysis there would be if the file had another text.
pub fn complete(
    analysis: &Analysis,
    file: FileId,
    offset: u32,
    retry: &mut dyn FnMut(&str) -> Option<(Analysis, FileId)>,
) -> Completion {
    let text = analysis.text(file);
    if let Some(found) = rules(text, offset) {
        return found;
    }
    if template::in_tag(text, offset) || template::in_bare_condition(analysis, file, offset) {
        return template::complete(analysis, file, offset, retry);
    }
    if in_comment(text, offset) {
        return Completion::default();
    }
    if structure::takes_condition(text, offset) {
        let found = template::complete(analysis, file, offset, retry);
        if !found.items.is_empty() {
            return found;
        }
    }
    structure::complete(analysis, file, offset)
}

/// The rules, in a comment that allows some.
fn rules(text: &str, offset: u32) -> Option<Completion> {
    let before = text.get(line(text, offset).start as usize..offset as usize)?;
    let said = before.get(before.rfind("# trefoil:")? + "# trefoil:".len()..)?.trim_start();
    let verbs = ["allow", "allow-file"];
    if verbs.iter().any(|verb| verb.starts_with(said)) {
        let verbs = verbs.into_iter().filter(|verb| verb.starts_with(said));
        let items = verbs.map(|verb| Item { insert: format!("{verb} "), ..Item::new(verb, ItemSort::Word) });
        return Some(Completion { replace: Span::new(offset - said.len() as u32, offset), items: items.collect() });
    }
    let named = said.strip_prefix("allow-file").or_else(|| said.strip_prefix("allow"))?;
    if !named.starts_with([' ', '\t']) || named.contains("--") {
        return None;
    }
    let written = named.rsplit([' ', '\t', ',']).next().unwrap_or_default();
    let items =
        RULES.iter().map(|r| Item::new(r.name, ItemSort::Rule).detail(r.group.name()).documentation(r.summary()));
    Some(Completion { replace: Span::new(offset - written.len() as u32, offset), items: items.collect() })
}

fn in_comment(text: &str, offset: u32) -> bool {
    let before = text.get(line(text, offset).start as usize..offset as usize).unwrap_or_default();
    before.trim_start().starts_with('#')
}
