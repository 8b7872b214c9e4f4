//! Conditions: one expression tree, three small parsers (agntz `when`/`until`, AEGIS `custom`, SirenSpec `when`).

use std::sync::Arc;

use crate::error::{EvalError, SyntaxError};
use crate::policy::Policy;
use crate::scope::{Binding, Reference, Scope};
use crate::value::Value;

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `==`: same type and value (decision A6); also `is`.
    Equal,
    /// `!=`, `is not`.
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

/// An arithmetic operation (SirenSpec only).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// A function or helper of any dialect that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the function of its name")]
pub enum Function {
    // SirenSpec (decision S8)
    Len,
    Str,
    Int,
    Float,
    Bool,
    Abs,
    Min,
    Max,
    // AEGIS (decision E1)
    Json,
    Keys,
    Length,
    Default,
    Upper,
    Lower,
    Trim,
    FirstLine,
    Lookup,
    // lowering's own
    /// The value as a number where it is one or reads as one (decision A7), else null.
    Number,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A value.
    Literal(Value),
    /// The reference of this index in [`Condition::references`].
    Reference(u32),
    /// In templates: the path of this index in [`crate::Template::locals`], relative to an enclosing `each` or `with`.
    Local(u32),
    /// `[a, b]`, `(a, b)`.
    List(Vec<Expression>),
    /// `!a`, `not a`.
    Not(Box<Expression>),
    /// `a && b && ...`; short-circuits, yields the deciding operand.
    And(Vec<Expression>),
    /// `a || b || ...`.
    Or(Vec<Expression>),
    /// `a < b < c`: operands and the comparisons between them. In SirenSpec as in Python, else decisions A6
    /// and A7 (what cannot be ordered is false).
    Compare(Vec<Expression>, Vec<Comparison>),
    /// `a + b`.
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    /// `-a`.
    Negate(Box<Expression>),
    /// `a[b]`.
    Index(Box<Expression>, Box<Expression>),
    /// `a.name` where `a` is not a plain path.
    Member(Box<Expression>, Arc<str>),
    /// `f(a, b)`.
    Call(Function, Vec<Expression>),
}

/// A parsed condition with its references.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    expression: Arc<Expression>,
    references: Vec<Reference>,
    policy: Policy,
}

impl Condition {
    /// Parses a text by the policy's grammar; all mistakes at once.
    pub fn parse(_text: &str, _policy: &Policy) -> Result<Condition, Vec<SyntaxError>> {
        todo!()
    }
    /// A condition made by lowering (for example AEGIS `score_above`), with already bound references.
    pub fn from_parts(expression: Expression, references: Vec<Reference>, policy: Policy) -> Condition {
        Condition { expression: Arc::new(expression), references, policy }
    }
    /// The tree.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }
    /// The references to the root, in the order of the text.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }
    /// Gives every reference its source.
    pub fn bind(&mut self, mut f: impl FnMut(&Reference) -> Binding) {
        for r in &mut self.references {
            r.binding = f(r);
        }
    }
    /// Whether no reference is in it.
    pub fn is_constant(&self) -> bool {
        self.references.is_empty()
    }
    /// The truth. A part that fails to evaluate makes the whole false in SirenSpec (decision S8); only `Undecided` and
    /// `Limit` come back as errors.
    pub fn evaluate(&self, _scope: &dyn Scope) -> Result<bool, EvalError> {
        let _ = self.policy;
        todo!()
    }
}
