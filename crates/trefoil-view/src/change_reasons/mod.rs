//! Why an activity is repeated: the differences in its request, and their causes.

mod comparison;
mod reason;

use trefoil_machine::Key;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_runtime::driver::memo::{LostResultReason, MemoDecision, ReuseOutcome};

use crate::diff;

pub use crate::plan::PlanLocation;
pub use comparison::ComparisonData;
pub use reason::{ChangeReason, ChangedTextKind, ChangedValueKind, SourceReason, TextReason, TextSource, ValueReason};

/// The decision about one activity.
#[derive(Debug, Clone, PartialEq)]
pub struct ActivityDecision {
    /// Its key.
    pub key: Key,
    /// The decision.
    pub fate: ReuseDecision,
    /// If it is repeated: its key in the earlier run, if its step was probably moved or renamed.
    pub was: Option<Key>,
    /// Why it is repeated. Empty if it is not, or is new.
    pub reasons: Vec<ChangeReason>,
    /// If it is a call of a flow: the decisions of that run.
    pub called: Vec<ActivityDecision>,
}

impl ActivityDecision {
    /// This line, and those of the runs that it has called.
    pub fn and_called(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        Box::new(std::iter::once(self).chain(self.called.iter().flat_map(Self::and_called)))
    }

    /// Whether an activity of the earlier run decides it: its result is used, or it stops because of what that may have
    /// done. An activity that is only repeated may have the same key by chance.
    pub fn is_decided_by_earlier(&self) -> bool {
        self.fate.is_kept() || (self.fate == ReuseDecision::Stopped && !self.reasons.is_empty())
    }
}

/// The decision about an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReuseDecision {
    /// The result of an earlier run is used.
    Kept {
        /// The earlier run.
        run: String,
        /// Its key there, if different.
        was: Option<Key>,
        /// For a model call: the usage that is saved.
        saved: Option<Usage>,
    },
    /// It is performed; the earlier run has no such activity.
    New,
    /// It is repeated.
    Again,
    /// The run stopped before it was performed.
    Stopped,
    /// The earlier run has a result that was not requested.
    Unused,
    /// In a preview: the earlier run has a result, and whether it is used depends on calls that come first.
    Later,
}

impl ReuseDecision {
    /// Whether the result of an earlier run is used.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }

    /// Its name in output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kept { .. } => "kept",
            Self::New => "new",
            Self::Again => "again",
            Self::Stopped => "stops",
            Self::Unused => "unused",
            Self::Later => "later",
        }
    }
}

/// The decision about an activity; `None` for timers, decisions and tool descriptions, which belong to no step.
pub fn describe_decision(decision: &MemoDecision, comparing: &ComparisonData<'_>) -> Option<ActivityDecision> {
    let asked = &decision.asked;
    if matches!(asked.request, Request::Timer { .. } | Request::Decide(_) | Request::Describe(_)) {
        return None;
    }
    let (mut was, mut reasons) = (None, Vec::new());
    let mut repeated = None;
    let fate = match &decision.is {
        ReuseOutcome::Kept { run, was, used } => {
            let was = was.as_ref().and_then(|was| other_call(was, &asked.key));
            ReuseDecision::Kept { run: run.clone(), was, saved: *used }
        }
        ReuseOutcome::New => ReuseDecision::New,
        ReuseOutcome::Stopped(before) => {
            repeated = before.as_deref();
            ReuseDecision::Stopped
        }
        again @ ReuseOutcome::Again { .. } => {
            repeated = Some(again);
            ReuseDecision::Again
        }
    };
    if let Some(again) = repeated {
        if let ReuseOutcome::Again { before, .. } = again {
            was = other_call(&before.key, &asked.key);
        }
        reasons = because(again, asked, comparing);
    }
    Some(ActivityDecision { key: asked.key.clone(), fate, was, reasons, called: Vec::new() })
}

/// An earlier key, if it is that of another call: another try is the same call.
fn other_call(was: &Key, asked: &Key) -> Option<Key> {
    if was.without_try() == asked.without_try() { None } else { Some(was.clone()) }
}

/// How similar the texts of two requests are, between 0 and 1.
pub fn request_similarity(before: &Activity, now: &Activity) -> f32 {
    let text = |activity: &Activity| {
        let mut all = String::new();
        activity.request.visit_texts(&mut |text| {
            all.push_str(&text.to_text());
            all.push(' ');
        });
        all
    };
    diff::text_similarity(&text(before), &text(now))
}

/// Why it is repeated.
fn because(again: &ReuseOutcome, asked: &Activity, comparing: &ComparisonData<'_>) -> Vec<ChangeReason> {
    let ReuseOutcome::Again { before, lost } = again else { return Vec::new() };
    if let Some(lost) = lost {
        return vec![of_lost(lost)];
    }
    let compared = comparing.find_reasons(before, asked);
    if compared.is_empty() { vec![ChangeReason::Other("its result was used")] } else { compared }
}

fn of_lost(lost: &LostResultReason) -> ChangeReason {
    match lost {
        LostResultReason::Failed(code) => ChangeReason::Failed(code.clone()),
        LostResultReason::Unfinished => ChangeReason::Other("it had not ended"),
        LostResultReason::Wanted => ChangeReason::Wanted,
        LostResultReason::MadeUp(model) => ChangeReason::MadeUp(model.clone()),
        LostResultReason::Taken(key) => ChangeReason::Taken(key.clone()),
        LostResultReason::Edited(tool) => ChangeReason::Called(tool.to_string()),
    }
}
