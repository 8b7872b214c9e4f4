//! Members that may be missing although their value exists: a part of a result whose step failed, or the replacement
//! result of a failed step.

use std::sync::Arc;

use trefoil_ir::{OnStepFailure, SlotId, Source, Step, ValueExpression};
use trefoil_template::Value;

use super::AssignmentWalk;
use crate::semantic::paths::{shared_length, value_at_path};
use crate::semantic::reads::{AbsenceReason, ReadPresence};
use crate::semantic::slots::SlotState;

/// A member that may be missing.
pub(super) struct MissingResultMember {
    at: Vec<Arc<str>>,
    /// The value in that case; `None`: no value.
    instead: Option<Value>,
    why: AbsenceReason,
}

impl MissingResultMember {
    /// Whether it is the reason that a path has no value.
    fn is_missing_at(&self, path: &[&str]) -> bool {
        let Some(rest) = path.get(self.at.len()..) else { return false };
        if shared_length(&self.at, path) < self.at.len() {
            return false;
        }
        match &self.instead {
            Some(value) => value_at_path(value, rest).is_none(),
            None => true,
        }
    }
}

/// Whether a path into a state's result has no value if the state has failed.
pub(super) fn is_lost<N: AsRef<str>>(path: &[N]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    match first.as_ref() {
        "output" => !rest.is_empty(),
        name => !matches!(name, "status" | "error" | "execution_id"),
    }
}

impl<'p> AssignmentWalk<'_, 'p> {
    /// Records what a step's result may lack; `after` is what is set after it has run.
    pub(super) fn note_lacks(&mut self, step: &'p Step, after: &SlotState) {
        let Some(out) = step.out else { return };
        let instead = match &step.policy.on_failure {
            OnStepFailure::Use(value) => match &**value {
                ValueExpression::Const(value) => Some(value),
                _ => None,
            },
            _ => None,
        };
        let mut lacks = Vec::new();
        let result = ValueExpression::Read(Source::Result);
        self.collect_missing_members(
            step.shape.as_ref().unwrap_or(&result),
            &mut Vec::new(),
            (instead, after),
            &mut lacks,
        );
        if !lacks.is_empty() {
            self.lacks.insert(out, lacks);
        }
    }

    fn collect_missing_members(
        &self,
        of: &ValueExpression,
        at: &mut Vec<Arc<str>>,
        (instead, after): (Option<&Value>, &SlotState),
        found: &mut Vec<MissingResultMember>,
    ) {
        match of {
            ValueExpression::Object(members) => {
                for (key, inner) in members {
                    at.push(key.clone());
                    self.collect_missing_members(inner, at, (instead, after), found);
                    at.pop();
                }
            }
            ValueExpression::Read(Source::Result) => {
                if let Some(value) = instead {
                    found.push(MissingResultMember {
                        at: at.clone(),
                        instead: Some(value.clone()),
                        why: AbsenceReason::Failed,
                    });
                }
            }
            ValueExpression::Read(Source::Compose { seed: _, parts }) => {
                for part in parts {
                    let defined = self.value_presence(&Source::Slot(part.slot), &[], after);
                    if let ReadPresence::Sometimes(why @ (AbsenceReason::Failed | AbsenceReason::PartFailed(_))) =
                        defined
                    {
                        let mut at = at.clone();
                        at.extend_from_slice(&part.at);
                        found.push(MissingResultMember { at, instead: None, why });
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether a path into a slot with a value has a value.
    pub(super) fn member_presence(&self, slot: SlotId, path: &[&str]) -> ReadPresence {
        let Some(lacks) = self.lacks.get(&slot) else { return ReadPresence::Always };
        match lacks.iter().find(|lack| lack.is_missing_at(path)) {
            Some(lack) => ReadPresence::Sometimes(lack.why.clone()),
            None => ReadPresence::Always,
        }
    }
}
