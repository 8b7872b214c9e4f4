//! Facts about names, collected during lowering: declarations, mentions, and the names available in each text.
//!
//! Kept separate from the program, because facts exist even if mistakes prevent a program from being made, which is
//! when an editor needs them most. A declaration is identified by the place of its name, which does not depend on how
//! often or from where its file is lowered.

use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::{ConditionGrammar, DialectWords, Policy};

use crate::types::ValueType;

/// Which facts are collected. Each level includes the ones before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactDetail {
    /// None.
    #[default]
    Nothing,
    /// Declarations and mentions, needed by rules.
    Names,
    /// Also the names available in every text, needed by editors.
    Scopes,
}

/// The facts of one lowering, in the order in which they were found. The default collects nothing; see [`Facts::with_detail`].
#[derive(Debug, Clone, Default)]
pub struct Facts {
    detail: FactDetail,
    words: Option<&'static DialectWords>,
    /// The same of the files of each program: facts of several languages are kept together.
    of_files: HashMap<FileId, &'static DialectWords>,
    /// Named things.
    pub declarations: Vec<NameDeclaration>,
    /// Places that name them.
    pub mentions: Vec<Mention>,
    /// Texts with templates or conditions, and the names available in them.
    pub scopes: Vec<Scope>,
    /// Paths in template blocks that start at the block's value.
    pub block_paths: Vec<BlockPath>,
    /// Transitions whose target was probably misspelled, so the program does not have them.
    pub broken_transitions: Vec<BrokenTransition>,
    /// Conditions that can never hold for the result of their state.
    pub impossible: Vec<ImpossibleCondition>,
    declared: HashMap<Location, usize>,
    mentioned: HashMap<(Location, Option<Location>), usize>,
    scoped: HashSet<Location>,
    inside: HashSet<Location>,
}

/// A named thing.
#[derive(Debug, Clone, PartialEq)]
pub struct NameDeclaration {
    /// Its kind.
    pub kind: DeclarationKind,
    /// The name in templates and references.
    pub name: Arc<str>,
    /// The place of its name in the manifest, without quotes; identifies the declaration. The bytes are the name,
    /// unless a dialect changes it (agntz: the step of agent `web-researcher` is `webResearcher`).
    pub at: Location,
    /// The span of the whole declaration.
    pub extent: Span,
    /// The name of the enclosing declaration.
    pub parent: Option<Location>,
    /// The type of its value, if it has one.
    pub schema: ValueType,
    /// A one-line description: `the answer of agent \`writer\``.
    pub note: Option<Arc<str>>,
}

/// The kinds of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeclarationKind {
    /// An agent: one model call, possibly with tools or attempts.
    Agent,
    /// A pipeline or workflow.
    Workflow,
    /// A step of a pipeline, by its state key.
    Step,
    /// A state of a state machine.
    State,
    /// A node of a graph.
    Node,
    /// A property of an input.
    Input,
    /// A property of an output.
    Property,
    /// A key of shared state (a written path, a Blackboard key).
    Key,
    /// A tool.
    Tool,
}

/// A place that mentions a declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// The bytes of the name: in a template one segment of a path, otherwise a whole scalar (`ref`, `to`, `agent`).
    pub at: Location,
    /// The declaration, by the place of its name. `None` if the name is unknown, or if it is not declared in a manifest
    /// (`inputs`, `workflow`); [`ValuePresence::Never`] marks unknown names.
    pub to: Option<Location>,
    /// Whether it is in a template or condition; otherwise it is the value of a key that expects a name.
    pub template: bool,
    /// Whether the value exists when it is read.
    pub defined: ValuePresence,
    /// The type of the value read up to and including this segment.
    pub schema: ValueType,
}

/// A transition whose target is not a state. The mistake is reported separately.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BrokenTransition {
    /// The origin of the state's step; for the initial state, of the state machine.
    pub from: Location,
    /// The origin of the step of the state that was probably meant; `None`: it may be any.
    pub to: Option<Location>,
}

/// A condition that can never hold for the kind of state whose transition it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ImpossibleCondition {
    /// Where it is written.
    pub at: Location,
    /// The condition as written, without its numbers.
    pub word: Arc<str>,
    /// Why.
    pub why: &'static str,
}

/// Whether a name has a value when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValuePresence {
    /// On every path to this place.
    Always,
    /// On some paths: after a gate or branch, on a later pass, after a state was visited.
    Sometimes,
    /// On no path.
    Never,
}

/// A text with templates or a condition, and the names available in it.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The scalar.
    pub at: Location,
    /// Its template language.
    pub policy: &'static Policy,
    /// Whether it is a condition rather than a template.
    pub condition: bool,
    /// What the text is used for.
    pub position: TextRole,
    /// The available roots, in the order of suggestion.
    pub names: VisibleNames,
}

/// The names that are visible in one place.
///
/// They are computed on first use: for a thousand steps that each see the steps before them, there would be half a
/// million names, but an editor needs only one place at a time. All texts of a place share one `VisibleNames`.
#[derive(Clone)]
pub struct VisibleNames(Arc<LazyLock<Box<[ScopeName]>, NameCollector>>);

type NameCollector = Box<dyn FnOnce() -> Box<[ScopeName]> + Send + Sync>;

impl VisibleNames {
    /// Names that are computed on first use.
    pub fn from_lazy(gather: impl FnOnce() -> Vec<ScopeName> + Send + Sync + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(move || gather().into()))))
    }
}

impl From<Vec<ScopeName>> for VisibleNames {
    fn from(names: Vec<ScopeName>) -> Self {
        Self::from_lazy(move || names)
    }
}

impl Deref for VisibleNames {
    type Target = [ScopeName];
    fn deref(&self) -> &[ScopeName] {
        &self.0
    }
}

impl std::fmt::Debug for VisibleNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A path in a template block that starts at the item of a loop, or at the value of another block: `this.title`.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockPath {
    /// The bytes of the whole path.
    pub at: Location,
    /// The bytes of each name after `this`.
    pub segments: Vec<Location>,
    /// The type of the value at which it starts.
    pub start: ValueType,
}

/// What a text is used for. Determines which values are safe in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextRole {
    /// A model's system message.
    System,
    /// A model's user message.
    User,
    /// A value that keeps its type: an input, an output, a tool's argument.
    Data,
    /// The same, and text that is a JSON object or list becomes one.
    Json,
    /// Data that is text, or whose text is read as what is needed there: a body, a number of instances.
    Text,
    /// A condition for control flow.
    Condition,
    /// A word of a command.
    Command,
    /// A URL.
    Url,
    /// A header of a request.
    Header,
    /// A question or message to a person.
    Person,
}

/// A name that can start a path.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopeName {
    /// The name. It is suggested with any dots in it (`workflow.context`).
    pub name: Arc<str>,
    /// Where it is declared, if it is declared in a manifest.
    pub declared: Option<Location>,
    /// Whether it has a value here.
    pub defined: ValuePresence,
    /// The type of its value.
    pub schema: ValueType,
    /// A one-line description.
    pub note: Option<Arc<str>>,
}

impl Facts {
    /// An empty collection of facts at this level of detail.
    pub fn with_detail(detail: FactDetail) -> Self {
        Self { detail, ..Self::default() }
    }
    /// The dialect's terms, used when facts are shown.
    pub fn dialect_words(&self) -> &'static DialectWords {
        self.words.unwrap_or(Policy::for_grammar(ConditionGrammar::Braced).words)
    }
    /// What the language of a file calls things.
    pub fn words_in(&self, file: FileId) -> &'static DialectWords {
        self.of_files.get(&file).copied().unwrap_or_else(|| self.dialect_words())
    }
    /// The facts, of a program in these files.
    #[must_use]
    pub fn of_files(mut self, files: impl IntoIterator<Item = FileId>) -> Self {
        let words = self.dialect_words();
        self.of_files.extend(files.into_iter().map(|file| (file, words)));
        self
    }
    /// Sets the dialect's terms.
    #[must_use]
    pub fn in_words(self, words: &'static DialectWords) -> Self {
        Self { words: Some(words), ..self }
    }
    /// The level of detail. Facts beyond it are not computed.
    pub fn detail_level(&self) -> FactDetail {
        self.detail
    }
    fn has_detail(&self, detail: FactDetail) -> bool {
        self.detail >= detail
    }
    /// Adds a declaration, unless one with the same place is known.
    pub fn add_declaration(&mut self, declaration: NameDeclaration) {
        if self.has_detail(FactDetail::Names)
            && let Entry::Vacant(place) = self.declared.entry(declaration.at)
        {
            place.insert(self.declarations.len());
            self.declarations.push(declaration);
        }
    }
    /// Adds a mention. If a place mentions a name twice (a text that two nodes share), a value that exists for only one
    /// of them is defined sometimes.
    pub fn add_mention(&mut self, mention: Mention) {
        if !self.has_detail(FactDetail::Names) {
            return;
        }
        match self.mentioned.entry((mention.at, mention.to)) {
            Entry::Vacant(place) => {
                place.insert(self.mentions.len());
                self.mentions.push(mention);
            }
            Entry::Occupied(known) => {
                if let Some(known) = self.mentions.get_mut(*known.get())
                    && known.defined != mention.defined
                {
                    known.defined = ValuePresence::Sometimes;
                }
            }
        }
    }
    /// Adds the names available in a text. If a text is read in two places, the first one counts.
    pub fn add_scope(&mut self, scope: Scope) {
        if self.has_detail(FactDetail::Scopes) && self.scoped.insert(scope.at) {
            self.scopes.push(scope);
        }
    }
    /// Adds a path in a block. If a text is read in two places, the first one counts.
    pub fn add_block_path(&mut self, inside: BlockPath) {
        if self.has_detail(FactDetail::Scopes) && self.inside.insert(inside.at) {
            self.block_paths.push(inside);
        }
    }
    /// Adds the facts of another lowering of the same files, without duplicates.
    pub fn merge_from(&mut self, other: Self) {
        if self.has_detail(FactDetail::Names)
            && self.declarations.is_empty()
            && self.mentions.is_empty()
            && self.scopes.is_empty()
            && self.broken_transitions.is_empty()
        {
            let mut of_files = std::mem::take(&mut self.of_files);
            of_files.extend(other.of_files);
            *self = Self { detail: self.detail, of_files, ..other };
            return;
        }
        self.of_files.extend(other.of_files);
        other.declarations.into_iter().for_each(|d| self.add_declaration(d));
        other.mentions.into_iter().for_each(|m| self.add_mention(m));
        other.scopes.into_iter().for_each(|s| self.add_scope(s));
        other.block_paths.into_iter().for_each(|i| self.add_block_path(i));
        other.broken_transitions.into_iter().for_each(|l| self.add_broken_transition(l));
        other.impossible.into_iter().for_each(|one| self.add_impossible_condition(one));
    }
    /// Adds a condition that can never hold.
    pub fn add_impossible_condition(&mut self, one: ImpossibleCondition) {
        if self.has_detail(FactDetail::Names) && !self.impossible.contains(&one) {
            self.impossible.push(one);
        }
    }
    /// Adds a transition whose target is not a state.
    pub fn add_broken_transition(&mut self, lead: BrokenTransition) {
        if self.has_detail(FactDetail::Names) && !self.broken_transitions.contains(&lead) {
            self.broken_transitions.push(lead);
        }
    }
    /// The declaration with its name at this place.
    pub fn declaration_at(&self, at: Location) -> Option<&NameDeclaration> {
        self.declared.get(&at).and_then(|i| self.declarations.get(*i))
    }
}

impl ScopeName {
    /// A name with a value of an unknown type.
    pub fn new(name: impl Into<Arc<str>>, defined: ValuePresence) -> Self {
        Self { name: name.into(), declared: None, defined, schema: ValueType::Any, note: None }
    }
    /// Sets where it is declared.
    #[must_use]
    pub fn with_declaration(mut self, at: Location) -> Self {
        self.declared = Some(at);
        self
    }
    /// Sets the type.
    #[must_use]
    pub fn with_schema(mut self, schema: ValueType) -> Self {
        self.schema = schema;
        self
    }
    /// Sets the description.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<Arc<str>>) -> Self {
        self.note = Some(note.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{ConditionGrammar, FactDetail, Facts, FileId, Policy};

    #[test]
    fn files_of_several_languages_keep_their_words() {
        let all =
            [ConditionGrammar::Handlebars, ConditionGrammar::Braced, ConditionGrammar::Python].map(Policy::for_grammar);
        let mut facts = Facts::with_detail(FactDetail::Names);
        for (file, policy) in all.iter().enumerate() {
            facts.merge_from(
                Facts::with_detail(FactDetail::Names).in_words(policy.words).of_files([FileId(file as u32)]),
            );
        }
        for (file, policy) in all.iter().enumerate() {
            assert_eq!(facts.words_in(FileId(file as u32)), policy.words, "{file}");
        }
    }
}
