//! The writers of each slot.

use trefoil_syntax::hash::HashMap;

use trefoil_ir::walk::{callees, children};
use trefoil_ir::{Expr, FlowId, Intake, Items, Program, SlotId, Source, StepId, StepKind};

/// One way in which a slot gets its value.
pub enum Writer<'p> {
    /// The processed input.
    Input(&'p Intake),
    /// The unprocessed input.
    Raw(&'p Intake),
    /// An expression of the flow.
    Value(&'p Expr),
    /// A source of a flow.
    Source(FlowId, &'p Source),
    /// A step's result.
    Result(StepId),
    /// An item of a list of a flow.
    Item(FlowId, &'p Expr),
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
pub struct Writers<'p> {
    slots: HashMap<(FlowId, SlotId), Vec<Writer<'p>>>,
    exporters: HashMap<(FlowId, SlotId), Vec<FlowId>>,
    callers: HashMap<FlowId, Vec<(FlowId, Option<&'p Expr>)>>,
}

impl<'p> Writers<'p> {
    /// The writers of a program.
    pub fn of(program: &'p Program) -> Self {
        let mut all = Self::default();
        for (id, flow) in program.flows.entries() {
            all.add(id, flow.intake.slot, Writer::Input(&flow.intake));
            if let Some((raw, _)) = &flow.intake.raw {
                all.add(id, *raw, Writer::Raw(&flow.intake));
            }
            for (slot, value) in &flow.init {
                all.add(id, *slot, Writer::Value(value));
            }
            let mut stack = vec![flow.body];
            while let Some(at) = stack.pop() {
                let step = &program.steps[at];
                if let Some(out) = step.out {
                    all.add(id, out, Writer::Result(at));
                }
                all.inner(program, id, step);
                stack.extend(children(step));
            }
        }
        all
    }

    /// The writers of a slot.
    pub fn of_slot(&self, flow: FlowId, slot: SlotId) -> &[Writer<'p>] {
        self.slots.get(&(flow, slot)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The flows whose inner results a slot holds.
    pub fn exporters(&self, flow: FlowId, slot: SlotId) -> &[FlowId] {
        self.exporters.get(&(flow, slot)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The only call of a flow: the calling flow, and the input.
    pub fn only_call(&self, flow: FlowId) -> Option<(FlowId, &'p Expr)> {
        match self.callers.get(&flow).map(Vec::as_slice) {
            Some([(from, Some(input))]) => Some((*from, input)),
            _ => None,
        }
    }

    fn add(&mut self, flow: FlowId, slot: SlotId, writer: Writer<'p>) {
        self.slots.entry((flow, slot)).or_default().push(writer);
    }

    fn inner(&mut self, program: &'p Program, id: FlowId, step: &'p trefoil_ir::Step) {
        match &step.kind {
            StepKind::ForEach(each) => {
                if let Some(item) = each.item {
                    let writer = match &each.items {
                        Items::List(list) => Writer::Item(id, list),
                        Items::Count(..) => Writer::Unknown,
                    };
                    self.add(each.body, item, writer);
                }
                self.add(each.body, each.index, Writer::Number);
                self.add(each.body, each.total, Writer::Number);
                for (slot, source) in &each.captures {
                    self.add(each.body, *slot, Writer::Source(id, source));
                }
            }
            StepKind::Graph(graph) => {
                for (slot, source) in graph.nodes.iter().flat_map(|n| &n.incoming).filter_map(|e| e.carry.as_ref()) {
                    self.add(id, *slot, Writer::Source(id, source));
                }
            }
            StepKind::StateMachine(machine) => {
                for (slot, number) in
                    [(machine.feedback, false), (machine.previous_error, false), (machine.visit, true)]
                {
                    if let Some(slot) = slot {
                        self.add(id, slot, if number { Writer::Number } else { Writer::Text });
                    }
                }
                for state in &machine.states {
                    if let (Some(failed), Some(out)) = (&state.failed, program.steps[state.step].out) {
                        self.add(id, out, Writer::Value(failed));
                    }
                }
            }
            StepKind::Attempts(attempts) => {
                self.add(id, attempts.iteration, Writer::Counted(attempts.max));
                self.add(id, attempts.previous_error, Writer::Text);
            }
            StepKind::Call(call) => {
                for callee in callees(step) {
                    self.callers.entry(callee).or_default().push((id, call.input.as_ref()));
                }
                if let Some(slot) = call.exports {
                    self.exporters.entry((id, slot)).or_default().extend(callees(step));
                    self.add(id, slot, Writer::Unknown);
                }
            }
            _ => {}
        }
    }
}
