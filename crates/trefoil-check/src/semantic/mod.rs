//! The semantic model, computed once for a program and used by all rules and by the editor. Each analysis is performed
//! on first use.

pub mod call_bounds;
pub mod call_cost;
mod calls;
pub mod comparisons;
pub mod concurrency;
pub mod conditions;
pub mod cost;
mod definite_assignment;
pub mod durations;
pub mod effects;
pub mod human_answers;
pub mod human_reviews;
pub mod locals;
pub mod message_texts;
pub mod paths;
pub mod reachability;
mod reads;
pub mod repetitions;
mod shared_objects;
pub mod shell;
mod slots;
pub mod states;
pub mod taint;
pub mod text_pieces;
pub mod transition_graph;
mod types;
mod unread_parts;
pub mod visits;
mod writers;

use std::cell::OnceCell;
use std::rc::Rc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{
    Facts, FlowId, IndexVec, ModelCall, Program, SlotId, StateId, StateMachine, Step, StepId, StepKind, ToolCall,
    ToolKind, walk,
};
use trefoil_syntax::hash::HashMap;
use trefoil_template::DialectWords;

use call_bounds::CallBounds;
use calls::CallGraph;
use comparisons::TypedComparison;
use cost::CallCounter;
use reachability::ReachAnalysis;
pub use reads::{AbsenceReason, ReadPresence, ValueRead};
use states::StateExits;
use taint::TaintAnalysis;
use transition_graph::TransitionGraph;
pub use types::{PathType, ProgramTypes};
pub use unread_parts::{LoadErrors, UnreadParts};

/// A program and the analyses of it.
pub struct SemanticModel<'p> {
    /// The program.
    pub program: &'p Program,
    /// The facts about names from lowering.
    pub facts: &'p Facts,
    mistakes: &'p LoadErrors,
    /// The result types of tools, by name, if declared.
    returned: HashMap<String, ValueType>,
    /// What calls of tools do that are flows.
    called: Rc<HashMap<String, CallBounds>>,
    gaps: OnceCell<UnreadParts>,
    /// The flows that a run may start, each once.
    pub roots: Vec<FlowId>,
    reach: OnceCell<ReachAnalysis>,
    taint: OnceCell<TaintAnalysis>,
    types: OnceCell<ProgramTypes<'p>>,
    known: OnceCell<definite_assignment::AssignmentFacts<'p>>,
    compared: OnceCell<Vec<TypedComparison>>,
    steps: OnceCell<Vec<(FlowId, StepId)>>,
    reachable: OnceCell<Vec<(FlowId, StepId)>>,
    around: OnceCell<HashMap<StepId, StepId>>,
    calls: OnceCell<Rc<CallGraph>>,
}

impl<'p> SemanticModel<'p> {
    /// What the language of the program calls things.
    pub fn format_words(&self) -> &'static DialectWords {
        self.facts.words_in(self.program.entry_flow().origin.file)
    }
    /// The model of a program that may be started at these flows; the input of such a run is combined with the inputs
    /// from callers. Computes nothing yet. `mistakes`: the parts that could not be read.
    pub fn new(program: &'p Program, facts: &'p Facts, mistakes: &'p LoadErrors, roots: Vec<FlowId>) -> Self {
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
    pub fn with_results(mut self, returned: HashMap<String, ValueType>) -> Self {
        self.returned = returned;
        self
    }
    /// The same where calls of these tools do this: they are flows.
    pub fn with_calls(mut self, called: HashMap<String, CallBounds>) -> Self {
        self.called = Rc::new(called);
        self
    }
    /// The call graph.
    fn calls(&self) -> &Rc<CallGraph> {
        self.calls.get_or_init(|| Rc::new(CallGraph::from_program(self.program)))
    }
    /// The flows that a run can call and that call themselves, directly or through others.
    pub fn circular_flows(&self) -> Vec<FlowId> {
        let mut circular = Vec::new();
        for (flow, is_recursive) in self.calls().recursive_flows().entries() {
            if *is_recursive && (self.roots.contains(&flow) || self.reach_analysis().is_called(flow)) {
                circular.push(flow);
            }
        }
        circular
    }
    /// The parts that could not be read.
    pub fn unread_parts(&self) -> &UnreadParts {
        self.gaps
            .get_or_init(|| UnreadParts::from_load_errors(self.program, self.facts, self.mistakes, self.value_reads()))
    }
    /// The types of slots, results and paths.
    pub fn program_types(&self) -> &ProgramTypes<'p> {
        self.types.get_or_init(|| ProgramTypes::new(self.program, &self.roots, self.returned.clone()))
    }
    /// All reads, flow by flow.
    pub fn value_reads(&self) -> &[ValueRead<'p>] {
        &self.assignment_facts().reads
    }
    /// The reads of one flow.
    pub fn reads_of(&self, flow: FlowId) -> &[ValueRead<'p>] {
        let known = self.assignment_facts();
        let Some(range) = known.of_flow.get(&flow) else { return &[] };
        known.reads.get(range.clone()).unwrap_or_default()
    }
    fn assignment_facts(&self) -> &definite_assignment::AssignmentFacts<'p> {
        self.known.get_or_init(|| {
            definite_assignment::analyze_assignments(self.program, self.calls(), &self.roots, self.program_types())
        })
    }
    /// Every step, whether or not a run can reach it, with its flow; parents before their children.
    pub fn step_ids(&self) -> &[(FlowId, StepId)] {
        self.steps.get_or_init(|| {
            let mut all = Vec::with_capacity(self.program.steps.len());
            for (id, flow) in self.program.flows.entries() {
                let mut stack = vec![flow.body];
                while let Some(step) = stack.pop() {
                    all.push((id, step));
                    stack.extend(walk::children_of(&self.program.steps[step]).into_iter().rev());
                }
            }
            all
        })
    }
    /// The steps that can be reached from the entries, each with the first flow that contains it.
    pub fn reachable_step_ids(&self) -> &[(FlowId, StepId)] {
        self.reachable.get_or_init(|| walk::reachable_from(self.program, &self.roots))
    }
    /// The steps of [`Self::step_ids`].
    pub fn all_steps(&self) -> impl Iterator<Item = (FlowId, StepId, &'p Step)> {
        self.step_ids().iter().map(|&(flow, id)| (flow, id, &self.program.steps[id]))
    }
    /// The steps of [`Self::reachable_step_ids`].
    pub fn reachable_steps(&self) -> impl Iterator<Item = (FlowId, StepId, &'p Step)> {
        self.reachable_step_ids().iter().map(|&(flow, id)| (flow, id, &self.program.steps[id]))
    }
    /// Those of them that a run can start.
    pub fn live_steps(&self) -> impl Iterator<Item = (FlowId, StepId, &'p Step)> {
        self.reachable_steps().filter(|(_, id, _)| self.reach_analysis().is_alive(*id))
    }
    /// The model calls among [`Self::reachable_steps`].
    pub fn reachable_calls(&self) -> impl Iterator<Item = (FlowId, StepId, &'p ModelCall)> {
        self.reachable_steps().filter_map(|(flow, id, step)| match &step.kind {
            StepKind::Model(call) => Some((flow, id, &**call)),
            _ => None,
        })
    }
    /// The parent of a step.
    pub fn parent_step(&self, step: StepId) -> Option<StepId> {
        let around = self.around.get_or_init(|| {
            let mut parents = HashMap::default();
            for (id, step) in self.program.steps.entries() {
                for child in walk::children_of(step) {
                    parents.insert(child, id);
                }
            }
            parents
        });
        around.get(&step).copied()
    }
    /// The innermost named step that contains a step, which may be the step itself.
    pub fn named_ancestor(&self, step: StepId) -> Option<StepId> {
        let mut up = std::iter::successors(Some(step), |step| self.parent_step(*step));
        up.find(|step| self.program.steps[*step].label.is_some())
    }
    /// The slots for the results of machines' states, with the state's step.
    pub fn state_result_slots(&self) -> HashMap<(FlowId, SlotId), StepId> {
        let mut slots = HashMap::default();
        for (flow, _, step) in self.all_steps() {
            let StepKind::StateMachine(machine) = &step.kind else { continue };
            for state in &machine.states {
                if let Some(out) = self.program.steps[state.step].out {
                    slots.insert((flow, out), state.step);
                }
            }
        }
        slots
    }
    /// The slots for the results of graphs' nodes, with the node's step.
    pub fn node_result_slots(&self) -> HashMap<(FlowId, SlotId), StepId> {
        let mut slots = HashMap::default();
        for (flow, _, step) in self.all_steps() {
            let StepKind::Graph(graph) = &step.kind else { continue };
            for node in &graph.nodes {
                if let Some(out) = self.program.steps[node.step].out {
                    slots.insert((flow, out), node.step);
                }
            }
        }
        slots
    }
    /// The steps of one flow.
    pub fn steps_of(&self, flow: FlowId) -> &[(FlowId, StepId)] {
        let all = self.step_ids();
        let from = all.partition_point(|(f, _)| *f < flow);
        let to = all.partition_point(|(f, _)| *f <= flow);
        all.get(from..to).unwrap_or_default()
    }
    /// Every comparison in conditions and tests.
    pub fn typed_comparisons(&self) -> &[TypedComparison] {
        self.compared.get_or_init(|| comparisons::find_comparisons(self.program, self.program_types()))
    }
    /// What can run, and what can run at the same time.
    pub fn reach_analysis(&self) -> &ReachAnalysis {
        self.reach.get_or_init(|| ReachAnalysis::from_roots(self.program, &self.roots))
    }
    /// The origins of values.
    pub fn taint(&self) -> &TaintAnalysis {
        self.taint.get_or_init(|| TaintAnalysis::from_program(self.program, self.calls(), &self.roots))
    }
    /// The state machines that a run can reach, with what is known about their states.
    pub fn state_machines(&self) -> Vec<(&'p StateMachine, &IndexVec<StateId, StateExits>)> {
        let reach = self.reach_analysis();
        let mut machines = Vec::new();
        for (_, id, step) in self.reachable_steps() {
            if let StepKind::StateMachine(machine) = &step.kind
                && let Some(exits) = reach.machines.get(&id)
            {
                machines.push((machine, exits));
            }
        }
        machines
    }
    /// The state machines that a run can reach, with their transitions as written.
    pub fn transition_graphs(&self) -> Vec<(&'p StateMachine, TransitionGraph)> {
        let mut graphs = Vec::new();
        for (_, _, step) in self.reachable_steps() {
            if let StepKind::StateMachine(machine) = &step.kind {
                let graph = TransitionGraph::from_machine(self.program, self.facts, machine, step.origin);
                graphs.push((machine, graph));
            }
        }
        graphs
    }
    /// Worst-case numbers of calls, counted on request.
    pub fn call_counter(&self) -> CallCounter<'p> {
        let called = self.called.clone();
        let does = move |call: &ToolCall| match call.kind {
            ToolKind::Local => called.get(&*call.name).cloned().unwrap_or_default(),
            _ => CallBounds::default(),
        };
        CallCounter::with_call_graph(self.program, self.calls().clone()).with_tool_calls(does)
    }
}
