//! The semantic model: computed once for a program, read by every rule and by the editor.

use trefoil_ir::{Facts, Program};

/// A program and what is known about it.
pub struct Model<'p> {
    /// The program.
    pub program: &'p Program,
    /// What lowering learned about names.
    pub facts: &'p Facts,
}

impl<'p> Model<'p> {
    /// Works it out.
    pub fn new(program: &'p Program, facts: &'p Facts) -> Self {
        Self { program, facts }
    }
}
