//! Expressions: what a step reads, and how that becomes a value. Pure, evaluated by the machine.

use std::sync::Arc;

use trefoil_syntax::{Location, Span};
use trefoil_template::{Condition, Missing, Template, Value};

use crate::consensus::Consensus;
use crate::ids::SlotId;

/// Where a template's reference, or an expression, gets its value. Resolved at lowering; no name is looked up at run time.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A slot of the activation. Unset: missing (the segment after the consumed ones is what was not found).
    Slot(SlotId),
    /// A member of a slot.
    Member(SlotId, Vec<Arc<str>>),
    /// A slot with the exports of the flow that filled it beneath (decisions A10, S9): see `Found::Layered`.
    /// `path` leads from the slot to the output (`["output"]` for a SirenSpec node, empty for an agntz step).
    Layered {
        /// The slot.
        top: SlotId,
        /// From the slot's value to the child's output.
        path: Vec<Arc<str>>,
        /// The slot that [`crate::Call::exports`] filled.
        under: SlotId,
    },
    /// The first source in which the whole rest of the path resolves (decision S4).
    Either(Box<Source>, Box<Source>),
    /// An object: `seed` with parts laid over it in order. Parts whose slot is unset are left out. What stands in a part's
    /// way and is not an object becomes one.
    Compose {
        /// What is there before any part.
        seed: Value,
        /// Laid over it, later wins.
        parts: Vec<ComposedPart>,
    },
    /// A value known at load.
    Const(Value),
    /// The environment: the next segment is a variable's name. Opaque to the machine (decision C8).
    Environment,
    /// The secret store: the next segment is an entry's name.
    Secrets,
    /// The run's id.
    RunId,
    /// `{total_tokens, estimated_usd}` spent by the calls that filled these slots' steps (graph nodes ordered before
    /// the reader), so that it does not depend on timing. Empty: by the whole activation so far.
    Spent(Vec<SlotId>),
    /// The raw result of the step, in [`crate::Step::shape`] and in conditions on it.
    Result,
    /// The error text of the step that failed, where there is one; else missing.
    Failure,
    /// Known at load not to be there: what a run says about it, and what is known beyond that.
    Missing(Missing, Lost),
}

/// What names tell about a path without a value. For the checker: it changes nothing in a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Lost {
    /// Nothing, or what is reported where names are bound.
    #[default]
    Unsaid,
    /// It names something that has not ended where it is read, whichever way a run takes.
    Late {
        /// The step that leaves it, or that writes it, as templates name that step.
        name: Arc<str>,
        /// The step writes the path; else the path names the step.
        writes: bool,
        /// The step is the one that reads.
        own: bool,
    },
    /// It continues after a value that never has its next member.
    Beyond(Box<Beyond>),
}

/// A path that continues where its value ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Beyond {
    /// The first segment that names nothing.
    pub segment: u16,
    /// Where the value before it is, if that is a value of its own.
    pub of: Option<Source>,
    /// What it is: `text`, `a list`, `an object`.
    pub what: &'static str,
    /// The members that it has.
    pub members: Vec<Arc<str>>,
    /// The manifest says what the value is, and its format has values for declared names only.
    pub refused: bool,
}

impl Source {
    /// Nothing, at this segment of the path.
    pub fn missing(segment: usize) -> Self {
        Self::Missing(Missing::Key(segment as u16), Lost::Unsaid)
    }
}

impl Source {
    /// The sources that this one tries, one after the other: itself, unless it is [`Source::Either`].
    pub fn tried(&self, see: &mut impl FnMut(&Self)) {
        match self {
            Self::Either(first, second) => {
                first.tried(see);
                second.tried(see);
            }
            one => see(one),
        }
    }
    /// The slots that the value can come from.
    pub fn slots(&self) -> Vec<SlotId> {
        let mut slots = Vec::new();
        self.tried(&mut |one| match one {
            Self::Slot(slot) | Self::Member(slot, _) => slots.push(*slot),
            Self::Layered { top, under, .. } => slots.extend([*top, *under]),
            Self::Compose { parts, .. } => slots.extend(parts.iter().map(|p| p.slot)),
            Self::Either(..)
            | Self::Const(_)
            | Self::Environment
            | Self::Secrets
            | Self::RunId
            | Self::Spent(_)
            | Self::Result
            | Self::Failure
            | Self::Missing(..) => {}
        });
        slots
    }
}

/// A slot's value (or a member of it) laid at a path of a composed object.
#[derive(Debug, Clone, PartialEq)]
pub struct ComposedPart {
    /// Where it goes. Empty: its members are merged into the root.
    pub at: Vec<Arc<str>>,
    /// The slot it comes from.
    pub slot: SlotId,
    /// From the slot's value to what is laid.
    pub member: Vec<Arc<str>>,
}

/// A bound template and where it stands in the manifest.
#[derive(Debug, Clone)]
pub struct Text {
    /// The template; `references()[i].binding.source` indexes `sources`.
    pub template: Template,
    /// Its sources.
    pub sources: Vec<Source>,
    /// The scalar in the manifest.
    pub origin: Location,
    /// Per reference: its bytes in the manifest.
    pub spans: Vec<Span>,
    /// Per path of the template's own loops: its bytes in the manifest.
    pub locals: Vec<Span>,
    /// Per literal of the template: its bytes in the manifest. Empty where no manifest has the text.
    pub literals: Vec<Span>,
    /// Per literal of its expressions: how it is written.
    pub written: Vec<Spelling>,
}

/// A bound condition and where it stands in the manifest.
#[derive(Debug, Clone)]
pub struct Cond {
    /// The condition; `references()[i].binding.source` indexes `sources`.
    pub condition: Condition,
    /// Its sources.
    pub sources: Vec<Source>,
    /// The scalar in the manifest.
    pub origin: Location,
    /// As written, or as a person would write it: for graphs, plans and messages.
    pub text: Arc<str>,
    /// Per reference: its bytes in the manifest; of a condition that lowering made, all of what it was made from.
    pub spans: Vec<Span>,
    /// Per literal: how it is written. Empty where lowering made the condition.
    pub written: Vec<Spelling>,
}

/// How a literal of an expression is written in the manifest.
#[derive(Debug, Clone, Copy)]
pub struct Spelling {
    /// Its bytes, with its quotes.
    pub at: Span,
    /// It has quotes.
    pub quoted: bool,
    /// The quotes for text in its place. None: its bytes are not as they are read, so nothing can be written in its place.
    pub quote: Option<char>,
    /// It has no quotes, and a value has its name here.
    pub is_name: bool,
}

/// A JSON type to coerce text to (AEGIS `output_template`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// Whole number.
    Integer,
    /// Number.
    Number,
    /// `true` for the text `true`.
    Boolean,
    /// Parsed as JSON.
    Json,
}

/// An expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A value.
    Const(Value),
    /// Text position: always text.
    Template(Text),
    /// Typed position (decision A1): a lone placeholder keeps its type.
    Typed(Text),
    /// The value of a source; unset is null.
    Read(Source),
    /// An object, keys in this order.
    Object(Vec<(Arc<str>, Expr)>),
    /// A list.
    List(Vec<Expr>),
    /// Texts one after the other.
    Concat(Vec<Expr>),
    /// Values as text with a separator; sources that are unset or null are left out; none left: `otherwise`.
    Join {
        /// The sources.
        parts: Vec<Source>,
        /// Between two.
        separator: Arc<str>,
        /// When nothing is left.
        otherwise: Box<Expr>,
    },
    /// Objects laid over each other, later wins; what is not an object is left out.
    Merge(Vec<Expr>),
    /// An object as `key: value` lines (SirenSpec factory instances, decision S9); a list as its items' texts, one a
    /// line, without the empty ones (a factory's `output`, decision S5).
    Lines(Box<Expr>),
    /// A value as text (decision C3); null is empty.
    AsText(Box<Expr>),
    /// The same, but a list of content blocks (text, images, sounds) stays one: what an agntz agent without a prompt sends.
    AsMessage(Box<Expr>),
    /// `then` where the source is set and truthy, else `otherwise`.
    If {
        /// Looked at.
        source: Source,
        /// When truthy.
        then: Box<Expr>,
        /// When not.
        otherwise: Box<Expr>,
    },
    /// Text as a JSON type, null when it does not read as one.
    Coerce(Box<Expr>, JsonType),
    /// Text that is a JSON object or list (one code fence around it is stripped) becomes that object or list; everything
    /// else stays as it is. What [`crate::AnswerFormat::JsonOrText`] does to an answer.
    Structured(Box<Expr>),
    /// Verdicts combined: an object `{score, confidence, strategy, metadata, ...}`.
    Consensus {
        /// The verdict-bearing outputs.
        verdicts: Vec<Ballot>,
        /// How they combine.
        consensus: Consensus,
    },
}

/// An output that is to be a verdict.
#[derive(Debug, Clone)]
pub struct Ballot {
    /// Who answers, as the manifest names them.
    pub by: Arc<str>,
    /// The output.
    pub value: Expr,
    /// How much it counts.
    pub weight: f64,
}
