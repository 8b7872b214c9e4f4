//! The semantic model: computed once for a program, read by every rule and by the editor.

pub mod bound;
pub mod cases;
pub mod cost;
pub mod flow;
pub mod rendered;
pub mod states;

use std::cell::OnceCell;

use trefoil_ir::{Facts, Program, StateMachine, StepKind, walk};

use cost::Costs;
use flow::Reach;
use states::Exits;

/// A program and what is known about it. Each analysis is done when the first rule asks for it.
pub struct Model<'p> {
    /// The program.
    pub program: &'p Program,
    /// What lowering learned about names.
    pub facts: &'p Facts,
    reach: OnceCell<Reach>,
}

impl<'p> Model<'p> {
    /// Works out nothing yet.
    pub fn new(program: &'p Program, facts: &'p Facts) -> Self {
        Self { program, facts, reach: OnceCell::new() }
    }
    /// What runs at all, and what at the same time.
    pub fn reach(&self) -> &Reach {
        self.reach.get_or_init(|| Reach::of(self.program))
    }
    /// The state machines that a run can reach, with what is known about their states.
    pub fn machines(&self) -> Vec<(&'p StateMachine, &[Exits])> {
        let reach = self.reach();
        let steps = walk::reachable(self.program, self.program.entry).into_iter();
        steps
            .filter_map(|(_, id)| match &self.program.step(id)?.kind {
                StepKind::StateMachine(machine) => Some((machine, reach.machines.get(&id)?.as_slice())),
                _ => None,
            })
            .collect()
    }
    /// Worst-case numbers of calls; counted when they are asked for.
    pub fn costs(&self) -> Costs<'p> {
        Costs::new(self.program)
    }
}
