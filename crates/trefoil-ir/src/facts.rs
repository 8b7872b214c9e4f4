//! What lowering learned about names: what is declared, who mentions it, what a template may name where it stands.
//!
//! Kept beside the program and not in it, because it is there even when mistakes keep a program from being made: an editor
//! needs it most in just that moment. A declaration is known by the place of its name, which is the same however often and
//! from wherever its file is lowered. Types are JSON Schemas (draft 2020-12); `true` is anything.

use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_syntax::{Location, Span};
use trefoil_template::{ConditionGrammar, Policy, Value, Words};

/// Which facts are collected: each level those of the one before as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// None.
    #[default]
    Nothing,
    /// What has a name and where it is named: what rules ask for.
    Names,
    /// What may be named in every text: what editors ask for.
    Scopes,
}

/// The facts of one lowering, in the order they were learned. The default collects nothing; [`Facts::of`] does.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    detail: Detail,
    words: Option<&'static Words>,
    /// Things with names.
    pub declarations: Vec<Declaration>,
    /// Places that name them.
    pub mentions: Vec<Mention>,
    /// Texts with templates or conditions, and the names that may stand in them.
    pub scopes: Vec<Scope>,
    /// Paths in blocks of templates that start at what the block is about.
    pub insides: Vec<Inside>,
    /// Ways that states were meant to have, and that the program does not have.
    pub leads: Vec<Lead>,
    /// Conditions that cannot hold for what their states leave.
    pub impossible: Vec<Impossible>,
    declared: HashMap<Location, usize>,
    mentioned: HashMap<(Location, Option<Location>), usize>,
    scoped: HashSet<Location>,
    inside: HashSet<Location>,
}

/// Something with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// What sort of thing.
    pub kind: DeclarationKind,
    /// As templates and references name it.
    pub name: Arc<str>,
    /// Its name in the manifest, without quotes; this tells declarations apart. The bytes are the name, except where a
    /// dialect names a thing otherwise than it is written (agntz: the step of agent `web-researcher` is `webResearcher`).
    pub at: Location,
    /// All of it.
    pub extent: Span,
    /// The name of the declaration that it is part of.
    pub parent: Option<Location>,
    /// The type of its value, where it has one.
    pub schema: Value,
    /// One line about it: `the answer of agent \`writer\``.
    pub note: Option<Arc<str>>,
}

/// The sorts of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeclarationKind {
    /// An agent: one model call, perhaps with tools or attempts.
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

/// A place that names a declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// The bytes of the name: in a template one segment of a path, elsewhere a whole scalar (`ref`, `to`, `agent`).
    pub at: Location,
    /// The declaration named, by the place of its name; none where nothing of that name is known, or where no manifest
    /// declares it (`inputs`, `workflow`): [`Defined::Never`] tells the first from the second.
    pub to: Option<Location>,
    /// Whether it is in a template or condition (else in a key that takes a name).
    pub template: bool,
    /// Whether the value is there when this is read.
    pub defined: Defined,
    /// The type of what is read, up to and with this segment.
    pub schema: Value,
}

/// A way that a state was meant to have: what is written there names no state (reported).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lead {
    /// The origin of the state's step, or of the state machine's if it is where a run starts.
    pub from: Location,
    /// The origin of the step of the state that may have been meant; none: it may have been any.
    pub to: Option<Location>,
}

/// A condition of the format that cannot hold for the sort of state that it is a transition of.
#[derive(Debug, Clone, PartialEq)]
pub struct Impossible {
    /// Where it is written.
    pub at: Location,
    /// As it is written, without its numbers.
    pub word: Arc<str>,
    /// Why.
    pub why: &'static str,
}

/// Whether a name has a value where it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Defined {
    /// On every path that leads here.
    Always,
    /// On some: a gate, a branch, a first pass, a state not yet visited.
    Sometimes,
    /// On none.
    Never,
}

/// A text that is read with templates, and what may be named there.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The scalar.
    pub at: Location,
    /// Its language.
    pub policy: &'static Policy,
    /// Whether it is a condition, not a template.
    pub condition: bool,
    /// What it is for.
    pub position: Position,
    /// The roots that may be named, in the order to offer them.
    pub names: Visible,
}

/// The names that are visible in one place.
///
/// They are put together when somebody looks: a thousand steps that each see those before them would be half a million
/// names, and an editor asks for one place at a time. All texts of a place share one of these.
#[derive(Clone)]
pub struct Visible(Arc<LazyLock<Box<[Name]>, Gather>>);

type Gather = Box<dyn FnOnce() -> Box<[Name]> + Send + Sync>;

impl Visible {
    /// Names that are put together at the first look.
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

/// A path in a loop of a template that starts at its item, or in another block at the block's value: `this.title`.
#[derive(Debug, Clone, PartialEq)]
pub struct Inside {
    /// The whole path.
    pub at: Location,
    /// Its names, from the first behind `this` on.
    pub segments: Vec<Location>,
    /// The type of what it starts at.
    pub start: Value,
}

/// What a text is for: decides what may be put into it and what that may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Position {
    /// A model's system message.
    System,
    /// A model's user message.
    User,
    /// A value handed on with its type: an input, an output, a tool's argument.
    Data,
    /// Decides what runs.
    Condition,
    /// A word of a command.
    Command,
    /// A URL.
    Url,
    /// A header of a request.
    Header,
    /// What a person is asked or told.
    Person,
}

/// A name that may begin a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// The name; dots in it (`workflow.context`) are part of what is offered.
    pub name: Arc<str>,
    /// Where it is declared, if the manifests do that.
    pub declared: Option<Location>,
    /// Whether it has a value here.
    pub defined: Defined,
    /// The type of its value.
    pub schema: Value,
    /// One line about it.
    pub note: Option<Arc<str>>,
}

impl Facts {
    /// Those of a level are collected.
    pub fn of(detail: Detail) -> Self {
        Self { detail, ..Self::default() }
    }
    /// What the manifests' language calls things. Facts that nobody collected are told in one of them.
    pub fn words(&self) -> &'static Words {
        self.words.unwrap_or(Policy::with(ConditionGrammar::Braced).words)
    }
    /// The facts, of manifests in this language.
    #[must_use]
    pub fn in_words(self, words: &'static Words) -> Self {
        Self { words: Some(words), ..self }
    }
    /// Which facts anybody asks for; costly ones are not worked out otherwise.
    pub fn detail(&self) -> Detail {
        self.detail
    }
    fn are(&self, detail: Detail) -> bool {
        self.detail >= detail
    }
    /// Notes a declaration, unless one of that place is known.
    pub fn declare(&mut self, declaration: Declaration) {
        if self.are(Detail::Names)
            && let Entry::Vacant(place) = self.declared.entry(declaration.at)
        {
            place.insert(self.declarations.len());
            self.declarations.push(declaration);
        }
    }
    /// Notes that a place names something. Where it does so twice (a text that two nodes share), what is there for one and
    /// not for the other is there sometimes.
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
    /// Notes what may be named in a text. Of a text that is read in two places the first counts.
    pub fn scope(&mut self, scope: Scope) {
        if self.are(Detail::Scopes) && self.scoped.insert(scope.at) {
            self.scopes.push(scope);
        }
    }
    /// Notes a path in a block. Of a text that is read in two places the first counts.
    pub fn inside(&mut self, inside: Inside) {
        if self.are(Detail::Scopes) && self.inside.insert(inside.at) {
            self.insides.push(inside);
        }
    }
    /// The facts of another lowering of the same files, without those that are known.
    pub fn merge(&mut self, other: Self) {
        if self.are(Detail::Names)
            && self.declarations.is_empty()
            && self.mentions.is_empty()
            && self.scopes.is_empty()
            && self.leads.is_empty()
        {
            *self = Self { detail: self.detail, ..other };
            return;
        }
        other.declarations.into_iter().for_each(|d| self.declare(d));
        other.mentions.into_iter().for_each(|m| self.mention(m));
        other.scopes.into_iter().for_each(|s| self.scope(s));
        other.insides.into_iter().for_each(|i| self.inside(i));
        other.leads.into_iter().for_each(|l| self.lead(l));
        other.impossible.into_iter().for_each(|one| self.impossible(one));
    }
    /// Notes a condition that cannot hold.
    pub fn impossible(&mut self, one: Impossible) {
        if self.are(Detail::Names) && !self.impossible.contains(&one) {
            self.impossible.push(one);
        }
    }
    /// Notes a way that a state was meant to have.
    pub fn lead(&mut self, lead: Lead) {
        if self.are(Detail::Names) && !self.leads.contains(&lead) {
            self.leads.push(lead);
        }
    }
    /// The declaration whose name stands at this place.
    pub fn declaration(&self, at: Location) -> Option<&Declaration> {
        self.declared.get(&at).and_then(|i| self.declarations.get(*i))
    }
}

impl Name {
    /// A name with a value of an unknown type.
    pub fn new(name: impl Into<Arc<str>>, defined: Defined) -> Self {
        Self { name: name.into(), declared: None, defined, schema: Value::Bool(true), note: None }
    }
    /// The same, declared there.
    #[must_use]
    pub fn declared(mut self, at: Location) -> Self {
        self.declared = Some(at);
        self
    }
    /// The same with a type.
    #[must_use]
    pub fn schema(mut self, schema: Value) -> Self {
        self.schema = schema;
        self
    }
    /// The same with a line about it.
    #[must_use]
    pub fn note(mut self, note: impl Into<Arc<str>>) -> Self {
        self.note = Some(note.into());
        self
    }
}
