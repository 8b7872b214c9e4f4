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
use trefoil_template::{ConditionGrammar, Policy, Words};

use crate::types::Type;

/// Which facts are collected. Each level includes the ones before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// None.
    #[default]
    Nothing,
    /// Declarations and mentions, needed by rules.
    Names,
    /// Also the names available in every text, needed by editors.
    Scopes,
}

/// The facts of one lowering, in the order in which they were found. The default collects nothing; see [`Facts::of`].
#[derive(Debug, Clone, Default)]
pub struct Facts {
    detail: Detail,
    words: Option<&'static Words>,
    /// The same of the files of each program: facts of several languages are kept together.
    of_files: HashMap<FileId, &'static Words>,
    /// Named things.
    pub declarations: Vec<Declaration>,
    /// Places that name them.
    pub mentions: Vec<Mention>,
    /// Texts with templates or conditions, and the names available in them.
    pub scopes: Vec<Scope>,
    /// Paths in template blocks that start at the block's value.
    pub insides: Vec<Inside>,
    /// Transitions whose target was probably misspelled, so the program does not have them.
    pub leads: Vec<Lead>,
    /// Conditions that can never hold for the result of their state.
    pub impossible: Vec<Impossible>,
    declared: HashMap<Location, usize>,
    mentioned: HashMap<(Location, Option<Location>), usize>,
    scoped: HashSet<Location>,
    inside: HashSet<Location>,
}

/// A named thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
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
    pub schema: Type,
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
    /// (`inputs`, `workflow`); [`Defined::Never`] marks unknown names.
    pub to: Option<Location>,
    /// Whether it is in a template or condition; otherwise it is the value of a key that expects a name.
    pub template: bool,
    /// Whether the value exists when it is read.
    pub defined: Defined,
    /// The type of the value read up to and including this segment.
    pub schema: Type,
}

/// A transition whose target is not a state. The mistake is reported separately.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lead {
    /// The origin of the state's step; for the initial state, of the state machine.
    pub from: Location,
    /// The origin of the step of the state that was probably meant; `None`: it may be any.
    pub to: Option<Location>,
}

/// A condition that can never hold for the kind of state whose transition it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Impossible {
    /// Where it is written.
    pub at: Location,
    /// The condition as written, without its numbers.
    pub word: Arc<str>,
    /// Why.
    pub why: &'static str,
}

/// Whether a name has a value when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Defined {
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
    pub position: Position,
    /// The available roots, in the order of suggestion.
    pub names: Visible,
}

/// The names that are visible in one place.
///
/// They are computed on first use: for a thousand steps that each see the steps before them, there would be half a
/// million names, but an editor needs only one place at a time. All texts of a place share one `Visible`.
#[derive(Clone)]
pub struct Visible(Arc<LazyLock<Box<[Name]>, Gather>>);

type Gather = Box<dyn FnOnce() -> Box<[Name]> + Send + Sync>;

impl Visible {
    /// Names that are computed on first use.
    pub fn lazily(gather: impl FnOnce() -> Vec<Name> + Send + Sync + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(move || gather().into()))))
    }
}

impl From<Vec<Name>> for Visible {
    fn from(names: Vec<Name>) -> Self {
        Self::lazily(move || names)
    }
}

impl Deref for Visible {
    type Target = [Name];
    fn deref(&self) -> &[Name] {
        &self.0
    }
}

impl std::fmt::Debug for Visible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A path in a template block that starts at the item of a loop, or at the value of another block: `this.title`.
#[derive(Debug, Clone, PartialEq)]
pub struct Inside {
    /// The bytes of the whole path.
    pub at: Location,
    /// The bytes of each name after `this`.
    pub segments: Vec<Location>,
    /// The type of the value at which it starts.
    pub start: Type,
}

/// What a text is used for. Determines which values are safe in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Position {
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
pub struct Name {
    /// The name. It is suggested with any dots in it (`workflow.context`).
    pub name: Arc<str>,
    /// Where it is declared, if it is declared in a manifest.
    pub declared: Option<Location>,
    /// Whether it has a value here.
    pub defined: Defined,
    /// The type of its value.
    pub schema: Type,
    /// A one-line description.
    pub note: Option<Arc<str>>,
}

impl Facts {
    /// An empty collection of facts at this level of detail.
    pub fn of(detail: Detail) -> Self {
        Self { detail, ..Self::default() }
    }
    /// The dialect's terms, used when facts are shown.
    pub fn words(&self) -> &'static Words {
        self.words.unwrap_or(Policy::with(ConditionGrammar::Braced).words)
    }
    /// What the language of a file calls things.
    pub fn words_in(&self, file: FileId) -> &'static Words {
        self.of_files.get(&file).copied().unwrap_or_else(|| self.words())
    }
    /// The facts, of a program in these files.
    #[must_use]
    pub fn of_files(mut self, files: impl IntoIterator<Item = FileId>) -> Self {
        let words = self.words();
        self.of_files.extend(files.into_iter().map(|file| (file, words)));
        self
    }
    /// Sets the dialect's terms.
    #[must_use]
    pub fn in_words(self, words: &'static Words) -> Self {
        Self { words: Some(words), ..self }
    }
    /// The level of detail. Facts beyond it are not computed.
    pub fn detail(&self) -> Detail {
        self.detail
    }
    fn are(&self, detail: Detail) -> bool {
        self.detail >= detail
    }
    /// Adds a declaration, unless one with the same place is known.
    pub fn declare(&mut self, declaration: Declaration) {
        if self.are(Detail::Names)
            && let Entry::Vacant(place) = self.declared.entry(declaration.at)
        {
            place.insert(self.declarations.len());
            self.declarations.push(declaration);
        }
    }
    /// Adds a mention. If a place mentions a name twice (a text that two nodes share), a value that exists for only one
    /// of them is defined sometimes.
    pub fn mention(&mut self, mention: Mention) {
        if !self.are(Detail::Names) {
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
                    known.defined = Defined::Sometimes;
                }
            }
        }
    }
    /// Adds the names available in a text. If a text is read in two places, the first one counts.
    pub fn scope(&mut self, scope: Scope) {
        if self.are(Detail::Scopes) && self.scoped.insert(scope.at) {
            self.scopes.push(scope);
        }
    }
    /// Adds a path in a block. If a text is read in two places, the first one counts.
    pub fn inside(&mut self, inside: Inside) {
        if self.are(Detail::Scopes) && self.inside.insert(inside.at) {
            self.insides.push(inside);
        }
    }
    /// Adds the facts of another lowering of the same files, without duplicates.
    pub fn merge(&mut self, other: Self) {
        if self.are(Detail::Names)
            && self.declarations.is_empty()
            && self.mentions.is_empty()
            && self.scopes.is_empty()
            && self.leads.is_empty()
        {
            let mut of_files = std::mem::take(&mut self.of_files);
            of_files.extend(other.of_files);
            *self = Self { detail: self.detail, of_files, ..other };
            return;
        }
        self.of_files.extend(other.of_files);
        other.declarations.into_iter().for_each(|d| self.declare(d));
        other.mentions.into_iter().for_each(|m| self.mention(m));
        other.scopes.into_iter().for_each(|s| self.scope(s));
        other.insides.into_iter().for_each(|i| self.inside(i));
        other.leads.into_iter().for_each(|l| self.lead(l));
        other.impossible.into_iter().for_each(|one| self.impossible(one));
    }
    /// Adds a condition that can never hold.
    pub fn impossible(&mut self, one: Impossible) {
        if self.are(Detail::Names) && !self.impossible.contains(&one) {
            self.impossible.push(one);
        }
    }
    /// Adds a transition whose target is not a state.
    pub fn lead(&mut self, lead: Lead) {
        if self.are(Detail::Names) && !self.leads.contains(&lead) {
            self.leads.push(lead);
        }
    }
    /// The declaration with its name at this place.
    pub fn declaration(&self, at: Location) -> Option<&Declaration> {
        self.declared.get(&at).and_then(|i| self.declarations.get(*i))
    }
}

impl Name {
    /// A name with a value of an unknown type.
    pub fn new(name: impl Into<Arc<str>>, defined: Defined) -> Self {
        Self { name: name.into(), declared: None, defined, schema: Type::Any, note: None }
    }
    /// Sets where it is declared.
    #[must_use]
    pub fn declared(mut self, at: Location) -> Self {
        self.declared = Some(at);
        self
    }
    /// Sets the type.
    #[must_use]
    pub fn schema(mut self, schema: Type) -> Self {
        self.schema = schema;
        self
    }
    /// Sets the description.
    #[must_use]
    pub fn note(mut self, note: impl Into<Arc<str>>) -> Self {
        self.note = Some(note.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{ConditionGrammar, Detail, Facts, FileId, Policy};

    #[test]
    fn files_of_several_languages_keep_their_words() {
        let all = [ConditionGrammar::Handlebars, ConditionGrammar::Braced, ConditionGrammar::Python].map(Policy::with);
        let mut facts = Facts::of(Detail::Names);
        for (file, policy) in all.iter().enumerate() {
            facts.merge(Facts::of(Detail::Names).in_words(policy.words).of_files([FileId(file as u32)]));
        }
        for (file, policy) in all.iter().enumerate() {
            assert_eq!(facts.words_in(FileId(file as u32)), policy.words, "{file}");
        }
    }
}
