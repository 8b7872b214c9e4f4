//! A description of a program in words, step by step. Made once for each flow; plans list it and graphs draw it. The
//! checker counts how often each step runs (`trefoil_check::semantic::cost`), without words.

use std::sync::Arc;

use trefoil_ir::{
    Conversation, FlowCallee, FlowDefinition, FlowId, IndexVec, NodeId, OnItemFailure, Program, StateId, StateMachine,
    Step, StepGraph, StepId, StepKind, ValidatorKind, walk,
};
use trefoil_syntax::{Location, SourceFiles};

use super::{
    model_name, policy_notes, render_command, render_duration, render_expr, render_items, short_text,
    template_source_text, tool_kind_name,
};
use crate::plan::PlanLocation;

/// The flows of a program.
pub struct ProgramDescription<'p> {
    pub program: &'p Program,
    pub files: &'p SourceFiles,
    bodies: IndexVec<FlowId, StepNode<'p>>,
}

/// A step.
pub struct StepNode<'p> {
    pub step: &'p Step,
    /// Its flow.
    pub flow: FlowId,
    pub place: Option<PlanLocation>,
    /// Its condition and its policies.
    pub notes: Vec<String>,
    pub what: StepContent<'p>,
}

/// The content of a step.
pub enum StepContent<'p> {
    /// An effect, a wait or an unsupported step. `title` is used if the manifest has no name for it.
    Effect { title: &'p str, says: String },
    /// It computes a value.
    Value,
    /// Steps in sequence.
    Sequence(Vec<StepNode<'p>>),
    /// Concurrent steps. `width`: the maximum number at a time; `skips`: a failure does not affect the others.
    Parallel { width: Option<String>, skips: bool, branches: Vec<StepNode<'p>> },
    /// The first arm whose condition holds.
    Choice { arms: Vec<(String, StepNode<'p>)>, otherwise: Option<Box<StepNode<'p>>> },
    /// A loop.
    Loop { until: String, most: String, body: Box<StepNode<'p>> },
    /// A flow for each of these items.
    Each { items: String, width: Option<String>, limit: Option<String>, skips: bool, body: FlowId },
    /// Nodes, each of which runs after those before it have ended.
    Graph { graph: &'p StepGraph, nodes: IndexVec<NodeId, StepNode<'p>> },
    /// States, connected by transitions.
    States { machine: &'p StateMachine, states: IndexVec<StateId, StepNode<'p>> },
    /// A body that is repeated until it is accepted or calls no tool. `beside` are flows: judges, or agents that are
    /// tools.
    Turns { notes: Vec<String>, role: &'static str, beside: Vec<(Arc<str>, FlowId)>, body: Box<StepNode<'p>> },
    /// A call of another flow.
    Call(FlowId),
    /// A call of one of these flows, by a name known only at run time.
    Named { name: String, flows: &'p [(Arc<str>, FlowId)] },
}

impl<'p> ProgramDescription<'p> {
    /// Describes all flows.
    pub fn for_program(program: &'p Program, files: &'p SourceFiles) -> Self {
        let mut made = Self { program, files, bodies: IndexVec::default() };
        made.bodies = program.flows.entries().map(|(id, flow)| made.node((id, flow), flow.body)).collect();
        made
    }
    /// The body of a flow.
    pub fn flow_body(&self, id: FlowId) -> &StepNode<'p> {
        &self.bodies[id]
    }
    /// A place in a manifest.
    pub fn to_plan_location(&self, at: Location) -> Option<PlanLocation> {
        PlanLocation::from_location(self.files, at)
    }
    fn node(&self, flow: (FlowId, &'p FlowDefinition), id: StepId) -> StepNode<'p> {
        let step = &self.program.steps[id];
        let mut notes = Vec::new();
        if let Some(when) = &step.when {
            notes.push(format!("when {}", short_text(&when.text)));
        }
        notes.extend(policy_notes(step));
        StepNode { step, flow: flow.0, place: self.to_plan_location(step.origin), notes, what: self.what(flow, step) }
    }
    fn nodes(&self, flow: (FlowId, &'p FlowDefinition), ids: &[StepId]) -> Vec<StepNode<'p>> {
        ids.iter().map(|id| self.node(flow, *id)).collect()
    }
    /// The description of a step.
    fn what(&self, flow: (FlowId, &'p FlowDefinition), step: &'p Step) -> StepContent<'p> {
        let one = |id: StepId| Box::new(self.node(flow, id));
        let width = |n: Option<u32>| n.map(|n| format!("{n} at a time"));
        match &step.kind {
            StepKind::Sequence(steps) => StepContent::Sequence(self.nodes(flow, steps)),
            StepKind::Parallel(parallel) => StepContent::Parallel {
                width: width(parallel.concurrency),
                skips: parallel.on_failure == OnItemFailure::Continue,
                branches: self.nodes(flow, &parallel.branches),
            },
            StepKind::Branch { arms, otherwise } => StepContent::Choice {
                arms: arms.iter().map(|a| (short_text(&a.when.text), self.node(flow, a.step))).collect(),
                otherwise: otherwise.map(one),
            },
            StepKind::Loop(it) => StepContent::Loop {
                until: format!("until {}", short_text(&it.until.text)),
                most: format!("at most {} iterations", it.max),
                body: one(it.body),
            },
            StepKind::ForEach(each) => StepContent::Each {
                items: render_items(self.files, flow.1, &each.items),
                width: width(each.concurrency),
                limit: each.timeout_ms.map(|ms| format!("time limit {} each", render_duration(ms))),
                skips: each.on_failure == OnItemFailure::Continue,
                body: each.body,
            },
            StepKind::Graph(graph) => StepContent::Graph { graph, nodes: graph.nodes.map(|n| self.node(flow, n.step)) },
            StepKind::StateMachine(machine) => {
                StepContent::States { machine, states: machine.states.map(|s| self.node(flow, s.step)) }
            }
            StepKind::Attempts(attempts) => {
                let (checks, judges) = checks(attempts);
                let mut notes = Vec::new();
                if attempts.max > 1 {
                    notes.push(format!("up to {} attempts", attempts.max));
                }
                notes.extend(checks);
                StepContent::Turns { notes, role: "judge", beside: judges, body: one(attempts.body) }
            }
            StepKind::Conversation(conversation) => self.conversation(flow, conversation),
            StepKind::Call(call) => match &call.callee {
                FlowCallee::Flow(id) => StepContent::Call(*id),
                FlowCallee::Named { name, flows } => {
                    StepContent::Named { name: format!("agent {}", template_source_text(self.files, name)), flows }
                }
            },
            kind => self.effect(flow.1, kind),
        }
    }
    fn conversation(&self, flow: (FlowId, &'p FlowDefinition), conversation: &'p Conversation) -> StepContent<'p> {
        let (mut names, mut beside) = (Vec::new(), Vec::new());
        for offer in &conversation.offers {
            names.push(if offer.all { format!("{}*", offer.name) } else { offer.name.to_string() });
            let callees = walk::callees_of(&self.program.steps[offer.step]);
            for callee in &callees {
                let name = if callees.len() == 1 { &offer.name } else { &self.program.flows[*callee].name };
                beside.push((name.clone(), *callee));
            }
        }
        let mut turns = format!("up to {} turns", conversation.max_turns);
        if let Some(calls) = conversation.calls.most {
            turns.push_str(&format!(" and {calls} tool calls"));
        }
        let mut notes = vec![turns, format!("may call {}", names.join(", "))];
        if let Some(gate) = conversation.gate
            && let StepKind::Attempts(attempts) = &self.program.steps[gate].kind
        {
            let (checks, judges) = checks(attempts);
            for check in checks {
                notes.push(format!("calls {check}"));
            }
            beside.extend(judges);
        }
        StepContent::Turns { notes, role: "tool", beside, body: Box::new(self.node(flow, conversation.turn)) }
    }
    fn effect(&self, flow: &'p FlowDefinition, kind: &'p StepKind) -> StepContent<'p> {
        let (title, says): (&str, String) = match kind {
            StepKind::Model(call) => (&call.speaker, model_name(&call.model)),
            StepKind::Tool(call) => (&call.name, format!("{} {}", tool_kind_name(&call.kind), call.name)),
            StepKind::Command(call) => ("command", render_command(self.files, flow, call)),
            StepKind::Human(call) => ("human", render_expr(self.files, flow, &call.prompt)),
            StepKind::Wait { ms } => ("wait", render_duration(*ms)),
            StepKind::Refused(refused) => (&refused.feature, format!("not run: {}", refused.feature)),
            _ => return StepContent::Value,
        };
        StepContent::Effect { title, says }
    }
}

/// Descriptions of the validators of attempts, and their judges.
fn checks(attempts: &trefoil_ir::Attempts) -> (Vec<String>, Vec<(Arc<str>, FlowId)>) {
    let (mut notes, mut judges) = (Vec::new(), Vec::new());
    for validator in &attempts.validators {
        let ValidatorKind::Judges { judges: all, .. } = &validator.kind else {
            notes.push(format!("checked by {}", validator.name));
            continue;
        };
        let names: Vec<_> = all.iter().map(|j| &*j.name).collect();
        notes.push(format!("judged by {}", names.join(", ")));
        judges.extend(all.iter().map(|j| (j.name.clone(), j.flow)));
    }
    (notes, judges)
}
