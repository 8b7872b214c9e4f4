//! The typed program that every dialect is lowered to.
//!
//! Small and structured: flows made of steps, expressions that read slots, policies as data. Nobody who reads it knows
//! which dialect it came from. Each module says in prose what its nodes mean; the machine does exactly that.
//!
//! # When things are evaluated
//!
//! A *flow* is a callable unit. Calling it makes an *activation* with one value per slot, all unset. First the input is
//! taken in ([`Intake`]), then [`Flow::init`] runs in order, then the body step; at last [`Flow::output`] is evaluated.
//! A step is started when its turn comes: `when` first, then its expressions, all at that moment, then its effect. Its
//! result goes through [`Step::shape`], then into [`Step::out`]. A skipped step's result is null and is stored too.
//! A step that fails is retried by its policy; if it still fails, `on_failure` decides; failure otherwise goes up, and
//! every structure cancels what else it has running before it fails itself.

pub mod consensus;
pub mod conversation;
pub mod credential;
mod effect;
pub mod expr;
pub mod facts;
pub mod fingerprint;
pub mod flow;
pub mod ids;
pub mod judge;
pub mod place;
pub mod policy;
pub mod print;
pub mod schema;
pub mod step;
pub mod types;
pub mod validate;
pub mod walk;

pub use consensus::{Consensus, Strategy};
pub use conversation::{Conversation, Offer};
pub use effect::{
    AnswerFormat, CommandCall, Example, Guard, HumanCall, ModelCall, ModelChoice, ModelParameters, OnTimeout,
    PiiAction, PiiEntity, ToolCall, ToolKind,
};
pub use expr::{Ballot, Beyond, ComposedPart, Cond, Expr, JsonType, Lost, Source, Spelling, Text};
pub use facts::{
    Declaration, DeclarationKind, Defined, Detail, Facts, Impossible, Lead, Mention, Name, Position, Scope, Visible,
};
pub use fingerprint::{Fingerprint, SEMANTICS};
pub use flow::{Budget, Export, Flow, InputField, Intake, OnExceeded, Program, Schema, Slot};
pub use ids::{FlowId, NodeId, SchemaId, SlotId, StateId, StepId};
pub use judge::{Judge, Validator, ValidatorKind};
pub use policy::{Backoff, OnFailure, Retry, RetryOn, StepPolicy};
pub use step::{
    Arm, Attempts, Call, Callee, Edge, ForEach, Graph, GraphNode, Items, Loop, OnItemFailure, Parallel, Refused, State,
    StateMachine, Step, StepKind, Takes, Transition,
};
