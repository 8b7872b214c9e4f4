//! Errors at load time ([`SyntaxError`], its codes in [`RULES`]) and at run time ([`EvalError`]).

use std::ops::Range;
use std::sync::Arc;

use crate::condition::Condition;
use crate::expression::Expression;
use crate::policy::Policy;
use crate::scope::Reference;
use crate::value::{Hole, Masked, Value};

/// Every code of a [`SyntaxError`], with a description.
pub const RULES: &[(&str, &str)] = &[
    ("template-unclosed", "a tag without its closing braces, or a comment without its end"),
    ("template-unclosed-block", "a block without its closing tag"),
    ("template-stray-close", "a closing tag that does not match an open block"),
    ("template-stray-else", "an `else` outside a block, a second `else`, or an `else` in a format without it"),
    ("template-unknown-block", "a block that this format does not have"),
    ("template-unknown-helper", "a helper that this format does not have"),
    ("template-bad-filter", "a filter that is unknown or incomplete, or a second filter"),
    ("template-bad-arguments", "a block or helper with the wrong number or kind of arguments"),
    ("template-bad-condition", "an `{{#if}}` that tests neither a path nor a path against a literal"),
    ("template-bad-path", "a path with an empty segment or an invalid character"),
    ("template-syntax", "a tag that does not parse"),
    ("template-empty", "an empty tag"),
    (
        "template-unsupported",
        "a construct of other template languages: partials, decorators, raw blocks, triple braces",
    ),
    ("template-too-large", "a template larger than the limit"),
    ("template-too-deep", "blocks or parentheses nested deeper than the limit"),
    ("condition-empty", "an empty condition"),
    ("condition-syntax", "a condition that does not parse"),
    ("condition-bad-operator", "an operator that this format does not have or writes differently"),
    ("condition-bad-path", "a path with an empty segment or an invalid character"),
    ("condition-unknown-name", "a name that conditions of this format do not have"),
    ("condition-unsupported", "a construct that conditions do not support: method calls, slices, lambdas, arithmetic"),
    ("condition-too-large", "a condition larger than the limit"),
    ("condition-too-deep", "parentheses or operators nested deeper than the limit"),
    ("working-dot-node-id", "`working.` before a node's id in a template"),
];

/// The finding for a template that reads a node as a key of `working` (decision S4). Used both if the state is known,
/// as in `render`, and if only the names are known.
#[derive(Debug, Clone)]
pub struct NodeThroughWorking {
    /// The rule name.
    pub rule: &'static str,
    /// The message.
    pub message: String,
    /// The advice.
    pub help: String,
}

impl NodeThroughWorking {
    /// `path` is the path as written, `id` the node's id, `meant` the correct path.
    pub fn new(path: &str, id: &str, meant: &str) -> Self {
        Self {
            rule: "working-dot-node-id",
            message: format!("working_dot_node_id: `{path}` reads node `{id}` through `working`"),
            help: format!(
                "use `{{{{ {meant} }}}}`; in templates `working.*` is for paths that you write or seed yourself"
            ),
        }
    }
}

/// A mistake in the text of a template or condition (decision C5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// A name from [`RULES`].
    pub code: &'static str,
    /// Lower case, no full stop, user text in backticks.
    pub message: String,
    /// The bytes in the text.
    pub span: Range<u32>,
    /// What to write instead.
    pub help: Option<String>,
    /// The replacement for the bytes of `span`, if they are one wrong word or sign.
    pub meant: Option<String>,
    /// Whether the replacement is certainly right, whatever the rest of the text says.
    pub sure: bool,
}

impl SyntaxError {
    /// Whether a tag or a comment is not closed. The replacement then extends to the end of the line.
    pub fn is_unclosed(&self) -> bool {
        self.code == "template-unclosed"
    }
}

/// A text that is not a valid template or condition: its mistakes, and the parts that could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    /// Every mistake, in the order of the text; never empty.
    pub errors: Vec<SyntaxError>,
    /// The references to the root in the readable parts. Those in a block with a mistake are left out, because they may
    /// be names of an item.
    pub references: Vec<Reference>,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for SyntaxError {}

/// A condition on something only the driver knows (decision C8): a closed expression whose operands are values, some of
/// them masked. Its boolean answer is journaled; the content of holes is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The expression; contains no references.
    pub expression: Arc<Expression>,
    /// The rules by which it is evaluated.
    pub policy: Policy,
    /// The condition as written, if there is such a text. Not part of the question.
    pub text: Option<Arc<str>>,
    /// Asks only whether all holes can be filled: the answer is `true`, or the error of the first one that cannot be
    /// filled.
    pub presence: bool,
    /// Asks whether the value that the expression consists of matches this JSON schema.
    pub schema: Option<Value>,
}

impl Question {
    /// Asks whether a value is truthy, if [`Value::truthy`] does not know. The question is the same under every policy.
    pub fn truth(value: Value) -> Self {
        Self {
            expression: Arc::new(Expression::value(value)),
            policy: Policy::AGNTZ,
            text: None,
            presence: false,
            schema: None,
        }
    }

    /// Whether it decides nothing but whether the step fails, so that it needs no event.
    pub fn is_silent(&self) -> bool {
        self.presence || self.schema.is_some()
    }

    /// Asks whether a value matches a JSON schema.
    pub fn matches(value: Value, schema: Value) -> Self {
        Self { schema: Some(schema), ..Self::truth(value) }
    }

    /// Asks whether each strict hole without a default is set; `None` if there is no such hole.
    pub fn presence(value: &Value) -> Option<Self> {
        let mut strict: Vec<Hole> = Vec::new();
        let mut note = |hole: &Hole| {
            let hole = Hole { quoted: 0, ..hole.clone() };
            if hole.default.is_none() && !hole.lenient && !strict.contains(&hole) {
                strict.push(hole);
            }
            Ok::<_, std::convert::Infallible>(None)
        };
        let Ok(_) = value.replace(&mut note);
        let holes: Vec<Value> = strict.into_iter().map(|hole| Masked::lone(hole).into_value()).collect();
        (!holes.is_empty()).then(|| Self { presence: true, ..Self::truth(Value::from(holes)) })
    }

    /// The text shown in events and traces: the condition as written, or else the names of the holes. Never the value
    /// of an operand, which together with the answer would reveal the content of the hole.
    pub fn shown(&self) -> String {
        if let Some(text) = &self.text {
            return text.to_string();
        }
        let mut names: Vec<String> = Vec::new();
        let mut note = |hole: &Hole| {
            let name = format!("{}.{}", hole.kind.namespace(), hole.name);
            if !names.contains(&name) {
                names.push(name);
            }
            Ok::<_, std::convert::Infallible>(None::<String>)
        };
        let Ok(_) = self.expression.fill(&mut note);
        names.join(", ")
    }

    /// If it asks about a schema: the value after every hole is filled, and the schema.
    ///
    /// # Errors
    ///
    /// The first error of `fill`.
    pub fn matched<T: Into<Option<String>>, E>(
        &self,
        fill: &mut dyn FnMut(&Hole) -> Result<T, E>,
    ) -> Result<Option<(Value, &Value)>, E> {
        let (Expression::Literal(value, _), Some(schema)) = (&*self.expression, &self.schema) else { return Ok(None) };
        Ok(Some((value.fill(fill)?, schema)))
    }

    /// The answer after every hole is filled, as in [`Value::fill`]. An error of `fill` is returned.
    pub fn answer<T: Into<Option<String>>, E>(&self, fill: &mut dyn FnMut(&Hole) -> Result<T, E>) -> Result<bool, E> {
        let filled = self.expression.fill(fill)?;
        if self.presence {
            return Ok(true);
        }
        // Nothing is masked any more, so nothing is undecided. If a work limit is exceeded, the answer is `false`.
        Ok(Condition::from_parts(filled, Vec::new(), self.policy).evaluate(&Value::Null).unwrap_or(false))
    }
}

/// An error of rendering or evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum EvalError {
    /// `InterpolationError in '{{ expression }}' [namespace]: reason` (decision S2).
    Undefined {
        /// The path, without braces and filter.
        expression: Arc<str>,
        /// Its first segment.
        namespace: Arc<str>,
        /// In the wording of decision S2.
        reason: String,
        /// The bytes in the text.
        span: Range<u32>,
    },
    /// The driver must answer this question; then evaluate again.
    Undecided(Question),
    /// A limit of size or work.
    Limit(String),
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Undefined { expression, namespace, reason, .. } => {
                write!(f, "InterpolationError in '{{{{ {expression} }}}}' [{namespace}]: {reason}")
            }
            Self::Undecided(_) => f.write_str("depends on the environment"),
            Self::Limit(what) => f.write_str(what),
        }
    }
}
impl std::error::Error for EvalError {}

/// The sign in advice of the form ``write `==` ``.
pub(crate) fn sign_of(advice: &str) -> Option<&str> {
    let sign = advice.strip_prefix("write `")?.strip_suffix('`')?;
    (!sign.contains(['`', ' '])).then_some(sign)
}

/// The mistakes of one text, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    list: Vec<SyntaxError>,
    full: bool,
}

impl Mistakes {
    /// Adds a mistake. Beyond the limit, mistakes are dropped.
    pub fn add(&mut self, code: &'static str, span: Range<usize>, message: impl Into<String>) -> &mut Mistakes {
        debug_assert!(RULES.iter().any(|(rule, _)| *rule == code), "`{code}` is not in the list of rules");
        self.full = self.list.len() >= crate::limits::MISTAKES;
        if !self.full {
            let span = span.start as u32..span.end as u32;
            self.list.push(SyntaxError { code, message: message.into(), span, help: None, meant: None, sure: false });
        }
        self
    }

    /// Sets the advice of the last mistake.
    pub fn help(&mut self, help: impl Into<String>) {
        if let (false, Some(last)) = (self.full, self.list.last_mut()) {
            last.help.get_or_insert_with(|| help.into());
        }
    }

    /// Sets the likely replacement for the span of the last mistake.
    pub fn meant(&mut self, meant: impl Into<String>) -> &mut Mistakes {
        if let (false, Some(last)) = (self.full, self.list.last_mut()) {
            last.meant.get_or_insert_with(|| meant.into());
        }
        self
    }

    /// Sets the certain replacement for the span of the last mistake.
    pub fn surely(&mut self, meant: impl Into<String>) {
        self.meant(meant);
        if let (false, Some(last)) = (self.full, self.list.last_mut()) {
            last.sure = true;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The mistakes in the order of the text.
    pub fn into_errors(mut self) -> Vec<SyntaxError> {
        self.list.sort_by_key(|e| (e.span.start, e.span.end));
        self.list
    }
}
