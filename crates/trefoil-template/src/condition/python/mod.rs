//! SirenSpec `when`: a closed expression language with Python's syntax. No calls except the listed functions and
//! methods of texts, and no attributes except members of data.

mod lexer;
mod method;

use std::ops::Range;

use lexer::{PythonToken, SpannedToken};

use crate::expression::{ArithmeticOperator, BuiltinFunction, ComparisonOperator, ConditionExpression};
use crate::limits;
use crate::scope::PathSegment;
use crate::template::builder::TemplateBuilder;
use crate::value::{Value, ValueNumber, ValueObject};

const SYNTAX: &str = "condition-syntax";
const NAME: &str = "condition-unknown-name";
const UNSUPPORTED: &str = "condition-unsupported";

const ROOTS: [&str; 3] = ["working", "output", "_budget"];

const FUNCTIONS: [(&str, BuiltinFunction); 8] = [
    ("len", BuiltinFunction::Len),
    ("str", BuiltinFunction::Str),
    ("int", BuiltinFunction::Int),
    ("float", BuiltinFunction::Float),
    ("bool", BuiltinFunction::Bool),
    ("abs", BuiltinFunction::Abs),
    ("min", BuiltinFunction::Min),
    ("max", BuiltinFunction::Max),
];

/// Keywords that start unsupported Python constructs.
const KEYWORDS: [&str; 19] = [
    "lambda", "if", "else", "elif", "for", "while", "import", "from", "def", "class", "return", "yield", "await",
    "async", "with", "as", "del", "assert", "exec",
];

/// An expression and its depth.
type DeepExpression = (ConditionExpression, usize);

/// Reads the whole source.
pub(super) fn parse(b: &mut TemplateBuilder<'_>) -> Option<ConditionExpression> {
    let tokens = lexer::tokenize_python(b);
    let mut parser = PythonParser { b, tokens, at: 0, depth: 0 };
    let (expression, _) = parser.conditional()?;
    if parser.at < parser.tokens.len() {
        parser.stray();
        return None;
    }
    Some(expression)
}

struct PythonParser<'c, 't> {
    b: &'c mut TemplateBuilder<'t>,
    tokens: Vec<SpannedToken<'t>>,
    at: usize,
    depth: usize,
}

impl<'t> PythonParser<'_, 't> {
    fn peek(&self) -> Option<&PythonToken<'t>> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(PythonToken::Sign(s)) if *s == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(PythonToken::Name(n)) if *n == word)
    }

    fn eat_sign(&mut self, sign: &str) -> bool {
        let next = self.is_sign(sign);
        self.at += usize::from(next);
        next
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let next = self.is_word(word);
        self.at += usize::from(next);
        next
    }

    /// The span of the next token; empty at the end.
    fn span(&self) -> Range<usize> {
        let end = self.b.source.trim_end().len();
        self.tokens.get(self.at).map_or(end..end, |(_, span)| span.clone())
    }

    fn end_of_previous(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |(_, span)| span.end)
    }

    /// A node with these parts; `None`, and reported, if it is too deep.
    fn node(&mut self, expression: ConditionExpression, depth: usize) -> Option<DeepExpression> {
        if depth >= limits::DEPTH {
            self.too_deep();
            return None;
        }
        Some((expression, depth + 1))
    }

    fn too_deep(&mut self) {
        let message = format!("operators and parentheses are nested more than {} levels deep", limits::DEPTH);
        let span = self.span();
        self.b.mistakes.add_mistake("condition-too-deep", span, message).set_help("split it into several conditions");
    }

    /// Runs a grammar rule one level deeper.
    fn nested(&mut self, rule: fn(&mut Self) -> Option<DeepExpression>) -> Option<DeepExpression> {
        self.depth += 1;
        if self.depth > limits::DEPTH {
            self.too_deep();
            return None;
        }
        let node = rule(self)?;
        self.depth -= 1;
        Some(node)
    }

    /// `a if condition else b`, or a part of it.
    fn conditional(&mut self) -> Option<DeepExpression> {
        let (then, depth) = self.either()?;
        if !self.eat_word("if") {
            return Some((then, depth));
        }
        let (condition, condition_depth) = self.either()?;
        if !self.eat_word("else") {
            let span = self.span();
            self.b
                .mistakes
                .add_mistake(SYNTAX, span, "missing `else` after `if`")
                .set_help("write `A if CONDITION else B`");
            return None;
        }
        let (otherwise, other_depth) = self.nested(Self::conditional)?;
        let whole = ConditionExpression::Call(BuiltinFunction::Choose, vec![condition, then, otherwise]);
        self.node(whole, depth.max(condition_depth).max(other_depth))
    }

    fn either(&mut self) -> Option<DeepExpression> {
        self.joined("or", Self::both, ConditionExpression::Or)
    }

    fn both(&mut self) -> Option<DeepExpression> {
        self.joined("and", Self::negated, ConditionExpression::And)
    }

    fn joined(
        &mut self,
        word: &str,
        rule: fn(&mut Self) -> Option<DeepExpression>,
        make: fn(Vec<ConditionExpression>) -> ConditionExpression,
    ) -> Option<DeepExpression> {
        let (first, mut depth) = rule(self)?;
        if !self.is_word(word) {
            return Some((first, depth));
        }
        let mut parts = vec![first];
        while self.eat_word(word) {
            let (part, d) = rule(self)?;
            depth = depth.max(d);
            parts.push(part);
        }
        self.node(make(parts), depth)
    }

    fn negated(&mut self) -> Option<DeepExpression> {
        if !self.eat_word("not") {
            return self.comparison();
        }
        let (inner, depth) = self.nested(Self::negated)?;
        self.node(ConditionExpression::Not(Box::new(inner)), depth)
    }

    fn comparison(&mut self) -> Option<DeepExpression> {
        let (first, mut depth) = self.sum()?;
        let mut operands = vec![first];
        let mut comparisons = Vec::new();
        while let Some(comparison) = self.operator() {
            let (operand, d) = self.sum()?;
            depth = depth.max(d);
            comparisons.push(comparison);
            operands.push(operand);
        }
        if comparisons.is_empty() {
            return Some((operands.pop()?, depth));
        }
        self.node(ConditionExpression::Compare(operands, comparisons), depth)
    }

    fn operator(&mut self) -> Option<ComparisonOperator> {
        let found = match self.peek()? {
            PythonToken::Sign("==") => ComparisonOperator::Equal,
            PythonToken::Sign("!=") => ComparisonOperator::NotEqual,
            PythonToken::Sign("<") => ComparisonOperator::Less,
            PythonToken::Sign("<=") => ComparisonOperator::LessEqual,
            PythonToken::Sign(">") => ComparisonOperator::Greater,
            PythonToken::Sign(">=") => ComparisonOperator::GreaterEqual,
            PythonToken::Name("in") => ComparisonOperator::In,
            PythonToken::Name("is") => {
                self.at += 1;
                return Some(if self.eat_word("not") {
                    ComparisonOperator::NotEqual
                } else {
                    ComparisonOperator::Equal
                });
            }
            PythonToken::Name("not") if matches!(self.tokens.get(self.at + 1), Some((PythonToken::Name("in"), _))) => {
                self.at += 1;
                ComparisonOperator::NotIn
            }
            _ => return None,
        };
        self.at += 1;
        Some(found)
    }

    fn sum(&mut self) -> Option<DeepExpression> {
        self.arithmetic(Self::term, &[("+", ArithmeticOperator::Add), ("-", ArithmeticOperator::Subtract)])
    }

    fn term(&mut self) -> Option<DeepExpression> {
        let operators = [
            ("*", ArithmeticOperator::Multiply),
            ("/", ArithmeticOperator::Divide),
            ("%", ArithmeticOperator::Remainder),
        ];
        self.arithmetic(Self::factor, &operators)
    }

    fn arithmetic(
        &mut self,
        rule: fn(&mut Self) -> Option<DeepExpression>,
        operators: &[(&str, ArithmeticOperator)],
    ) -> Option<DeepExpression> {
        let (mut left, mut depth) = rule(self)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.is_sign(sign)) {
            self.at += 1;
            let (right, d) = rule(self)?;
            let whole = ConditionExpression::Arithmetic(*operator, Box::new(left), Box::new(right));
            (left, depth) = self.node(whole, depth.max(d))?;
        }
        Some((left, depth))
    }

    fn factor(&mut self) -> Option<DeepExpression> {
        let start = self.span().start;
        if self.eat_sign("-") {
            let (inner, depth) = self.nested(Self::factor)?;
            return match inner {
                ConditionExpression::Literal(Value::Number(ValueNumber::Int(n)), _) if n != i64::MIN => {
                    Some((self.b.literal_expression(-n, start..self.end_of_previous()), depth))
                }
                inner => self.node(ConditionExpression::Negate(Box::new(inner)), depth),
            };
        }
        if self.eat_sign("+") {
            return self.nested(Self::factor);
        }
        self.postfix()
    }

    /// A value followed by members, items and calls.
    fn postfix(&mut self) -> Option<DeepExpression> {
        let start = self.span();
        let root = match self.peek() {
            Some(PythonToken::Name(name)) if ROOTS.contains(name) => Some(*name),
            _ => None,
        };
        // A plain path becomes one reference, which lowering can bind.
        let mut path = root.map(|name| vec![segment(name, start.clone())]);
        let mut node = match root {
            Some(_) => {
                self.at += 1;
                (ConditionExpression::from_value(Value::Null), 1)
            }
            None => self.atom()?,
        };
        loop {
            let reference_end = self.end_of_previous();
            if self.eat_sign(".") {
                let member = self.member()?;
                if self.is_sign("(") {
                    let text = self.finish_path(&mut path, start.start..reference_end, node);
                    node = self.parse_method(text, &member)?;
                    continue;
                }
                match &mut path {
                    Some(path) => path.push(member),
                    None => node = self.node(ConditionExpression::Member(Box::new(node.0), member.name), node.1)?,
                }
            } else if let Some(path) = &mut path
                && let Some(key) = self.constant_key()
            {
                path.push(key);
            } else if self.is_sign("[") {
                node = self.finish_path(&mut path, start.start..reference_end, node);
                self.at += 1;
                let (index, depth) = self.nested(Self::conditional)?;
                if !self.close("]")? {
                    return None;
                }
                node = self.node(ConditionExpression::Index(Box::new(node.0), Box::new(index)), node.1.max(depth))?;
            } else if self.is_sign("(") {
                let span = start.start..self.span().end;
                self.b
                    .mistakes
                    .add_mistake(UNSUPPORTED, span, "only the built-in functions can be called")
                    .set_help(format!("the functions are {}", list(&FUNCTIONS.map(|(name, _)| name))));
                return None;
            } else {
                return Some(self.finish_path(&mut path, start.start..reference_end, node));
            }
            if path.as_ref().is_some_and(|path| path.len() > crate::path::SEGMENTS) {
                self.too_deep();
                return None;
            }
        }
    }

    /// The reference of a complete path, or the given node.
    fn finish_path(
        &mut self,
        path: &mut Option<Vec<PathSegment>>,
        span: Range<usize>,
        node: DeepExpression,
    ) -> DeepExpression {
        match path.take() {
            Some(path) => (ConditionExpression::Reference(self.b.add_reference(path, span, None)), 1),
            None => node,
        }
    }

    /// The name after a dot.
    fn member(&mut self) -> Option<PathSegment> {
        let span = self.span();
        let Some(PythonToken::Name(name)) = self.peek() else {
            self.b
                .mistakes
                .add_mistake(SYNTAX, span, "expected a name after `.`")
                .set_help("write a list item as `[0]`, and a property with another name as `[\"name\"]`");
            return None;
        };
        let name = *name;
        self.at += 1;
        if name.starts_with("__") {
            self.b
                .mistakes
                .add_mistake(
                    UNSUPPORTED,
                    span.clone(),
                    format!("`{name}`: names that start with two underscores cannot be read"),
                )
                .set_help(format!("write a property of that name as `[\"{name}\"]`"));
        }
        Some(segment(name, span))
    }

    /// `["name"]`, which in a path is the same as a member.
    fn constant_key(&mut self) -> Option<PathSegment> {
        let ahead = self.tokens.get(self.at..self.at + 3)?;
        let [(PythonToken::Sign("["), _), (PythonToken::Value(Value::Str(key)), span), (PythonToken::Sign("]"), _)] =
            ahead
        else {
            return None;
        };
        // Digits would be a list index here, but not in Python.
        if key.is_empty() || key.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let found = segment(key, span.clone());
        self.at += 3;
        Some(found)
    }

    fn close(&mut self, sign: &'static str) -> Option<bool> {
        if self.eat_sign(sign) {
            return Some(true);
        }
        if self.is_sign(":") {
            let span = self.span();
            self.b
                .mistakes
                .add_mistake(UNSUPPORTED, span, "slices are not supported")
                .set_help("read single items: `[0]`, `[-1]`");
        } else if self.at < self.tokens.len() {
            self.stray();
        } else {
            let span = self.span();
            self.b.mistakes.add_mistake(SYNTAX, span, format!("missing `{sign}`"));
        }
        None
    }

    fn atom(&mut self) -> Option<DeepExpression> {
        let span = self.span();
        let Some(token) = self.peek().cloned() else {
            self.b.mistakes.add_mistake(SYNTAX, span, "a value is missing at the end");
            return None;
        };
        self.at += 1;
        match token {
            PythonToken::Value(value) => Some((self.b.literal_expression(value, span), 1)),
            PythonToken::Name(name) => self.name(name, span),
            PythonToken::Sign("(") => {
                let (mut items, depth, comma) = self.items(")")?;
                if items.len() == 1 && !comma {
                    return Some((items.pop()?, depth));
                }
                self.node(ConditionExpression::List(items), depth)
            }
            PythonToken::Sign("[") => {
                let (items, depth, _) = self.items("]")?;
                self.node(ConditionExpression::List(items), depth)
            }
            PythonToken::Sign("{") => self.object(span.start),
            PythonToken::Sign(sign) => {
                self.b.mistakes.add_mistake(SYNTAX, span, format!("expected a value before `{sign}`"));
                None
            }
        }
    }

    /// Values up to a closing sign, their depth, and whether there is a comma.
    fn items(&mut self, closing: &'static str) -> Option<(Vec<ConditionExpression>, usize, bool)> {
        let (mut items, mut depth, mut comma) = (Vec::new(), 0, false);
        while !self.is_sign(closing) {
            let (item, d) = self.nested(Self::conditional)?;
            depth = depth.max(d);
            items.push(item);
            if self.eat_sign(",") {
                comma = true;
            } else if !self.is_sign(closing) {
                break;
            }
        }
        self.close(closing)?;
        Some((items, depth, comma))
    }

    /// The rest of an object. Its members are literals, because it is only compared with something.
    fn object(&mut self, start: usize) -> Option<DeepExpression> {
        const WRITTEN: &str = "write an object as `{\"key\": 1}`, and a path without braces: `working.path`";
        let mut members = ValueObject::default();
        while !self.is_sign("}") {
            let span = self.span();
            let Some(PythonToken::Value(Value::Str(key))) = self.peek().cloned() else {
                self.b.mistakes.add_mistake(SYNTAX, span, "expected a quoted key in the object").set_help(WRITTEN);
                return None;
            };
            self.at += 1;
            let colon = self.span();
            if !self.eat_sign(":") {
                self.b.mistakes.add_mistake(SYNTAX, colon, "missing `:` after the key").set_help(WRITTEN);
                return None;
            }
            let from = self.span().start;
            let (value, _) = self.nested(Self::conditional)?;
            let Some(value) = literal(&value) else {
                let span = from..self.end_of_previous();
                self.b
                    .mistakes
                    .add_mistake(UNSUPPORTED, span, "the values of an object must be literals")
                    .set_help(format!("compare the properties one by one: `working.x.{key} == ...`"));
                return None;
            };
            members.insert(key, value);
            if !self.eat_sign(",") {
                break;
            }
        }
        self.close("}")?;
        Some((self.b.literal_expression(Value::from(members), start..self.end_of_previous()), 1))
    }

    fn name(&mut self, name: &'t str, span: Range<usize>) -> Option<DeepExpression> {
        match name {
            "true" | "True" => return Some((self.b.literal_expression(true, span), 1)),
            "false" | "False" => return Some((self.b.literal_expression(false, span), 1)),
            "null" | "None" => return Some((self.b.literal_expression(Value::Null, span), 1)),
            "and" | "or" | "in" | "is" | "not" => {
                self.b.mistakes.add_mistake(SYNTAX, span, format!("expected a value before `{name}`"));
                return None;
            }
            _ if KEYWORDS.contains(&name) => {
                let key = self.b.policy.words.condition_name();
                self.b
                    .mistakes
                    .add_mistake(UNSUPPORTED, span, format!("`{name}` is not supported in {key}"))
                    .set_help("a condition compares paths such as `working.intent` with values");
                return None;
            }
            _ => {}
        }
        if matches!(self.peek(), Some(PythonToken::Value(Value::Str(_)))) && self.span().start == span.end {
            self.b
                .mistakes
                .add_mistake(UNSUPPORTED, span, format!("quoted text with the prefix `{name}`"))
                .set_help("remove the prefix");
            return None;
        }
        if self.is_sign("(") {
            return self.call(name, span);
        }
        self.unknown(name, span);
        Some((ConditionExpression::from_value(Value::Null), 1))
    }

    fn unknown(&mut self, name: &str, span: Range<usize>) {
        if FUNCTIONS.iter().any(|(known, _)| *known == name) {
            self.b
                .mistakes
                .add_mistake(SYNTAX, span, format!("`{name}` is a function"))
                .set_help(format!("write `{name}(value)`"));
            return;
        }
        let hyphen = self.b.source_slice(0..span.start).ends_with('-') && span.start > 1;
        let known: Vec<&str> = ROOTS.into_iter().chain(FUNCTIONS.map(|(name, _)| name)).collect();
        let suggestion = crate::suggestion::closest_name(name, &known);
        let noted = self.b.mistakes.add_mistake(NAME, span, format!("unknown name `{name}`"));
        if let (Some(meant), false) = (suggestion, hyphen) {
            noted.set_replacement(meant);
        }
        noted.set_help(match (suggestion, name) {
            (_, "inputs" | "env" | "item" | "index" | "total") => {
                "conditions read only `working`, `output` and `_budget`; have a node read it, and compare its result"
                    .to_owned()
            }
            _ if hyphen => "write a name with a hyphen as `[\"a-b\"]`".to_owned(),
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, _) => format!("put text in quotes; write `working.{name}` for a value that a node wrote"),
        });
    }

    fn call(&mut self, name: &'t str, span: Range<usize>) -> Option<DeepExpression> {
        self.at += 1;
        let (arguments, depth, _) = self.items(")")?;
        let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            let known = FUNCTIONS.map(|(name, _)| name);
            let suggestion = crate::suggestion::closest_name(name, &known);
            let noted = self.b.mistakes.add_mistake(NAME, span, format!("unknown function `{name}`"));
            if let Some(meant) = suggestion {
                noted.set_replacement(meant);
            }
            noted.set_help(match suggestion {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the functions are {}", list(&known)),
            });
            return Some((ConditionExpression::from_value(Value::Null), 1));
        };
        let many = matches!(function, BuiltinFunction::Min | BuiltinFunction::Max);
        if arguments.is_empty() || arguments.len() > 1 && !many {
            let wanted = if many { "one or more arguments" } else { "one argument" };
            self.b.mistakes.add_mistake(SYNTAX, span, format!("`{name}` needs {wanted}"));
        }
        self.node(ConditionExpression::Call(*function, arguments), depth)
    }

    /// Reports a token that cannot continue the expression.
    fn stray(&mut self) {
        let span = self.span();
        let shown = self.b.source_slice(span.clone());
        let (code, message, help) = match self.peek() {
            Some(PythonToken::Name(word)) if KEYWORDS.contains(word) => (
                UNSUPPORTED,
                format!("`{word}` is not supported in {}", self.b.policy.words.condition_name()),
                "use `and`, `or` and comparisons",
            ),
            Some(PythonToken::Value(_)) if shown.starts_with('.') => {
                (SYNTAX, format!("unexpected `{shown}` after a value"), "write a list item as `[0]`")
            }
            Some(PythonToken::Sign(")" | "]" | "}")) => {
                (SYNTAX, format!("`{shown}` has no matching opening bracket"), "remove it")
            }
            Some(PythonToken::Sign(":")) => (UNSUPPORTED, "unexpected `:`".to_owned(), "slices are not supported"),
            _ => (SYNTAX, format!("expected an operator before `{shown}`"), "join values with `==`, `and` or `or`"),
        };
        self.b.mistakes.add_mistake(code, span, message).set_help(help);
    }
}

/// The value of an expression without references.
fn literal(expression: &ConditionExpression) -> Option<Value> {
    match expression {
        ConditionExpression::Literal(value, _) => Some(value.clone()),
        ConditionExpression::List(items) => Some(items.iter().map(literal).collect::<Option<Vec<_>>>()?.into()),
        _ => None,
    }
}

fn segment(name: &str, span: Range<usize>) -> PathSegment {
    PathSegment { name: name.into(), span: span.start as u32..span.end as u32 }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
