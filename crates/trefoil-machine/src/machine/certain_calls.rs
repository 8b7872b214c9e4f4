//! Whether a flow certainly calls a model, so that the minimum number of calls for a list of items is known in advance.

use std::collections::BTreeMap;

use trefoil_ir::{FlowCallee, FlowId, Program, Step, StepId, StepKind};

/// Whether a call of the flow reaches a model call on every path, unless it fails before.
pub fn always_calls_model(program: &Program, flow: FlowId) -> bool {
    CertainCallAnalysis { program, known: BTreeMap::new() }.flow(flow)
}

struct CertainCallAnalysis<'p> {
    program: &'p Program,
    /// A flow that is being analysed counts as one that does not.
    known: BTreeMap<FlowId, bool>,
}

impl CertainCallAnalysis<'_> {
    fn flow(&mut self, id: FlowId) -> bool {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        self.known.insert(id, false);
        let surely = self.step(self.program.flows[id].body);
        self.known.insert(id, surely);
        surely
    }

    fn step(&mut self, id: StepId) -> bool {
        let Step { kind, when: None, .. } = &self.program.steps[id] else { return false };
        match kind {
            StepKind::Model(_) => true,
            StepKind::Sequence(steps) => {
                // Computations and waits lead to the next step; for anything else this is unknown.
                let quiet =
                    |id: &StepId| matches!(self.program.steps[*id].kind, StepKind::Compute(_) | StepKind::Wait { .. });
                match steps.iter().find(|id| !quiet(id)) {
                    Some(first) => self.step(*first),
                    None => false,
                }
            }
            StepKind::Parallel(parallel) => parallel.branches.iter().any(|id| self.step(*id)),
            StepKind::Branch { arms, otherwise } => {
                let Some(otherwise) = *otherwise else { return false };
                self.step(otherwise) && arms.iter().all(|arm| self.step(arm.step))
            }
            StepKind::Loop(repeat) => self.step(repeat.body),
            StepKind::Attempts(attempts) => self.step(attempts.body),
            StepKind::Call(call) => match &call.callee {
                FlowCallee::Flow(flow) => self.flow(*flow),
                FlowCallee::Named { .. } => false,
            },
            _ => false,
        }
    }
}
