//! The writers of each slot.

use trefoil_syntax::hash::HashMap;

use trefoil_ir::walk::{callees_of, children_of};
use trefoil_ir::{FanOutItems, FlowId, Intake, Program, SlotId, Source, StepId, StepKind, ValueExpression};

/// One way in which a slot gets its value.
pub enum SlotWriter<'p> {
    /// The processed input.
    Input(&'p Intake),
    /// The unprocessed input.
    Raw(&'p Intake),
    /// An expression of the flow.
    Value(&'p ValueExpression),
    /// A source of a flow.
    Source(FlowId, &'p Source),
    /// A step's result.
    Result(StepId),
    /// An item of a list of a flow.
    Item(FlowId, &'p ValueExpression),
    /// A count.
    Number,
    /// A number from 1 to this one.
    Counted(u32),
    /// Text.
    Text,
    /// Any value.
    Unknown,
}

/// The writers of every slot of a program.
#[derive(Default)]
pub struct SlotWriters<'p> {
    slots: HashMap<(FlowId, SlotId), Vec<SlotWriter<'p>>>,
    exporters: HashMap<(FlowId, SlotId), Vec<FlowId>>,
    callers: HashMap<FlowId, Vec<(FlowId, Option<&'p ValueExpression>)>>,
}

impl<'p> SlotWriters<'p> {
    /// The writers of a program.
    pub fn from_program(program: &'p Program) -> Self {
        let mut all = Self::default();
        for (id, flow) in program.flows.entries() {
            all.add(id, flow.intake.slot, SlotWriter::Input(&flow.intake));
            if let Some((raw, _)) = &flow.intake.raw {
                all.add(id, *raw, SlotWriter::Raw(&flow.intake));
            }
            for (slot, value) in &flow.init {
                all.add(id, *slot, SlotWriter::Value(value));
            }
            let mut stack = vec![flow.body];
            while let Some(at) = stack.pop() {
                let step = &program.steps[at];
                if let Some(out) = step.out {
                    all.add(id, out, SlotWriter::Result(at));
                }
                all.inner(program, id, step);
                stack.extend(children_of(step));
            }
        }
        all
    }

    /// The writers of a slot.
    pub fn of_slot(&self, flow: FlowId, slot: SlotId) -> &[SlotWriter<'p>] {
        self.slots.get(&(flow, slot)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The flows whose inner results a slot holds.
    pub fn exporting_flows(&self, flow: FlowId, slot: SlotId) -> &[FlowId] {
        self.exporters.get(&(flow, slot)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The only call of a flow: the calling flow, and the input.
    pub fn only_call(&self, flow: FlowId) -> Option<(FlowId, &'p ValueExpression)> {
        match self.callers.get(&flow).map(Vec::as_slice) {
            Some([(from, Some(input))]) => Some((*from, input)),
            _ => None,
        }
    }

    fn add(&mut self, flow: FlowId, slot: SlotId, writer: SlotWriter<'p>) {
        self.slots.entry((flow, slot)).or_default().push(writer);
    }

    fn inner(&mut self, program: &'p Program, id: FlowId, step: &'p trefoil_ir::Step) {
        match &step.kind {
            StepKind::ForEach(each) => {
                if let Some(item) = each.item {
                    let writer = match &each.items {
                        FanOutItems::List(list) => SlotWriter::Item(id, list),
                        FanOutItems::Count(..) => SlotWriter::Unknown,
                    };
                    self.add(each.body, item, writer);
                }
                self.add(each.body, each.index, SlotWriter::Number);
                self.add(each.body, each.total, SlotWriter::Number);
                for (slot, source) in &each.captures {
                    self.add(each.body, *slot, SlotWriter::Source(id, source));
                }
            }
            StepKind::Graph(graph) => {
                for node in &graph.nodes {
                    for edge in &node.incoming {
                        if let Some((slot, source)) = &edge.carry {
                            self.add(id, *slot, SlotWriter::Source(id, source));
                        }
                    }
                }
            }
            StepKind::StateMachine(machine) => {
                for slot in [machine.feedback, machine.previous_error].into_iter().flatten() {
                    self.add(id, slot, SlotWriter::Text);
                }
                if let Some(slot) = machine.visit {
                    self.add(id, slot, SlotWriter::Number);
                }
                for state in &machine.states {
                    if let (Some(failed), Some(out)) = (&state.failed, program.steps[state.step].out) {
                        self.add(id, out, SlotWriter::Value(failed));
                    }
                }
            }
            StepKind::Attempts(attempts) => {
                self.add(id, attempts.iteration, SlotWriter::Counted(attempts.max));
                self.add(id, attempts.previous_error, SlotWriter::Text);
            }
            StepKind::Call(call) => {
                for callee in callees_of(step) {
                    self.callers.entry(callee).or_default().push((id, call.input.as_ref()));
                }
                if let Some(slot) = call.exports {
                    self.exporters.entry((id, slot)).or_default().extend(callees_of(step));
                    self.add(id, slot, SlotWriter::Unknown);
                }
            }
            _ => {}
        }
    }
}
