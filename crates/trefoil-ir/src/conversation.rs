//! Conversations: a model and the tools that it may call.

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::ids::{SchemaId, StepId};

/// A model that may call tools: it is asked, what it calls is done, and it is asked again with what came of that, until it calls
/// nothing. Result: its last answer. What fails in a call is told to the model. Key segment of a turn: `@TURN`, from 1; of a call in
/// it: `@TURN[CALL]`, from 0.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// The model call of each turn: a [`crate::StepKind::Model`] without a label.
    pub turn: StepId,
    /// What it may call.
    pub offers: Vec<Offer>,
    /// What each call has to get past before it is made: [`crate::StepKind::Attempts`] with a body that is the call, as
    /// `{tool, arguments}`. What fails there is told to the model, and the call is not made.
    pub gate: Option<StepId>,
    /// Turns, each with at most [`Self::MOST_CALLS`] calls. One that still calls tools after so many fails the step with `MAX_STEPS_EXCEEDED`.
    pub max_turns: u32,
    /// Where that is declared, if it is.
    pub max_turns_at: Option<Location>,
}

impl Conversation {
    /// The body of a gate: the call as it was given.
    pub const CALL: crate::StepKind = crate::StepKind::Compute(crate::Expr::Read(crate::Source::Result));
    /// Calls that a model may make in one turn; more are not made, and it is told so.
    pub const MOST_CALLS: u32 = 32;
}

/// A tool that a model may call, or all tools of one place.
#[derive(Debug, Clone)]
pub struct Offer {
    /// What the model calls it. Of all tools of a place: what their own names begin with.
    pub name: Arc<str>,
    /// What it does, for the model to read. None: what the tool says about itself.
    pub description: Option<Arc<str>>,
    /// Its parameters, without those that are pinned. None: what the tool says about itself.
    pub parameters: Option<SchemaId>,
    /// Parameters that the manifest sets: the model neither sees nor sets them.
    pub pinned: Vec<Arc<str>>,
    /// Of what the model gives, the step gets only this; none: all of it.
    pub member: Option<Arc<str>>,
    /// All tools of the place that [`Self::step`] calls.
    pub all: bool,
    /// What a call does: a tool or a call of a flow, which reads the model's arguments as [`crate::Source::Result`].
    pub step: StepId,
    /// Where it is declared.
    pub origin: Location,
}
