//! The semantic model: computed once for a program, read by every rule and by the editor. Each part is worked out when it is
//! asked for first.

mod defined;
mod reads;
pub mod schema;
mod slots;
mod types;
mod writers;

use std::cell::OnceCell;

use trefoil_ir::{Facts, Program};

pub use reads::{Defined, Read, Why};
pub use types::{Types, Walk};

/// A program and what is known about it.
pub struct Model<'p> {
    /// The program.
    pub program: &'p Program,
    /// What lowering learned about names.
    pub facts: &'p Facts,
    types: OnceCell<Types<'p>>,
    known: OnceCell<defined::Known<'p>>,
}

impl<'p> Model<'p> {
    /// Of a program.
    pub fn new(program: &'p Program, facts: &'p Facts) -> Self {
        Self { program, facts, types: OnceCell::new(), known: OnceCell::new() }
    }
    /// The types of slots, results and paths.
    pub fn types(&self) -> &Types<'p> {
        self.types.get_or_init(|| Types::new(self.program))
    }
    /// Everything that is read, flow by flow.
    pub fn reads(&self) -> &[Read<'p>] {
        &self.known.get_or_init(|| defined::known(self.program, self.types())).reads
    }
}
