//! All reads of a program: each with its place, whether it has a value there, and its type.

use std::sync::Arc;

use trefoil_ir::types::{TypeMember, ValueType};
use trefoil_ir::{FlowId, Source, StepId, TextRole};
use trefoil_syntax::Location;
use trefoil_template::{DialectWords, Reference};

/// One read.
#[derive(Debug, Clone)]
pub struct ValueRead<'p> {
    /// The flow.
    pub flow: FlowId,
    /// The step; `None`: the flow itself (its start or its output).
    pub step: Option<StepId>,
    /// The path in the manifest; for a read made by lowering, the place of its purpose.
    pub at: Location,
    /// The path, if one is written.
    pub reference: Option<&'p Reference>,
    /// The source of the value.
    pub source: &'p Source,
    /// Whether it has a value here.
    pub defined: ReadPresence,
    /// Its type.
    pub schema: ValueType,
    /// Whether a member in the path may be missing although its value exists.
    pub optional: bool,
    /// If the path cannot continue: the index of the segment in the path, and why.
    pub stop: Option<(usize, TypeMember)>,
    /// If it continues to a member that an open object does not declare: the index, and the declared members.
    pub undeclared: Option<(usize, Vec<Arc<str>>)>,
    /// Whether an enclosing block, a default or the place itself handles a missing value.
    pub guarded: bool,
    /// Whether the text consists only of this path, so that its value keeps its type.
    pub lone: bool,
    /// What the value is used for.
    pub position: TextRole,
    /// Whether a missing value fails the run here.
    pub strict: bool,
    /// The terms of the language of the text; `None`: a read made by lowering.
    pub words: Option<&'static DialectWords>,
}

/// Whether something has a value when it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadPresence {
    /// On every path.
    Always,
    /// On some paths.
    Sometimes(AbsenceReason),
    /// On no path.
    Never,
}

/// Why something may have no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbsenceReason {
    /// Its step runs only if this condition holds.
    Skipped {
        /// The condition as written.
        when: Arc<str>,
        /// The place of the condition.
        at: Location,
    },
    /// Its step is skipped whenever the reading step runs.
    Excluded {
        /// The condition of its step, as written.
        when: Arc<str>,
        /// The condition of the reading step.
        own: Arc<str>,
    },
    /// Its step has not run yet on the first pass of a loop.
    FirstPass,
    /// Its branch is not taken on every path.
    NotTaken,
    /// Its state has not been visited on every path.
    NotVisited,
    /// Its node has not run on every path.
    NotRun,
    /// On some paths no state has failed.
    NoFailure,
    /// Not every transition to this place has feedback.
    NoFeedback,
    /// Its step may have failed without failing the run.
    Failed,
    /// The step with this name, which produces it inside a larger step, may have failed.
    PartFailed(Arc<str>),
    /// It is written only on some paths.
    NotWritten,
}

impl AbsenceReason {
    /// The reason in words, to be used after "`name` has no value where".
    pub fn in_words(&self) -> String {
        match self {
            Self::Skipped { when, .. } => format!("its step is skipped (it runs only when `{when}`)"),
            Self::Excluded { when, own } => {
                format!("its step runs only if `{when}`, and this one only if `{own}`")
            }
            Self::FirstPass => "its step has not run yet, as in the first iteration".to_owned(),
            Self::NotTaken => "another branch is taken".to_owned(),
            Self::NotVisited => "its state has not completed".to_owned(),
            Self::NotRun => "its node has not run".to_owned(),
            Self::NoFailure => "nothing has failed so far".to_owned(),
            Self::NoFeedback => "the transition to this state has no feedback".to_owned(),
            Self::Failed => "its step has failed".to_owned(),
            Self::PartFailed(name) => format!("`{name}` has failed"),
            Self::NotWritten => "nothing has written it yet".to_owned(),
        }
    }
}

impl ValueRead<'_> {
    /// The path as written; empty for a read made by lowering.
    pub fn path_text(&self) -> String {
        self.reference.map(Reference::dotted_path).unwrap_or_default()
    }
}
