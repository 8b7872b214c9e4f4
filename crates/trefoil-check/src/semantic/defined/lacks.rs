//! Members that may be missing although their value exists: a part of a result whose step failed, or the replacement
//! result of a failed step.

use std::sync::Arc;

use trefoil_ir::{Expr, OnFailure, SlotId, Source, Step};
use trefoil_template::Value;

use super::Walk;
use crate::semantic::reads::{Defined, Why};
use crate::semantic::slots::State;

/// A member that may be missing.
pub(super) struct Lack {
    at: Vec<Arc<str>>,
    /// The value in that case; `None`: no value.
    instead: Option<Value>,
    why: Why,
}

/// Whether a path into a state's result has no value if the state has failed.
pub(super) fn is_lost<'n>(mut path: impl Iterator<Item = &'n str>) -> bool {
    match path.next() {
        Some("output") => path.next().is_some(),
        Some(name) => !matches!(name, "status" | "error" | "execution_id"),
        None => false,
    }
}

impl<'p> Walk<'_, 'p> {
    /// Records what a step's result may lack; `after` is what is set after it has run.
    pub(super) fn note_lacks(&mut self, step: &'p Step, after: &State) {
        let Some(out) = step.out else { return };
        let instead = match &step.policy.on_failure {
            OnFailure::Use(value) => match &**value {
                Expr::Const(value) => Some(value),
                _ => None,
            },
            _ => None,
        };
        let mut lacks = Vec::new();
        let result = Expr::Read(Source::Result);
        self.gather(step.shape.as_ref().unwrap_or(&result), &mut Vec::new(), (instead, after), &mut lacks);
        if !lacks.is_empty() {
            self.lacks.insert(out, lacks);
        }
    }

    fn gather(
        &self,
        of: &Expr,
        at: &mut Vec<Arc<str>>,
        (instead, after): (Option<&Value>, &State),
        found: &mut Vec<Lack>,
    ) {
        match of {
            Expr::Object(members) => {
                for (key, inner) in members {
                    at.push(key.clone());
                    self.gather(inner, at, (instead, after), found);
                    at.pop();
                }
            }
            Expr::Read(Source::Result) => {
                found.extend(instead.map(|v| Lack { at: at.clone(), instead: Some(v.clone()), why: Why::Failed }));
            }
            Expr::Read(Source::Compose { seed: _, parts }) => {
                for part in parts {
                    let defined = self.defined(&Source::Slot(part.slot), &[], after);
                    if let Defined::Sometimes(why @ (Why::Failed | Why::PartFailed(_))) = defined {
                        let at = at.iter().chain(&part.at).cloned().collect();
                        found.push(Lack { at, instead: None, why });
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether a path into a slot with a value has a value.
    pub(super) fn inside<'n>(&self, slot: SlotId, path: impl Iterator<Item = &'n str> + Clone) -> Defined {
        let missing = |lack: &&Lack| {
            let mut rest = path.clone();
            lack.at.iter().all(|name| rest.next() == Some(&**name))
                && lack.instead.as_ref().is_none_or(|value| rest.try_fold(value, |v, name| v.get(name)).is_none())
        };
        match self.lacks.get(&slot).and_then(|all| all.iter().find(missing)) {
            Some(lack) => Defined::Sometimes(lack.why.clone()),
            None => Defined::Always,
        }
    }
}
