//! What a template is parsed into: a flat list of operations, blocks as ranges of it.

use crate::expression::Expression;
use crate::policy::Policy;
use crate::template::frame::Local;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    Reference(u32),
    Local(u32),
    /// An expression of the program.
    Expression(u32),
}

/// One operation. The body of a block are the operations after it up to `otherwise`, its `else` those up to `end`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    /// A range of the program's text.
    Text {
        start: u32,
        end: u32,
    },
    /// A value. `json`: the filter is `json_or_default`.
    Print {
        operand: Operand,
        json: bool,
    },
    /// `negate`: `unless`. `zero`: the number 0 counts as true.
    If {
        test: Operand,
        negate: bool,
        zero: bool,
        otherwise: u32,
        end: u32,
    },
    Each {
        operand: Operand,
        otherwise: u32,
        end: u32,
    },
    With {
        operand: Operand,
        otherwise: u32,
        end: u32,
    },
}

/// A parsed template without its references.
#[derive(Debug)]
pub(crate) struct Program {
    pub policy: Policy,
    /// Exactly one placeholder and nothing else.
    pub single: bool,
    /// All literal text, one after the other.
    pub text: String,
    /// Every [`Op::Text`] in order: where its text begins in `text`, and the bytes of the source that it came from.
    pub literals: Vec<(u32, std::ops::Range<u32>)>,
    pub ops: Vec<Op>,
    /// Every placeholder and every block that is in no other: its operation, and its bytes in the source with all tags.
    pub pieces: Vec<(u32, std::ops::Range<u32>)>,
    pub expressions: Vec<Expression>,
    /// The bytes of the literals in the expressions, with their quotes.
    pub written: Vec<std::ops::Range<u32>>,
    pub locals: Vec<Local>,
    /// Paths of what only a block would give, where none is around them.
    pub strays: Vec<std::ops::Range<u32>>,
}

impl Program {
    pub fn text(&self, start: u32, end: u32) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Which literal begins at a place of the text.
    pub fn literal(&self, start: u32) -> u32 {
        self.literals.partition_point(|(at, _)| *at < start) as u32
    }
}
