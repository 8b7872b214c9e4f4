//! The typed program that every dialect is lowered to.
//!
//! Small and structured: flows consist of steps, expressions read slots, policies are data. The program does not show
//! which dialect it came from. Each module describes the meaning of its nodes, and the machine implements exactly that.
//!
//! # When things are evaluated
//!
//! A *flow* is a callable unit. Calling it creates an *activation* with one value per slot, all unset. First the input
//! is processed ([`Intake`]), then [`Flow::init`] runs in order, then the body step; last, [`Flow::output`] is
//! evaluated. When a step starts, `when` is evaluated first, then all its expressions, then its effect is performed.
//! Its result goes through [`Step::shape`], then into [`Step::out`]. The result of a skipped step is null and is stored
//! as well. A step that fails is retried by its policy. If it still fails, `on_failure` decides. Otherwise the failure
//! propagates, and every structure cancels what else it is running before it fails itself.

pub mod consensus;
pub mod conversation;
pub mod credential;
mod effect;
pub mod expr;
pub mod facts;
pub mod fingerprint;
pub mod flow;
pub mod ids;
pub mod index_vec;
pub mod judge;
pub mod pattern;
pub mod place;
pub mod policy;
pub mod prices;
pub mod print;
pub mod program;
pub mod schema;
pub mod solve;
pub mod step;
pub mod step_info;
mod step_parts;
pub mod types;
pub mod validate;
pub mod walk;

pub use consensus::{Consensus, Strategy};
pub use conversation::{Conversation, Offer, ToolCallRules};
pub use effect::{
    AnswerFormat, CommandCall, Example, Guard, HumanCall, LONGEST_REQUEST_MS, ModelCall, ModelChoice, ModelParameters,
    OnTimeout, PiiAction, PiiEntity, ToolCall, ToolKind,
};
pub use expr::{Ballot, Beyond, ComposedPart, Cond, Expr, JsonType, Lost, Source, Spelling, Text};
pub use facts::{
    Declaration, DeclarationKind, Defined, Detail, Facts, Impossible, Lead, Mention, Name, Position, Scope, Visible,
};
pub use fingerprint::{Fingerprint, SEMANTICS};
pub use flow::{Budget, Export, Flow, InputField, Intake, OnExceeded, ProgramParts, Schema, Slot};
pub use ids::{FlowId, NodeId, SchemaId, SlotId, StateId, StepId};
pub use index_vec::{IndexVec, TypedIndex};
pub use judge::{Judge, Validator, ValidatorKind};
pub use policy::{Backoff, OnFailure, Retry, RetryOn, StepPolicy};
pub use program::{InvalidProgram, ModelCaller, Program};
pub use step::{
    Arm, Attempts, Call, Callee, Edge, ForEach, Graph, GraphNode, Items, Loop, OnItemFailure, Parallel, Refused, State,
    StateMachine, Step, StepKind, Takes, Transition,
};
pub use step_info::{Inside, StepInfo};
