//! What is proved about a planned run: the checker's proofs, with their places, and the one about calls and cost.

use trefoil_check::proof::{ProgramProof, ProofKind};
use trefoil_syntax::SourceFiles;

use super::{Plan, PlanLocation};

/// How many parts that could not be seen are named in a line of text.
const SHOWN: usize = 2;

/// What is known of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanProof {
    /// Its name: `names`, `types`, `order and ends`, `calls and cost`, `secrets`, `untrusted text`, `writes`.
    pub kind: &'static str,
    /// What holds in every run.
    pub proved: Vec<String>,
    /// What could not be seen and why, with its place.
    pub unseen: Vec<(String, Option<PlanLocation>)>,
}

impl PlanProof {
    pub(super) fn from_proof(proof: &ProgramProof, plan: &Plan, files: &SourceFiles) -> Self {
        let mut unseen = Vec::new();
        for one in &proof.unseen {
            let place = one.at.and_then(|at| PlanLocation::from_location(files, at));
            unseen.push((one.what.clone(), place));
        }
        let mut own = Self { kind: proof.kind.name(), proved: proof.proved.clone(), unseen };
        if proof.kind == ProofKind::Cost {
            own.count(plan);
        }
        own
    }

    /// The calls and the cost.
    fn count(&mut self, plan: &Plan) {
        for (name, bound) in plan.calls.named_bounds() {
            if name != "model" && bound.is_zero() {
                continue;
            }
            match bound.fixed_number() {
                Some(1) => self.proved.push(format!("at most 1 {name} call")),
                Some(n) => self.proved.push(format!("at most {n} {name} calls")),
                None if bound.endless => {
                    self.unseen.push((format!("the number of {name} calls: a flow calls itself"), None))
                }
                None => {
                    let what = format!("the number of {name} calls: it depends on the length of a list ({bound})");
                    self.unseen.push((what, None));
                }
            }
        }
        let Some(money) = &plan.money else { return };
        match &money.at_most {
            Some(most) if most.fixed_number().is_some() => {
                let by = match money.limited_by {
                    Some(by) => format!(" by {by}"),
                    None => String::new(),
                };
                self.proved.push(format!("at most {}{by}", super::cost::render_dollars(most)));
            }
            Some(_) => self.unseen.push(("the maximum cost: it depends on the length of a list".to_owned(), None)),
            None => self.unseen.push((format!("the maximum cost: {}", money.lacks.join("; ")), None)),
        }
    }

    /// One line for people: what was proved, and the first of what was not.
    pub(super) fn render_line(&self) -> String {
        let mut parts = self.proved.clone();
        if !self.unseen.is_empty() {
            let mut named = Vec::new();
            for (what, place) in self.unseen.iter().take(SHOWN) {
                named.push(match place {
                    Some(place) => format!("{what} ({}:{})", place.file, place.line),
                    None => what.clone(),
                });
            }
            if let more @ 1.. = self.unseen.len().saturating_sub(SHOWN) {
                named.push(format!("{more} more"));
            }
            parts.push(format!("not seen: {}", named.join(", ")));
        }
        format!("{}: {}", self.kind, parts.join("; "))
    }
}
