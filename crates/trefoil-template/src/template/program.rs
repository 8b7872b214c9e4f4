//! The parsed form of a template: a flat list of operations, in which blocks are ranges.

use crate::expression::ConditionExpression;
use crate::policy::Policy;
use crate::template::frame::LocalPath;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplateOperand {
    Reference(u32),
    Local(u32),
    /// An expression of the program.
    Expression(u32),
}

/// One operation. The operations after a block's own, up to `otherwise`, are its body; those up to `end` are its
/// `else`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TemplateOperation {
    /// A range of the program's text.
    Text {
        start: u32,
        end: u32,
    },
    /// A value. `json`: the filter is `json_or_default`.
    Print {
        operand: TemplateOperand,
        json: bool,
    },
    /// `negate`: `unless`. `zero`: the number 0 counts as true.
    If {
        test: TemplateOperand,
        negate: bool,
        zero: bool,
        otherwise: u32,
        end: u32,
    },
    Each {
        operand: TemplateOperand,
        otherwise: u32,
        end: u32,
    },
    With {
        operand: TemplateOperand,
        otherwise: u32,
        end: u32,
    },
}

/// A parsed template without its references.
#[derive(Debug)]
pub(crate) struct TemplateProgram {
    pub policy: Policy,
    /// Whether it is exactly one placeholder.
    pub single: bool,
    /// All literal texts, concatenated.
    pub text: String,
    /// For every [`TemplateOperation::Text`], in order: the start of its text in `text`, and its bytes in the source.
    pub literals: Vec<(u32, std::ops::Range<u32>)>,
    pub ops: Vec<TemplateOperation>,
    /// Every placeholder and every block that is not inside another block: its operation, and its bytes in the source,
    /// including all tags.
    pub pieces: Vec<(u32, std::ops::Range<u32>)>,
    pub expressions: Vec<ConditionExpression>,
    /// The spans of the literals in the expressions, including quotes.
    pub written: Vec<std::ops::Range<u32>>,
    pub locals: Vec<LocalPath>,
    /// The spans of paths that only a block would define, outside any block.
    pub strays: Vec<std::ops::Range<u32>>,
}

impl TemplateProgram {
    pub fn text_range(&self, start: u32, end: u32) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The index of the literal that starts at an offset in the text.
    pub fn literal_index(&self, start: u32) -> u32 {
        self.literals.partition_point(|(at, _)| *at < start) as u32
    }
}
