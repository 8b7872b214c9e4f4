//! Everything that a program reads: each with its place, whether it has a value there, and its type.

use std::sync::Arc;

use trefoil_ir::{FlowId, Position, Source, StepId};
use trefoil_syntax::Location;
use trefoil_template::{Reference, Value, Words};

use trefoil_ir::types::Member;

/// One read.
#[derive(Debug, Clone)]
pub struct Read<'p> {
    /// In which flow.
    pub flow: FlowId,
    /// By which step; none: by the flow itself (its start or its output).
    pub step: Option<StepId>,
    /// The path in the manifest; where lowering reads by itself, what it does that for.
    pub at: Location,
    /// The path, if one is written.
    pub reference: Option<&'p Reference>,
    /// Where the value comes from.
    pub source: &'p Source,
    /// Whether it has a value here.
    pub defined: Defined,
    /// Its type.
    pub schema: Value,
    /// A member on the way may be missing although its value is there.
    pub optional: bool,
    /// Where the path cannot continue: the index of the segment in the path, and why.
    pub stop: Option<(usize, Member)>,
    /// Where it goes on to a member that an open object does not declare, and what that declares.
    pub undeclared: Option<(usize, Vec<Arc<str>>)>,
    /// A block around it, a default, or the place itself takes care of the missing case.
    pub guarded: bool,
    /// The whole text is this one path, so that its value keeps its type.
    pub lone: bool,
    /// What the value is for.
    pub position: Position,
    /// What has no value fails the run here.
    pub strict: bool,
    /// What the language that names it calls things; none: lowering reads by itself.
    pub words: Option<&'static Words>,
}

/// Whether something has a value where it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Defined {
    /// On every way.
    Always,
    /// On some.
    Sometimes(Why),
    /// On none.
    Never,
}

/// Why something may be without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Its step runs only when this holds.
    Skipped {
        /// The condition as written.
        when: Arc<str>,
        /// Where.
        at: Location,
    },
    /// Its step is skipped whenever the one that reads runs.
    Excluded {
        /// The condition of its step, as written.
        when: Arc<str>,
        /// That of the one that reads.
        own: Arc<str>,
    },
    /// Its step has not run yet on the first pass of a loop.
    FirstPass,
    /// Its branch is not taken on every way.
    NotTaken,
    /// Its state has not been visited on every way.
    NotVisited,
    /// Its node has not run on every way.
    NotRun,
    /// No state has failed on some ways.
    NoFailure,
    /// Not every transition that leads here brings a text.
    NoFeedback,
    /// Its step may have failed without failing the run.
    Failed,
    /// The step of this name, which it is the result of within a larger one, may have failed.
    PartFailed(Arc<str>),
    /// Only some ways write it.
    NotWritten,
}

impl Why {
    /// In words, after "`name` has no value where".
    pub fn words(&self) -> String {
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

impl Read<'_> {
    /// The path as written; empty where lowering reads by itself.
    pub fn path(&self) -> String {
        self.reference.map(Reference::dotted).unwrap_or_default()
    }
}
