//! Expressions: what a step reads and how the value is computed. Pure; evaluated by the machine.

use std::sync::Arc;

use trefoil_syntax::{Location, Span};
use trefoil_template::{Condition, MissingCause, Template, Value};

use crate::consensus::ConsensusRule;
use crate::ids::SlotId;

/// Where a template reference or an expression gets its value. Resolved during lowering; no names are looked up at run
/// time.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A slot of the activation. If it is unset, the value is missing (reported at the segment after the consumed
    /// ones).
    Slot(SlotId),
    /// A member of a slot.
    Member(SlotId, Vec<Arc<str>>),
    /// A slot, with the exports of the flow that filled it available under its output: see `Found::Layered`. `path`
    /// leads from the slot to the output (`["output"]` for a SirenSpec node, empty for an agntz step).
    Layered {
        /// The slot.
        top: SlotId,
        /// The path from the slot's value to the child's output.
        path: Vec<Arc<str>>,
        /// The slot that [`crate::SubflowCall::exports`] filled.
        under: SlotId,
    },
    /// The first source in which the whole rest of the path resolves.
    Either(Box<Source>, Box<Source>),
    /// An object: the parts are merged into `seed` in order. Parts with unset slots are skipped. A value in the path of
    /// a part is replaced by an object if it is not one.
    Compose {
        /// The value before any part.
        seed: Value,
        /// The parts; later ones take precedence.
        parts: Vec<ComposedPart>,
    },
    /// A value known at load.
    Const(Value),
    /// The environment. The next segment is the name of a variable. Opaque to the machine
    /// (`docs/decisions/secrets.md`).
    Environment,
    /// The secret store. The next segment is the name of an entry.
    Secrets,
    /// The run's id.
    RunId,
    /// `{total_tokens, estimated_usd}` used by the steps of these slots (graph nodes ordered before the reader), so
    /// that the value does not depend on timing. If empty: used by the whole activation so far.
    Spent(Vec<SlotId>),
    /// The raw result of the step, in [`crate::Step::shape`] and in conditions on it.
    Result,
    /// The error text of the failed step, if there is one; otherwise missing.
    Failure,
    /// Known at load time to be missing: the message for a run, and what else is known about it.
    Missing(MissingCause, BindingFault),
}

/// Why a path has no value, as far as name binding knows. Used by the checker; has no effect on a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BindingFault {
    /// Nothing is known, or the reason is reported when names are bound.
    #[default]
    Unsaid,
    /// It names a step that has never ended when it is read, on any path of the run.
    Late {
        /// The step that is named or that writes the path, as templates name it.
        name: Arc<str>,
        /// Whether the step writes the path; otherwise the path names the step.
        writes: bool,
        /// Whether the reading step is that step.
        own: bool,
    },
    /// It continues after a value that cannot have the next member.
    Beyond(Box<MissingMember>),
}

/// A path that continues after a value without such a member.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingMember {
    /// The first segment that does not exist.
    pub segment: u16,
    /// The source of the value before it, if that value has a separate source.
    pub of: Option<Source>,
    /// The kind of that value: `text`, `a list`, `an object`.
    pub what: &'static str,
    /// The members that it does have.
    pub members: Vec<Arc<str>>,
    /// Whether the manifest declares the type of the value, and its format rejects undeclared names.
    pub refused: bool,
}

impl Source {
    /// A missing value, reported at this segment of the path.
    pub fn missing_segment(segment: usize) -> Self {
        Self::Missing(MissingCause::Key(segment as u16), BindingFault::Unsaid)
    }
}

impl Source {
    /// Calls `see` for each source that this one tries in order: itself, unless it is [`Source::Either`].
    pub fn visit_alternatives(&self, see: &mut impl FnMut(&Self)) {
        match self {
            Self::Either(first, second) => {
                first.visit_alternatives(see);
                second.visit_alternatives(see);
            }
            one => see(one),
        }
    }
    /// The slots from which the value can come.
    pub fn slot_ids(&self) -> Vec<SlotId> {
        let mut slots = Vec::new();
        self.visit_alternatives(&mut |one| match one {
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

/// A slot's value (or a member of it), placed at a path of a composed object.
#[derive(Debug, Clone, PartialEq)]
pub struct ComposedPart {
    /// The path. If empty, the value's members are merged into the root.
    pub at: Vec<Arc<str>>,
    /// The slot.
    pub slot: SlotId,
    /// The path from the slot's value to the placed value.
    pub member: Vec<Arc<str>>,
}

/// A bound template and its place in the manifest.
#[derive(Debug, Clone)]
pub struct BoundTemplate {
    /// The template. `references()[i].binding.source` is an index into `sources`.
    pub template: Template,
    /// Its sources.
    pub sources: Vec<Source>,
    /// The scalar in the manifest.
    pub origin: Location,
    /// The span in the manifest of each reference.
    pub spans: Vec<Span>,
    /// The span in the manifest of each path in the template's own loops.
    pub locals: Vec<Span>,
    /// The span in the manifest of each literal of the template. Empty if the text is not from a manifest.
    pub literals: Vec<Span>,
    /// The spelling of each literal in its expressions.
    pub written: Vec<LiteralSpelling>,
}

/// A bound condition and its place in the manifest.
#[derive(Debug, Clone)]
pub struct BoundCondition {
    /// The condition. `references()[i].binding.source` is an index into `sources`.
    pub condition: Condition,
    /// Its sources.
    pub sources: Vec<Source>,
    /// The scalar in the manifest.
    pub origin: Location,
    /// The condition as written, or as a person would write it: for graphs, plans and messages.
    pub text: Arc<str>,
    /// The span in the manifest of each reference. If lowering made the condition, the span of all it was made from.
    pub spans: Vec<Span>,
    /// The spelling of each literal. Empty if lowering made the condition.
    pub written: Vec<LiteralSpelling>,
}

/// How a literal of an expression is written in the manifest.
#[derive(Debug, Clone, Copy)]
pub struct LiteralSpelling {
    /// Its bytes, including quotes.
    pub at: Span,
    /// Whether it has quotes.
    pub quoted: bool,
    /// The quotes for a replacement text. `None`: the file spells it differently from the decoded text, so it cannot be
    /// replaced.
    pub quote: Option<char>,
    /// Whether it has no quotes and is also the name of a value here.
    pub is_name: bool,
}

/// A JSON type to which text is converted (AEGIS `output_template`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// `true` for the text `true`.
    Boolean,
    /// A JSON object.
    Object,
    /// A JSON list.
    List,
}

/// An expression.
#[derive(Debug, Clone)]
pub enum ValueExpression {
    /// A constant.
    Const(Value),
    /// A template in a text position: always text.
    Template(BoundTemplate),
    /// A template in a typed position: a lone placeholder keeps its type.
    Typed(BoundTemplate),
    /// The value of a source; null if unset.
    Read(Source),
    /// An object, with keys in this order.
    Object(Vec<(Arc<str>, ValueExpression)>),
    /// A list.
    List(Vec<ValueExpression>),
    /// Concatenated texts.
    Concat(Vec<ValueExpression>),
    /// Values as text, joined by a separator. Unset and null sources are skipped; if none is left, the value is
    /// `otherwise`.
    Join {
        /// The sources.
        parts: Vec<Source>,
        /// The separator.
        separator: Arc<str>,
        /// The value if all sources are skipped.
        otherwise: Box<ValueExpression>,
    },
    /// Merged objects; later ones take precedence. Values that are not objects are skipped.
    Merge(Vec<ValueExpression>),
    /// An object as `key: value` lines (SirenSpec factory instances). A list as the texts of its items, one per line,
    /// without empty ones (a factory's `output`).
    Lines(Box<ValueExpression>),
    /// A value as text; null becomes empty text.
    AsText(Box<ValueExpression>),
    /// Like `AsText`, but a list of content blocks (text, images, audio) is kept: the message of an agntz agent without
    /// a prompt.
    AsMessage(Box<ValueExpression>),
    /// `then` if the source is set and truthy, otherwise `otherwise`.
    If {
        /// The tested source.
        source: Source,
        /// The value if it is truthy.
        then: Box<ValueExpression>,
        /// The value if it is not.
        otherwise: Box<ValueExpression>,
    },
    /// Text converted to a JSON type; null if it cannot be converted.
    Coerce(Box<ValueExpression>, JsonType),
    /// Text that is a JSON object or list (one surrounding code fence is stripped) becomes that object or list;
    /// everything else is unchanged. [`crate::AnswerFormat::JsonOrText`] does the same to an answer.
    Structured(Box<ValueExpression>),
    /// Text that has a verdict in it, an object with a score, next to other things becomes that object; everything else is unchanged.
    Verdict(Box<ValueExpression>),
    /// Combined verdicts: an object `{score, confidence, strategy, metadata, ...}`.
    Consensus {
        /// The outputs that contain the verdicts.
        verdicts: Vec<WeightedVerdict>,
        /// How they are combined.
        consensus: ConsensusRule,
    },
}

/// An output to be read as a verdict.
#[derive(Debug, Clone)]
pub struct WeightedVerdict {
    /// The judge's name in the manifest.
    pub by: Arc<str>,
    /// The output.
    pub value: ValueExpression,
    /// The weight.
    pub weight: f64,
}
