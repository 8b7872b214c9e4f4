//! The semantic model: computed once for a program, read by every rule and by the editor. Each analysis is done when somebody
//! asks for it first.

pub mod answered;
mod apart;
pub mod bound;
mod calls;
pub mod cases;
pub mod compare;
pub mod conditions;
pub mod cost;
mod defined;
mod exclusive;
pub mod fit;
pub mod flow;
mod gaps;
pub mod locals;
mod reads;
pub mod rendered;
pub mod shell;
mod slots;
pub mod states;
pub mod taint;
pub mod together;
pub mod told;
mod types;
pub mod visits;
mod writers;
pub mod written;

use std::cell::OnceCell;
use std::rc::Rc;

use trefoil_ir::{Facts, FlowId, Program, SlotId, StateMachine, StepId, StepKind, walk};
use trefoil_syntax::hash::HashMap;
use trefoil_template::Value;

use calls::CallGraph;
use compare::Compared;
use cost::Costs;
use flow::Reach;
pub use gaps::{Gaps, Mistakes};
pub use reads::{Defined, Read, Why};
use states::Exits;
use taint::Taint;
pub use types::{Types, Walk};
use written::Written;

/// A program and what is known about it.
pub struct Model<'p> {
    /// The program.
    pub program: &'p Program,
    /// What lowering learned about names.
    pub facts: &'p Facts,
    mistakes: &'p Mistakes,
    /// What tools return, by name, where somebody declares it.
    returned: HashMap<String, Value>,
    gaps: OnceCell<Gaps>,
    /// The flows that a run may start, each once.
    pub roots: Vec<FlowId>,
    reach: OnceCell<Reach>,
    taint: OnceCell<Taint>,
    types: OnceCell<Types<'p>>,
    known: OnceCell<defined::Known<'p>>,
    compared: OnceCell<Vec<Compared>>,
    steps: OnceCell<Vec<(FlowId, StepId)>>,
    reachable: OnceCell<Vec<(FlowId, StepId)>>,
    around: OnceCell<HashMap<StepId, StepId>>,
    calls: OnceCell<Rc<CallGraph>>,
}

impl<'p> Model<'p> {
    /// Of a program that a run may start at these flows; what such a run brings along is joined with what callers do. Works
    /// out nothing yet. `mistakes`: what could not be read of it.
    pub fn new(program: &'p Program, facts: &'p Facts, mistakes: &'p Mistakes, roots: Vec<FlowId>) -> Self {
        Self {
            program,
            facts,
            mistakes,
            returned: HashMap::default(),
            roots,
            gaps: OnceCell::new(),
            reach: OnceCell::new(),
            taint: OnceCell::new(),
            types: OnceCell::new(),
            known: OnceCell::new(),
            compared: OnceCell::new(),
            steps: OnceCell::new(),
            reachable: OnceCell::new(),
            around: OnceCell::new(),
            calls: OnceCell::new(),
        }
    }
    /// The same where these tools return what these schemas say.
    pub fn with_results(mut self, returned: HashMap<String, Value>) -> Self {
        self.returned = returned;
        self
    }
    /// Which flow calls which.
    fn calls(&self) -> &Rc<CallGraph> {
        self.calls.get_or_init(|| Rc::new(CallGraph::of(self.program)))
    }
    /// What could not be read.
    pub fn gaps(&self) -> &Gaps {
        self.gaps.get_or_init(|| Gaps::of(self.program, self.facts, self.mistakes, self.reads()))
    }
    /// The types of slots, results and paths.
    pub fn types(&self) -> &Types<'p> {
        self.types.get_or_init(|| Types::new(self.program, &self.roots, self.returned.clone()))
    }
    /// Everything that is read, flow by flow.
    pub fn reads(&self) -> &[Read<'p>] {
        &self.known().reads
    }
    /// What one flow reads.
    pub fn reads_of(&self, flow: FlowId) -> &[Read<'p>] {
        let known = self.known();
        known.of_flow.get(&flow).and_then(|range| known.reads.get(range.clone())).unwrap_or_default()
    }
    fn known(&self) -> &defined::Known<'p> {
        self.known.get_or_init(|| defined::known(self.program, self.calls(), &self.roots, self.types()))
    }
    /// Every step, whether a run can reach it or not, with the flow it is in; parents before what is in them.
    pub fn steps(&self) -> &[(FlowId, StepId)] {
        self.steps.get_or_init(|| {
            let mut all = Vec::with_capacity(self.program.steps.len());
            for (i, flow) in self.program.flows.iter().enumerate() {
                let mut stack = vec![flow.body];
                while let Some(id) = stack.pop() {
                    let Some(step) = self.program.step(id) else { continue };
                    all.push((FlowId(i as u32), id));
                    stack.extend(walk::children(step).into_iter().rev());
                }
            }
            all
        })
    }
    /// The steps that the entries lead to, with the flow each is in first.
    pub fn reachable(&self) -> &[(FlowId, StepId)] {
        self.reachable.get_or_init(|| walk::reachable_from(self.program, &self.roots))
    }
    /// The step that a step is in.
    pub fn parent(&self, step: StepId) -> Option<StepId> {
        let around = self.around.get_or_init(|| {
            let steps = self.program.steps.iter().enumerate();
            steps.flat_map(|(at, step)| walk::children(step).into_iter().map(move |c| (c, StepId(at as u32)))).collect()
        });
        around.get(&step).copied()
    }
    /// The innermost step with a name around a step, which may be that step.
    pub fn named(&self, step: StepId) -> Option<StepId> {
        let mut up = std::iter::successors(Some(step), |step| self.parent(*step));
        up.find(|step| self.program.step(*step).is_some_and(|s| s.label.is_some()))
    }
    /// Where the states of machines leave their results, with the state's step.
    pub fn results(&self) -> HashMap<(FlowId, SlotId), StepId> {
        let machines = self.steps().iter().filter_map(|(flow, id)| match &self.program.step(*id)?.kind {
            StepKind::StateMachine(machine) => Some((*flow, machine)),
            _ => None,
        });
        let states = machines.flat_map(|(flow, machine)| machine.states.iter().map(move |s| (flow, s.step)));
        states.filter_map(|(flow, step)| Some(((flow, self.program.step(step)?.out?), step))).collect()
    }
    /// Where the nodes of graphs leave their results, with the node's step.
    pub fn left(&self) -> HashMap<(FlowId, SlotId), StepId> {
        let graphs = self.steps().iter().filter_map(|(flow, id)| match &self.program.step(*id)?.kind {
            StepKind::Graph(graph) => Some((*flow, graph)),
            _ => None,
        });
        let nodes = graphs.flat_map(|(flow, graph)| graph.nodes.iter().map(move |n| (flow, n.step)));
        nodes.filter_map(|(flow, step)| Some(((flow, self.program.step(step)?.out?), step))).collect()
    }
    /// The steps of one flow.
    pub fn steps_of(&self, flow: FlowId) -> &[(FlowId, StepId)] {
        let all = self.steps();
        let from = all.partition_point(|(f, _)| *f < flow);
        let to = all.partition_point(|(f, _)| *f <= flow);
        all.get(from..to).unwrap_or_default()
    }
    /// Every comparison of conditions and tests.
    pub fn comparisons(&self) -> &[Compared] {
        self.compared.get_or_init(|| compare::all(self.program, self.types()))
    }
    /// What runs at all, and what at the same time.
    pub fn reach(&self) -> &Reach {
        self.reach.get_or_init(|| Reach::of(self.program, &self.roots))
    }
    /// Where values come from.
    pub fn taint(&self) -> &Taint {
        self.taint.get_or_init(|| Taint::of(self.program, self.calls(), &self.roots))
    }
    /// The state machines that a run can reach, with what is known about their states.
    pub fn machines(&self) -> Vec<(&'p StateMachine, &[Exits])> {
        let reach = self.reach();
        let steps = self.reachable().iter();
        steps
            .filter_map(|(_, id)| match &self.program.step(*id)?.kind {
                StepKind::StateMachine(machine) => Some((machine, reach.machines.get(id)?.as_slice())),
                _ => None,
            })
            .collect()
    }
    /// The state machines that a run can reach, with where their transitions lead as they are written.
    pub fn written(&self) -> Vec<(&'p StateMachine, Written)> {
        let steps = self.reachable().iter().filter_map(|(_, id)| self.program.step(*id));
        let machines = steps.filter_map(|step| match &step.kind {
            StepKind::StateMachine(machine) => Some((machine, step.origin)),
            _ => None,
        });
        machines.map(|(machine, at)| (machine, Written::of(self.program, self.facts, machine, at))).collect()
    }
    /// Worst-case numbers of calls; counted when they are requested.
    pub fn costs(&self) -> Costs<'p> {
        Costs::over(self.program, self.calls().clone())
    }
}
