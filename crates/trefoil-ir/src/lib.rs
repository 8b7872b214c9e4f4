//! The typed program that every dialect is lowered to.
//!
//! Small and structured: flows consist of steps, expressions read slots, policies are data. The program does not show
//! which dialect it came from. Each module describes the meaning of its nodes, and the machine implements exactly that.
//!
//! # When things are evaluated
//!
//! A *flow* is a callable unit. Calling it creates an *activation* with one value per slot, all unset. First the input
//! is processed ([`Intake`]), then [`FlowDefinition::init`] runs in order, then the body step; last, [`FlowDefinition::output`] is
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
pub mod path_location;
pub mod pattern;
pub mod policy;
pub mod prices;
pub mod printer;
pub mod program;
pub mod schema;
pub mod solver;
pub mod step;
pub mod step_info;
mod step_parts;
pub mod types;
pub mod validation;
pub mod walk;

pub use consensus::{ConsensusRule, ConsensusStrategy};
pub use conversation::{Conversation, Offer, ToolCallRules};
pub use effect::{
    AnswerFormat, CommandCall, Guard, HumanCall, LONGEST_REQUEST_MS, ModelCall, ModelCallExample, ModelChoice,
    ModelParameters, OnTimeout, PiiAction, PiiEntity, ToolCall, ToolKind,
};
pub use expr::{
    BindingFault, BoundCondition, BoundTemplate, ComposedPart, JsonType, LiteralSpelling, MissingMember, Source,
    ValueExpression, WeightedVerdict,
};
pub use facts::{
    BrokenTransition, DeclarationKind, FactDetail, Facts, ImpossibleCondition, Mention, NameDeclaration, Scope,
    ScopeName, TextRole, ValuePresence, VisibleNames,
};
pub use fingerprint::{Fingerprint, SEMANTICS};
pub use flow::{
    Budget, ClientTool, FlowDefinition, FlowExport, FlowInputField, Intake, OnExceeded, ProgramParts, ProgramSchema,
    Slot,
};
pub use ids::{FlowId, NodeId, SchemaId, SlotId, StateId, StepId};
pub use index_vec::{IndexVec, TypedIndex};
pub use judge::{Judge, Validator, ValidatorKind};
pub use policy::{OnStepFailure, Retry, RetryBackoff, RetryOn, StepPolicy};
pub use program::{InvalidProgram, ModelCaller, Program};
pub use step::{
    Attempts, BranchArm, FanOutItems, FlowCallee, ForEach, GraphEdge, GraphNode, MatchedOutcome, OnItemFailure,
    ParallelSteps, StateMachine, StateTransition, Step, StepGraph, StepKind, StepLoop, SubflowCall, UnsupportedFeature,
    WorkflowState,
};
pub use step_info::{StepContents, StepInfo};
