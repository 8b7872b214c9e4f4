//! What agntz calls a flow, its steps and its models.

use std::collections::HashMap;
use std::sync::Arc;

use trefoil_ir::{Program, SlotId, StepId, StepKind};
use trefoil_project::Flow;

/// What agntz calls a flow and its steps.
pub struct FlowShape {
    /// Whether the run is that of one agent or tool, which is no run inside it.
    is_lone: bool,
    name: String,
    /// The names of results in the state, by the labels of the steps.
    state_names: HashMap<Arc<str>, Arc<str>>,
}

impl FlowShape {
    /// Of a flow.
    pub fn of_flow(flow: &Flow) -> Self {
        let program = &flow.loaded_target().program;
        let mut exports: HashMap<SlotId, Arc<str>> = HashMap::new();
        for export in &program.entry_flow().exports {
            if export.member.is_empty() {
                exports.insert(export.slot, export.key.clone());
            }
        }
        let mut state_names = HashMap::new();
        for id in own_steps(program) {
            let step = &program.steps[id];
            if let (Some(label), Some(out)) = (&step.label, step.out) {
                let name = exports.get(&out).unwrap_or(label);
                state_names.insert(label.clone(), name.clone());
            }
        }
        let is_lone = matches!(flow_kind(flow), "llm" | "tool" | "image" | "transcription");
        Self { is_lone, name: flow.name().to_owned(), state_names }
    }

    /// Whether a step is a run of its own.
    pub fn is_part(&self, key: &str, label: &str, kind: &str) -> bool {
        let is_root = self.is_lone && label == self.name && !key.contains('/');
        matches!(kind, "agent" | "pipeline" | "workflow") && !is_root
    }

    /// The name of a step's result in the state of the run. `None`: it is not a step of the run itself.
    pub fn state_name(&self, key: &str) -> Option<&str> {
        if self.is_lone || key.contains('/') {
            return None;
        }
        let label = key.split(['@', '[', '#', '!', '~']).next()?;
        self.state_names.get(label).map(|name| &**name)
    }
}

/// The steps of the entry flow, with those inside its sequences and parallel steps.
fn own_steps(program: &Program) -> Vec<StepId> {
    let (mut steps, mut left) = (Vec::new(), vec![program.entry_flow().body]);
    while let Some(id) = left.pop() {
        steps.push(id);
        match &program.steps[id].kind {
            StepKind::Sequence(inner) => left.extend(inner),
            StepKind::Parallel(parallel) => left.extend(&parallel.branches),
            StepKind::Branch { arms, otherwise } => {
                left.extend(arms.iter().map(|arm| arm.step));
                left.extend(otherwise);
            }
            StepKind::StateMachine(machine) => left.extend(machine.states.iter().map(|state| state.step)),
            StepKind::Graph(graph) => left.extend(graph.nodes.iter().map(|node| node.step)),
            _ => {}
        }
    }
    steps
}

/// The agent that a step names: a model calls the agent `x` with the tool `invoke_x`.
pub fn agent_of_label<'l>(key: &str, label: &'l str) -> &'l str {
    match label.strip_prefix("invoke_") {
        Some(agent) if key.contains("]/") => agent,
        _ => label,
    }
}

/// The kind of a flow: one of the six words that clients of agntz accept.
pub fn flow_kind(flow: &Flow) -> &'static str {
    let program = &flow.loaded_target().program;
    let mut id = program.entry_flow().body;
    loop {
        match &program.steps[id].kind {
            StepKind::Model(_) | StepKind::Conversation(_) => return "llm",
            StepKind::Attempts(attempts) => id = attempts.body,
            StepKind::Tool(_) | StepKind::Command(_) => return "tool",
            StepKind::Parallel(_) => return "parallel",
            StepKind::Sequence(steps) => match steps.as_slice() {
                [only] => id = *only,
                _ => return "sequential",
            },
            StepKind::Refused(refused) if refused.feature.contains("image") => return "image",
            StepKind::Refused(refused) if refused.feature.contains("transcription") => return "transcription",
            _ => return "sequential",
        }
    }
}

/// A model as agntz writes it: `provider/name`.
pub fn model_text(model: &str) -> String {
    model.replacen(':', "/", 1)
}

/// One model for several: its name, or `manifest` if they are not the same.
pub fn common_model(models: &[String]) -> &str {
    match models {
        [only] => only,
        _ => "manifest",
    }
}
