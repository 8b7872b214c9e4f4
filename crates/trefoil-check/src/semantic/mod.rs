//! The semantic model: computed once for a program, read by every rule and by the editor.

pub mod bound;
pub mod cases;
pub mod cost;
pub mod flow;
pub mod states;

use std::cell::OnceCell;

use trefoil_ir::{Facts, Program};

use cost::Costs;
use flow::Reach;

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
    /// Worst-case numbers of calls; counted when they are asked for.
    pub fn costs(&self) -> Costs<'p> {
        Costs::new(self.program)
    }
}
