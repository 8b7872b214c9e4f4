//! The semantic model, computed once for a program and used by all rules and by the editor. Each analysis is performed
//! on first use.

pub mod answered;
pub mod before;
pub mod bound;
mod calls;
pub mod compare;
pub mod conditions;
pub mod cost;
mod defined;
pub mod durations;
pub mod effects;
pub mod flow;
mod gaps;
pub mod locals;
pub mod meeting;
pub mod money;
mod reads;
pub mod rendered;
pub mod repeats;
mod shared;
pub mod shell;
mod slots;
pub mod states;
pub mod taint;
pub mod told;
mod types;
pub mod visits;
mod writers;
pub mod written;

use std::cell::OnceCell;
use std::rc::Rc;

use trefoil_ir::types::Type;
use trefoil_ir::{
    Facts, FlowId, IndexVec, ModelCall, Program, SlotId, StateId, StateMachine, Step, StepId, StepKind, ToolCall,
    ToolKind, walk,
};
use trefoil_syntax::hash::HashMap;
use trefoil_template::Words;

use bound::Calls;
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

/// A program and the analyses of it.
pub struct Model<'p> {
    /// The program.
    pub program: &'p Program,
    /// The facts about names from lowering.
    pub facts: &'p Facts,
    mistakes: &'p Mistakes,
    /// The result types of tools, by name, if declared.
    returned: HashMap<String, Type>,
    /// What calls of tools do that are flows.
    called: Rc<HashMap<String, Calls>>,
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
    /// What the language of the program calls things.
    pub fn words(&self) -> &'static Words {
        self.facts.words_in(self.program.entry_flow().origin.file)
    }
    /// The model of a program that may be started at these flows; the input of such a run is combined with the inputs
    /// from callers. Computes nothing yet. `mistakes`: the parts that could not be read.
    pub fn new(program: &'p Program, facts: &'p Facts, mistakes: &'p Mistakes, roots: Vec<FlowId>) -> Self {
        Self {
            program,
            facts,
            mistakes,
            returned: HashMap::default(),
            called: Rc::default(),
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
    /// Sets the result types of tools.
    pub fn with_results(mut self, returned: HashMap<String, Type>) -> Self {
        self.returned = returned;
        self
    }
    /// The same where calls of these tools do this: they are flows.
    pub fn with_calls(mut self, called: HashMap<String, Calls>) -> Self {
        self.called = Rc::new(called);
        self
    }
    /// The call graph.
    fn calls(&self) -> &Rc<CallGraph> {
        self.calls.get_or_init(|| Rc::new(CallGraph::of(self.program)))
    }
    /// The flows that a run can call and that call themselves, directly or through others.
    pub fn circular(&self) -> Vec<FlowId> {
        let circular = self.calls().recursive();
        let flows = circular.entries().filter(|(_, circular)| **circular).map(|(flow, _)| flow);
        flows.filter(|flow| self.roots.contains(flow) || self.reach().is_called(*flow)).collect()
    }
    /// The parts that could not be read.
    pub fn gaps(&self) -> &Gaps {
        self.gaps.get_or_init(|| Gaps::of(self.program, self.facts, self.mistakes, self.reads()))
    }
    /// The types of slots, results and paths.
    pub fn types(&self) -> &Types<'p> {
        self.types.get_or_init(|| Types::new(self.program, &self.roots, self.returned.clone()))
    }
    /// All reads, flow by flow.
    pub fn reads(&self) -> &[Read<'p>] {
        &self.known().reads
    }
    /// The reads of one flow.
    pub fn reads_of(&self, flow: FlowId) -> &[Read<'p>] {
        let known = self.known();
        known.of_flow.get(&flow).and_then(|range| known.reads.get(range.clone())).unwrap_or_default()
    }
    fn known(&self) -> &defined::Known<'p> {
        self.known.get_or_init(|| defined::known(self.program, self.calls(), &self.roots, self.types()))
    }
    /// Every step, whether or not a run can reach it, with its flow; parents before their children.
    pub fn steps(&self) -> &[(FlowId, StepId)] {
        self.steps.get_or_init(|| {
            let mut all = Vec::with_capacity(self.program.steps.len());
            for (id, flow) in self.program.flows.entries() {
                let mut stack = vec![flow.body];
                while let Some(step) = stack.pop() {
                    all.push((id, step));
                    stack.extend(walk::children(&self.program.steps[step]).into_iter().rev());
                }
            }
            all
        })
    }
    /// The steps that can be reached from the entries, each with the first flow that contains it.
    pub fn reachable(&self) -> &[(FlowId, StepId)] {
        self.reachable.get_or_init(|| walk::reachable_from(self.program, &self.roots))
    }
    /// The steps of [`Self::steps`].
    pub fn all_steps(&self) -> impl Iterator<Item = (FlowId, StepId, &'p Step)> {
        self.steps().iter().map(|&(flow, id)| (flow, id, &self.program.steps[id]))
    }
    /// The steps of [`Self::reachable`].
    pub fn reachable_steps(&self) -> impl Iterator<Item = (FlowId, StepId, &'p Step)> {
        self.reachable().iter().map(|&(flow, id)| (flow, id, &self.program.steps[id]))
    }
    /// Those of them that a run can start.
    pub fn live_steps(&self) -> impl Iterator<Item = (FlowId, StepId, &'p Step)> {
        self.reachable_steps().filter(|(_, id, _)| self.reach().is_alive(*id))
    }
    /// The model calls among [`Self::reachable_steps`].
    pub fn reachable_calls(&self) -> impl Iterator<Item = (FlowId, StepId, &'p ModelCall)> {
        self.reachable_steps().filter_map(|(flow, id, step)| match &step.kind {
            StepKind::Model(call) => Some((flow, id, &**call)),
            _ => None,
        })
    }
    /// The parent of a step.
    pub fn parent(&self, step: StepId) -> Option<StepId> {
        let around = self.around.get_or_init(|| {
            let steps = self.program.steps.entries();
            steps.flat_map(|(id, step)| walk::children(step).into_iter().map(move |child| (child, id))).collect()
        });
        around.get(&step).copied()
    }
    /// The innermost named step that contains a step, which may be the step itself.
    pub fn named(&self, step: StepId) -> Option<StepId> {
        let mut up = std::iter::successors(Some(step), |step| self.parent(*step));
        up.find(|step| self.program.steps[*step].label.is_some())
    }
    /// The slots for the results of machines' states, with the state's step.
    pub fn results(&self) -> HashMap<(FlowId, SlotId), StepId> {
        let machines = self.all_steps().filter_map(|(flow, _, step)| match &step.kind {
            StepKind::StateMachine(machine) => Some((flow, machine)),
            _ => None,
        });
        let states = machines.flat_map(|(flow, machine)| machine.states.iter().map(move |s| (flow, s.step)));
        states.filter_map(|(flow, step)| Some(((flow, self.program.steps[step].out?), step))).collect()
    }
    /// The slots for the results of graphs' nodes, with the node's step.
    pub fn left(&self) -> HashMap<(FlowId, SlotId), StepId> {
        let graphs = self.all_steps().filter_map(|(flow, _, step)| match &step.kind {
            StepKind::Graph(graph) => Some((flow, graph)),
            _ => None,
        });
        let nodes = graphs.flat_map(|(flow, graph)| graph.nodes.iter().map(move |n| (flow, n.step)));
        nodes.filter_map(|(flow, step)| Some(((flow, self.program.steps[step].out?), step))).collect()
    }
    /// The steps of one flow.
    pub fn steps_of(&self, flow: FlowId) -> &[(FlowId, StepId)] {
        let all = self.steps();
        let from = all.partition_point(|(f, _)| *f < flow);
        let to = all.partition_point(|(f, _)| *f <= flow);
        all.get(from..to).unwrap_or_default()
    }
    /// Every comparison in conditions and tests.
    pub fn comparisons(&self) -> &[Compared] {
        self.compared.get_or_init(|| compare::all(self.program, self.types()))
    }
    /// What can run, and what can run at the same time.
    pub fn reach(&self) -> &Reach {
        self.reach.get_or_init(|| Reach::of(self.program, &self.roots))
    }
    /// The origins of values.
    pub fn taint(&self) -> &Taint {
        self.taint.get_or_init(|| Taint::of(self.program, self.calls(), &self.roots))
    }
    /// The state machines that a run can reach, with what is known about their states.
    pub fn machines(&self) -> Vec<(&'p StateMachine, &IndexVec<StateId, Exits>)> {
        let reach = self.reach();
        let machines = self.reachable_steps().filter_map(|(_, id, step)| match &step.kind {
            StepKind::StateMachine(machine) => Some((machine, reach.machines.get(&id)?)),
            _ => None,
        });
        machines.collect()
    }
    /// The state machines that a run can reach, with their transitions as written.
    pub fn written(&self) -> Vec<(&'p StateMachine, Written)> {
        let machines = self.reachable_steps().filter_map(|(_, _, step)| match &step.kind {
            StepKind::StateMachine(machine) => Some((machine, step.origin)),
            _ => None,
        });
        machines.map(|(machine, at)| (machine, Written::of(self.program, self.facts, machine, at))).collect()
    }
    /// Worst-case numbers of calls, counted on request.
    pub fn costs(&self) -> Costs<'p> {
        let called = self.called.clone();
        let does = move |call: &ToolCall| match call.kind {
            ToolKind::Local => called.get(&*call.name).cloned().unwrap_or_default(),
            _ => Calls::default(),
        };
        Costs::over(self.program, self.calls().clone()).beneath(does)
    }
}
