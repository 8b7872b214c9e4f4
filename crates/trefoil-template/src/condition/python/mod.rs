//! SirenSpec `when`: a closed expression language with Python's syntax. No calls except the listed functions and
//! methods of texts, and no attributes except members of data.

mod lex;
mod method;

use std::ops::Range;

use lex::{Spanned, Token};

use crate::expression::{Arithmetic, Comparison, Expression, Function};
use crate::limits;
use crate::scope::Segment;
use crate::template::build::TemplateBuilder;
use crate::value::{Number, Object, Value};

const SYNTAX: &str = "condition-syntax";
const NAME: &str = "condition-unknown-name";
const UNSUPPORTED: &str = "condition-unsupported";

const ROOTS: [&str; 3] = ["working", "output", "_budget"];

const FUNCTIONS: [(&str, Function); 8] = [
    ("len", Function::Len),
    ("str", Function::Str),
    ("int", Function::Int),
    ("float", Function::Float),
    ("bool", Function::Bool),
    ("abs", Function::Abs),
    ("min", Function::Min),
    ("max", Function::Max),
];

/// Keywords that start unsupported Python constructs.
const KEYWORDS: [&str; 19] = [
    "lambda", "if", "else", "elif", "for", "while", "import", "from", "def", "class", "return", "yield", "await",
    "async", "with", "as", "del", "assert", "exec",
];

/// An expression and its depth.
type DeepExpression = (Expression, usize);

/// Reads the whole source.
pub(super) fn parse(b: &mut TemplateBuilder<'_>) -> Option<Expression> {
    let tokens = lex::tokens(b);
    let mut parser = Parser { b, tokens, at: 0, depth: 0 };
    let (expression, _) = parser.conditional()?;
    if parser.at < parser.tokens.len() {
        parser.stray();
        return None;
    }
    Some(expression)
}

struct Parser<'c, 't> {
    b: &'c mut TemplateBuilder<'t>,
    tokens: Vec<Spanned<'t>>,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'_, 't> {
    fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(s)) if *s == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Name(n)) if *n == word)
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
    fn node(&mut self, expression: Expression, depth: usize) -> Option<DeepExpression> {
        if depth >= limits::DEPTH {
            self.too_deep();
            return None;
        }
        Some((expression, depth + 1))
    }

    fn too_deep(&mut self) {
        let message = format!("operators and parentheses are nested more than {} levels deep", limits::DEPTH);
        let span = self.span();
        self.b.mistakes.add("condition-too-deep", span, message).help("split it into several conditions");
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
            self.b.mistakes.add(SYNTAX, span, "missing `else` after `if`").help("write `A if CONDITION else B`");
            return None;
        }
        let (otherwise, other_depth) = self.nested(Self::conditional)?;
        let whole = Expression::Call(Function::Choose, vec![condition, then, otherwise]);
        self.node(whole, depth.max(condition_depth).max(other_depth))
    }

    fn either(&mut self) -> Option<DeepExpression> {
        self.joined("or", Self::both, Expression::Or)
    }

    fn both(&mut self) -> Option<DeepExpression> {
        self.joined("and", Self::negated, Expression::And)
    }

    fn joined(
        &mut self,
        word: &str,
        rule: fn(&mut Self) -> Option<DeepExpression>,
        make: fn(Vec<Expression>) -> Expression,
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
        self.node(Expression::Not(Box::new(inner)), depth)
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
        self.node(Expression::Compare(operands, comparisons), depth)
    }

    fn operator(&mut self) -> Option<Comparison> {
        let found = match self.peek()? {
            Token::Sign("==") => Comparison::Equal,
            Token::Sign("!=") => Comparison::NotEqual,
            Token::Sign("<") => Comparison::Less,
            Token::Sign("<=") => Comparison::LessEqual,
            Token::Sign(">") => Comparison::Greater,
            Token::Sign(">=") => Comparison::GreaterEqual,
            Token::Name("in") => Comparison::In,
            Token::Name("is") => {
                self.at += 1;
                return Some(if self.eat_word("not") { Comparison::NotEqual } else { Comparison::Equal });
            }
            Token::Name("not") if matches!(self.tokens.get(self.at + 1), Some((Token::Name("in"), _))) => {
                self.at += 1;
                Comparison::NotIn
            }
            _ => return None,
        };
        self.at += 1;
        Some(found)
    }

    fn sum(&mut self) -> Option<DeepExpression> {
        self.arithmetic(Self::term, &[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)])
    }

    fn term(&mut self) -> Option<DeepExpression> {
        let operators = [("*", Arithmetic::Multiply), ("/", Arithmetic::Divide), ("%", Arithmetic::Remainder)];
        self.arithmetic(Self::factor, &operators)
    }

    fn arithmetic(
        &mut self,
        rule: fn(&mut Self) -> Option<DeepExpression>,
        operators: &[(&str, Arithmetic)],
    ) -> Option<DeepExpression> {
        let (mut left, mut depth) = rule(self)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.is_sign(sign)) {
            self.at += 1;
            let (right, d) = rule(self)?;
            let whole = Expression::Arithmetic(*operator, Box::new(left), Box::new(right));
            (left, depth) = self.node(whole, depth.max(d))?;
        }
        Some((left, depth))
    }

    fn factor(&mut self) -> Option<DeepExpression> {
        let start = self.span().start;
        if self.eat_sign("-") {
            let (inner, depth) = self.nested(Self::factor)?;
            return match inner {
                Expression::Literal(Value::Number(Number::Int(n)), _) if n != i64::MIN => {
                    Some((self.b.written(-n, start..self.end_of_previous()), depth))
                }
                inner => self.node(Expression::Negate(Box::new(inner)), depth),
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
            Some(Token::Name(name)) if ROOTS.contains(name) => Some(*name),
            _ => None,
        };
        // A plain path becomes one reference, which lowering can bind.
        let mut path = root.map(|name| vec![segment(name, start.clone())]);
        let mut node = match root {
            Some(_) => {
                self.at += 1;
                (Expression::value(Value::Null), 1)
            }
            None => self.atom()?,
        };
        loop {
            let reference_end = self.end_of_previous();
            if self.eat_sign(".") {
                let member = self.member()?;
                if self.is_sign("(") {
                    let text = self.referred(&mut path, start.start..reference_end, node);
                    node = self.method(text, &member)?;
                    continue;
                }
                match &mut path {
                    Some(path) => path.push(member),
                    None => node = self.node(Expression::Member(Box::new(node.0), member.name), node.1)?,
                }
            } else if let Some(path) = &mut path
                && let Some(key) = self.constant_key()
            {
                path.push(key);
            } else if self.is_sign("[") {
                node = self.referred(&mut path, start.start..reference_end, node);
                self.at += 1;
                let (index, depth) = self.nested(Self::conditional)?;
                if !self.close("]")? {
                    return None;
                }
                node = self.node(Expression::Index(Box::new(node.0), Box::new(index)), node.1.max(depth))?;
            } else if self.is_sign("(") {
                let span = start.start..self.span().end;
                self.b
                    .mistakes
                    .add(UNSUPPORTED, span, "only the built-in functions can be called")
                    .help(format!("the functions are {}", list(&FUNCTIONS.map(|(name, _)| name))));
                return None;
            } else {
                return Some(self.referred(&mut path, start.start..reference_end, node));
            }
            if path.as_ref().is_some_and(|path| path.len() > crate::path::SEGMENTS) {
                self.too_deep();
                return None;
            }
        }
    }

    /// The reference of a complete path, or the given node.
    fn referred(
        &mut self,
        path: &mut Option<Vec<Segment>>,
        span: Range<usize>,
        node: DeepExpression,
    ) -> DeepExpression {
        match path.take() {
            Some(path) => (Expression::Reference(self.b.reference(path, span, None)), 1),
            None => node,
        }
    }

    /// The name after a dot.
    fn member(&mut self) -> Option<Segment> {
        let span = self.span();
        let Some(Token::Name(name)) = self.peek() else {
            self.b
                .mistakes
                .add(SYNTAX, span, "expected a name after `.`")
                .help("write a list item as `[0]`, and a property with another name as `[\"name\"]`");
            return None;
        };
        let name = *name;
        self.at += 1;
        if name.starts_with("__") {
            self.b
                .mistakes
                .add(
                    UNSUPPORTED,
                    span.clone(),
                    format!("`{name}`: names that start with two underscores cannot be read"),
                )
                .help(format!("write a property of that name as `[\"{name}\"]`"));
        }
        Some(segment(name, span))
    }

    /// `["name"]`, which in a path is the same as a member.
    fn constant_key(&mut self) -> Option<Segment> {
        let ahead = self.tokens.get(self.at..self.at + 3)?;
        let [(Token::Sign("["), _), (Token::Value(Value::Str(key)), span), (Token::Sign("]"), _)] = ahead else {
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
            self.b.mistakes.add(UNSUPPORTED, span, "slices are not supported").help("read single items: `[0]`, `[-1]`");
        } else if self.at < self.tokens.len() {
            self.stray();
        } else {
            let span = self.span();
            self.b.mistakes.add(SYNTAX, span, format!("missing `{sign}`"));
        }
        None
    }

    fn atom(&mut self) -> Option<DeepExpression> {
        let span = self.span();
        let Some(token) = self.peek().cloned() else {
            self.b.mistakes.add(SYNTAX, span, "a value is missing at the end");
            return None;
        };
        self.at += 1;
        match token {
            Token::Value(value) => Some((self.b.written(value, span), 1)),
            Token::Name(name) => self.name(name, span),
            Token::Sign("(") => {
                let (mut items, depth, comma) = self.items(")")?;
                if items.len() == 1 && !comma {
                    return Some((items.pop()?, depth));
                }
                self.node(Expression::List(items), depth)
            }
            Token::Sign("[") => {
                let (items, depth, _) = self.items("]")?;
                self.node(Expression::List(items), depth)
            }
            Token::Sign("{") => self.object(span.start),
            Token::Sign(sign) => {
                self.b.mistakes.add(SYNTAX, span, format!("expected a value before `{sign}`"));
                None
            }
        }
    }

    /// Values up to a closing sign, their depth, and whether there is a comma.
    fn items(&mut self, closing: &'static str) -> Option<(Vec<Expression>, usize, bool)> {
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
        let mut members = Object::default();
        while !self.is_sign("}") {
            let span = self.span();
            let Some(Token::Value(Value::Str(key))) = self.peek().cloned() else {
                self.b.mistakes.add(SYNTAX, span, "expected a quoted key in the object").help(WRITTEN);
                return None;
            };
            self.at += 1;
            let colon = self.span();
            if !self.eat_sign(":") {
                self.b.mistakes.add(SYNTAX, colon, "missing `:` after the key").help(WRITTEN);
                return None;
            }
            let from = self.span().start;
            let (value, _) = self.nested(Self::conditional)?;
            let Some(value) = literal(&value) else {
                let span = from..self.end_of_previous();
                self.b
                    .mistakes
                    .add(UNSUPPORTED, span, "the values of an object must be literals")
                    .help(format!("compare the properties one by one: `working.x.{key} == ...`"));
                return None;
            };
            members.insert(key, value);
            if !self.eat_sign(",") {
                break;
            }
        }
        self.close("}")?;
        Some((self.b.written(Value::from(members), start..self.end_of_previous()), 1))
    }

    fn name(&mut self, name: &'t str, span: Range<usize>) -> Option<DeepExpression> {
        match name {
            "true" | "True" => return Some((self.b.written(true, span), 1)),
            "false" | "False" => return Some((self.b.written(false, span), 1)),
            "null" | "None" => return Some((self.b.written(Value::Null, span), 1)),
            "and" | "or" | "in" | "is" | "not" => {
                self.b.mistakes.add(SYNTAX, span, format!("expected a value before `{name}`"));
                return None;
            }
            _ if KEYWORDS.contains(&name) => {
                let key = self.b.policy.words.condition();
                self.b
                    .mistakes
                    .add(UNSUPPORTED, span, format!("`{name}` is not supported in {key}"))
                    .help("a condition compares paths such as `working.intent` with values");
                return None;
            }
            _ => {}
        }
        if matches!(self.peek(), Some(Token::Value(Value::Str(_)))) && self.span().start == span.end {
            self.b
                .mistakes
                .add(UNSUPPORTED, span, format!("quoted text with the prefix `{name}`"))
                .help("remove the prefix");
            return None;
        }
        if self.is_sign("(") {
            return self.call(name, span);
        }
        self.unknown(name, span);
        Some((Expression::value(Value::Null), 1))
    }

    fn unknown(&mut self, name: &str, span: Range<usize>) {
        if FUNCTIONS.iter().any(|(known, _)| *known == name) {
            self.b.mistakes.add(SYNTAX, span, format!("`{name}` is a function")).help(format!("write `{name}(value)`"));
            return;
        }
        let hyphen = self.b.slice(0..span.start).ends_with('-') && span.start > 1;
        let known: Vec<&str> = ROOTS.into_iter().chain(FUNCTIONS.map(|(name, _)| name)).collect();
        let suggestion = crate::suggest::closest(name, &known);
        let noted = self.b.mistakes.add(NAME, span, format!("unknown name `{name}`"));
        if let (Some(meant), false) = (suggestion, hyphen) {
            noted.meant(meant);
        }
        noted.help(match (suggestion, name) {
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
            let suggestion = crate::suggest::closest(name, &known);
            let noted = self.b.mistakes.add(NAME, span, format!("unknown function `{name}`"));
            if let Some(meant) = suggestion {
                noted.meant(meant);
            }
            noted.help(match suggestion {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the functions are {}", list(&known)),
            });
            return Some((Expression::value(Value::Null), 1));
        };
        let many = matches!(function, Function::Min | Function::Max);
        if arguments.is_empty() || arguments.len() > 1 && !many {
            let wanted = if many { "one or more arguments" } else { "one argument" };
            self.b.mistakes.add(SYNTAX, span, format!("`{name}` needs {wanted}"));
        }
        self.node(Expression::Call(*function, arguments), depth)
    }

    /// Reports a token that cannot continue the expression.
    fn stray(&mut self) {
        let span = self.span();
        let shown = self.b.slice(span.clone());
        let (code, message, help) = match self.peek() {
            Some(Token::Name(word)) if KEYWORDS.contains(word) => (
                UNSUPPORTED,
                format!("`{word}` is not supported in {}", self.b.policy.words.condition()),
                "use `and`, `or` and comparisons",
            ),
            Some(Token::Value(_)) if shown.starts_with('.') => {
                (SYNTAX, format!("unexpected `{shown}` after a value"), "write a list item as `[0]`")
            }
            Some(Token::Sign(")" | "]" | "}")) => {
                (SYNTAX, format!("`{shown}` has no matching opening bracket"), "remove it")
            }
            Some(Token::Sign(":")) => (UNSUPPORTED, "unexpected `:`".to_owned(), "slices are not supported"),
            _ => (SYNTAX, format!("expected an operator before `{shown}`"), "join values with `==`, `and` or `or`"),
        };
        self.b.mistakes.add(code, span, message).help(help);
    }
}

/// The value of an expression without references.
fn literal(expression: &Expression) -> Option<Value> {
    match expression {
        Expression::Literal(value, _) => Some(value.clone()),
        Expression::List(items) => Some(items.iter().map(literal).collect::<Option<Vec<_>>>()?.into()),
        _ => None,
    }
}

fn segment(name: &str, span: Range<usize>) -> Segment {
    Segment { name: name.into(), span: span.start as u32..span.end as u32 }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
