//! Conversations: a model and the tools that it may call.

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::ids::{SchemaId, StepId};

/// A model that may call tools. It is called, the tools that it requests are called, and it is called again with their
/// results, until it requests no tool. The result is its last answer. Errors of tool calls are passed to the model. Key
/// segment of a turn: `@TURN`, from 1; of a call in it: `@TURN[CALL]`, from 0.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// The model call of each turn: a [`crate::StepKind::Model`] without a label.
    pub turn: StepId,
    /// The tools that it may call.
    pub offers: Vec<Offer>,
    /// A check before each tool call: [`crate::StepKind::Attempts`] whose body is the call, as `{tool, arguments}`. If
    /// it fails, the tool is not called, and the reason is passed to the model.
    pub gate: Option<StepId>,
    /// The maximum number of turns, each with at most [`Self::MOST_CALLS`] calls. If the model still calls tools in the
    /// last one, the step fails with `MAX_STEPS_EXCEEDED`.
    pub max_turns: u32,
    /// Where the maximum is declared, if it is.
    pub max_turns_at: Option<Location>,
    /// What else holds for the calls.
    pub calls: ToolCallRules,
}

/// What holds for the tool calls of a conversation as a whole.
#[derive(Debug, Clone, Default)]
pub struct ToolCallRules {
    /// Whether the model must call a tool. An answer without any call is returned once, with the reason; the second one fails with
    /// `TOOL_CALL_MISSING`. Without effect if no tool is offered.
    pub needed: bool,
    /// The maximum number of calls. If the model requests more, the step fails with `MAX_STEPS_EXCEEDED`.
    pub most: Option<u32>,
    /// Where the maximum is declared, if it is.
    pub most_at: Option<Location>,
}

impl Conversation {
    /// The maximum number of tool calls in one turn. Further calls are not made, and the model is told so.
    pub const MOST_CALLS: u32 = 32;

    /// The maximum number of tool calls in this many turns.
    pub fn most_calls(&self, turns: u32) -> u64 {
        let all = u64::from(turns) * u64::from(Self::MOST_CALLS);
        self.calls.most.map_or(all, |most| all.min(u64::from(most)))
    }
}

/// A tool that a model may call, or all tools of one source.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The tool's name for the model; if `all`, the prefix of the tools' own names.
    pub name: Arc<str>,
    /// The description for the model; `None`: the tool's own.
    pub description: Option<Arc<str>>,
    /// The parameters without the pinned ones; `None`: the tool's own.
    pub parameters: Option<SchemaId>,
    /// Parameters set by the manifest. The model neither sees nor sets them.
    pub pinned: Vec<Arc<str>>,
    /// The member of the model's arguments that is passed to the step; `None`: all arguments.
    pub member: Option<Arc<str>>,
    /// Whether this offers all tools of the source that [`Self::step`] calls.
    pub all: bool,
    /// The step that makes the call: a tool call or a call of a flow. It reads the model's arguments as
    /// [`crate::Source::Result`].
    pub step: StepId,
    /// Where it is declared.
    pub origin: Location,
}
