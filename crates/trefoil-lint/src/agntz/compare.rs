//! Conditions, and tests in templates, that can only go one way: without a placeholder, or with a comparison that can never be true (decision A6).

use trefoil_ir::{Position, types};
use trefoil_syntax::yaml::{Style, Text};
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::{Comparison, Condition, Expression, Policy, Reference, Template, Value};

use trefoil_front::agntz::bind::AgentText;
use trefoil_front::agntz::names::{Here, Purpose};
use trefoil_front::bound::{BoundText, Content};
use trefoil_front::mend;
use trefoil_front::names::Use;
use trefoil_front::read::Reader;

/// Warns of constants in a text: in a condition, or in the tests of a template's blocks.
pub fn check(reader: &Reader<'_>, text: &AgentText) {
    let AgentText { here, bound } = text;
    match &bound.content {
        Content::Condition(condition) => conditional(reader, here, bound, condition),
        Content::Template(template) => {
            let visitor =
                Visitor { reader, here, source: &bound.source, references: template.references(), uses: &bound.uses };
            template.expressions().iter().for_each(|e| visitor.visit(e));
            let data = matches!(here.purpose, Purpose::Data | Purpose::Request) && here.position == Position::Data;
            if data && template.literal().is_none() {
                not_computed(reader, &bound.source, template, here.purpose == Purpose::Request);
            }
        }
        Content::Broken { .. } => {}
    }
}

fn conditional(reader: &Reader<'_>, here: &Here, bound: &BoundText, condition: &Condition) {
    let source = &bound.source;
    if condition.is_constant() {
        if let Some((quoted, inner)) = quoted_placeholder(&source.value) {
            let place = source.source(quoted.start as u32..quoted.end as u32);
            let whole = source.value.get(quoted).unwrap_or_default();
            let message = format!("`{whole}` is text, because of the quotes: the condition is always the same");
            let d = Diagnostic::warning("constant-condition", reader.at(place), message);
            let d = d.help(format!("remove the quotes around `{inner}`"));
            // Only if the text in the file is the same as the text that is read, and its own quotes are others.
            let straight = (place.end - place.start) as usize == whole.len();
            reader.report(match straight && source.style != Style::Plain {
                true => d.fix(format!("write `{inner}`"), reader.at(place), inner.to_owned()),
                false => d,
            });
            return;
        }
        let message = format!("`{}` has no placeholder, so it is always the same", source.value);
        let d = Diagnostic::warning("constant-condition", reader.at(source.span), message);
        let word = source.value.split_whitespace().next().unwrap_or("name");
        let word = word.trim_matches(|c: char| "\"'=!<>&|".contains(c));
        let d = d.help(format!("write a name in braces: `{{{{{word}}}}}`"));
        let known = !word.is_empty() && here.names.roots(here.at).iter().any(|n| Some(&**n) == word.split('.').next());
        reader.report(if known { braced(reader, source, word, d) } else { d });
        return;
    }
    let visitor = Visitor { reader, here, source, references: condition.references(), uses: &bound.uses };
    visitor.visit(condition.expression());
}

/// Warns of a value that is written like a condition: templates put values in, and compute nothing.
fn not_computed(reader: &Reader<'_>, source: &Text, template: &Template, sent: bool) {
    const OPERATORS: [&str; 8] = ["==", "!=", ">=", "<=", "&&", "||", ">", "<"];
    let value = &*source.value;
    // Longer texts are prose or code.
    let short = value.len() <= 200 && !value.trim().contains('\n') && !value.contains("{{#");
    if !short || template.is_single() || !OPERATORS.iter().any(|o| value.contains(o)) {
        return;
    }
    let Ok(condition) = Condition::parse(value, &Policy::AGNTZ) else { return };
    if computes(condition.expression(), sent) {
        let message = format!("`{}` is text here: nothing is compared", value.trim());
        let d = Diagnostic::warning("not-computed", reader.at(source.span), message);
        reader.report(d.help("compare in `when` or `until`, or let an agent answer it in its `outputSchema`"));
    }
}

/// Whether an expression can be meant as one, and not as text with signs in it. `sent`: it goes to another system, whose own
/// language may have such signs (`age >= {{min}}`), so only what compares a value with a number or a boolean counts.
fn computes(expression: &Expression, sent: bool) -> bool {
    let reads = |e: &Expression| matches!(e, Expression::Reference(_));
    match expression {
        Expression::And(parts) => parts.iter().all(|p| !sent && reads(p) || computes(p, sent)),
        Expression::Or(parts) => parts.iter().all(|p| !sent && reads(p) || computes(p, sent)),
        Expression::Compare(operands, comparisons) => {
            let ([left, right], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else { return false };
            let amount = match right {
                Expression::Literal(Value::Number(_)) => true,
                // `3 ? yes : no`
                Expression::Literal(Value::Str(text)) => {
                    text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(" ? ")
                }
                _ => false,
            };
            let sure = amount || matches!(right, Expression::Literal(Value::Bool(_) | Value::Null));
            let order = matches!(comparison, Comparison::Less | Comparison::Greater);
            reads(left) && (sure || !sent && !order)
        }
        _ => false,
    }
}

/// Quotes around a single placeholder, and the placeholder.
fn quoted_placeholder(text: &str) -> Option<(std::ops::Range<usize>, &str)> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let start = text.find(&format!("{quote}{{{{"))?;
        let inner = text.get(start + 1..)?;
        let inner = inner.get(..inner.find(quote)?)?;
        let path = inner.strip_prefix("{{")?.strip_suffix("}}")?;
        trefoil_front::names::is_path(path.trim()).then_some((start..start + inner.len() + 2, inner))
    })
}

/// The finding with the braces around the name; a scalar without quotes gets those as well.
fn braced(reader: &Reader<'_>, source: &Text, word: &str, d: Diagnostic) -> Diagnostic {
    match source.value.find(word) {
        Some(start) => braced_at(reader, source, word, start, d),
        None => d,
    }
}

fn braced_at(reader: &Reader<'_>, source: &Text, word: &str, start: usize, d: Diagnostic) -> Diagnostic {
    let message = format!("write `{{{{{word}}}}}`");
    let braces = format!("{{{{{word}}}}}");
    if source.style != Style::Plain {
        let at = source.source(start as u32..(start + word.len()) as u32);
        return d.fix(message, reader.at(at), braces);
    }
    if source.value.contains(['"', '\\', '\n']) {
        return d;
    }
    let mut whole = source.value.to_string();
    whole.replace_range(start..start + word.len(), &braces);
    d.fix(message, reader.at(source.span), format!("\"{whole}\""))
}

struct Visitor<'v, 'd> {
    reader: &'v Reader<'d>,
    here: &'v Here,
    source: &'v Text,
    references: &'v [Reference],
    uses: &'v [Use],
}

impl Visitor<'_, '_> {
    fn visit(&self, expression: &Expression) {
        match expression {
            Expression::And(parts) | Expression::Or(parts) => {
                self.alone(parts);
                self.opposed(parts, matches!(expression, Expression::Or(_)));
                parts.iter().for_each(|p| self.visit(p));
            }
            Expression::Not(inner) => self.visit(inner),
            Expression::Compare(operands, _) if operands.iter().all(|o| matches!(o, Expression::Literal(_))) => {
                self.constant(operands);
            }
            Expression::Compare(operands, comparisons) => {
                for (pair, comparison) in operands.windows(2).zip(comparisons) {
                    if let [left, right] = pair
                        && matches!(comparison, Comparison::Equal | Comparison::NotEqual)
                    {
                        self.equality(left, right, *comparison == Comparison::Equal);
                    }
                }
            }
            _ => {}
        }
    }

    /// Literals that are between `&&` and `||` by themselves: their truth is known.
    fn alone(&self, parts: &[Expression]) {
        for (i, part) in parts.iter().enumerate() {
            let Expression::Literal(value) = part else { continue };
            let text = value.to_text();
            let always = if value.truthy().unwrap_or(true) { "true" } else { "false" };
            let place = self.bare(&text).map(|p| p as u32..(p + text.len()) as u32);
            let at = place.map_or(self.source.span, |range| self.source.source(range));
            let message = format!("`{text}` by itself is always {always}");
            let d = Diagnostic::warning("constant-condition", self.reader.at(at), message);
            let names = self.here.names.roots(self.here.at);
            if value.as_str().is_some_and(|word| names.iter().any(|n| Some(&**n) == word.split('.').next())) {
                self.reader.report(d.help(format!("write a name in braces: `{{{{{text}}}}}`")));
                continue;
            }
            let before = parts.get(..i).unwrap_or_default().iter().rev();
            let compared = before.filter_map(|p| self.with_literal(p)).next();
            self.reader.report(match compared {
                Some((reference, sign, _)) => {
                    d.help(format!("write a comparison on each side: `{{{{{}}}}} {sign} {text}`", reference.dotted()))
                }
                None => d.help("write a comparison on each side: `{{path}} == value`"),
            });
        }
    }

    /// A comparison of a path with a literal.
    fn with_literal<'e>(&self, part: &'e Expression) -> Option<(&Reference, &'static str, &'e Value)> {
        let Expression::Compare(operands, comparisons) = part else { return None };
        let ([Expression::Reference(r), Expression::Literal(value)], [comparison]) =
            (operands.as_slice(), comparisons.as_slice())
        else {
            return None;
        };
        let sign = match comparison {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterEqual => ">=",
            _ => return None,
        };
        Some((self.references.get(*r as usize)?, sign, value))
    }

    /// `a != x || a != y`, `a != x || a == x`: whatever `a` is, one of the two holds.
    fn opposed(&self, parts: &[Expression], or: bool) {
        if !or {
            return;
        }
        let all: Vec<_> = parts.iter().filter_map(|p| self.with_literal(p)).collect();
        for (i, (reference, sign, value)) in all.iter().enumerate() {
            let one_holds = |(r, other, v): &&(&Reference, &str, &Value)| {
                let signs = match (*sign, *other) {
                    ("!=", "!=") => v != value,
                    ("!=", "==") | ("==", "!=") => v == value,
                    _ => false,
                };
                signs && r.dotted() == reference.dotted()
            };
            let Some((first, other, beside)) = all.get(..i).unwrap_or_default().iter().find(one_holds) else {
                continue;
            };
            let span = self.source.source(first.span.clone());
            let name = reference.dotted();
            let (why, help) = if sign == other {
                let why = format!("`{name}` is never `{}` and `{}` at once", beside.to_text(), value.to_text());
                (why, "use `&&` instead of `||` if it must be neither")
            } else {
                let why = format!("`{name}` is `{}`, or it is not", value.to_text());
                (why, "remove one of the two")
            };
            let message = format!("this condition is always true: {why}");
            let d = Diagnostic::warning("constant-condition", self.reader.at(span), message);
            self.reader.report(d.help(help));
            return;
        }
    }

    /// A comparison of words with words beside others that read something: the braces were forgotten.
    fn constant(&self, operands: &[Expression]) {
        let words: Vec<&str> = operands
            .iter()
            .filter_map(|o| match o {
                Expression::Literal(Value::Str(word)) => Some(&**word),
                _ => None,
            })
            .collect();
        let names = self.here.names.roots(self.here.at);
        let known = |word: &&&str| names.iter().any(|n| Some(&**n) == word.split('.').next());
        let name = words.iter().find(known).copied();
        let Some(word) = name.or(words.first().copied()) else { return };
        let place = self.bare(word);
        let at = place.map_or(self.source.span, |p| self.source.source(p as u32..(p + word.len()) as u32));
        let message = format!("`{word}` has no braces, so this comparison is always the same");
        let d = Diagnostic::warning("constant-condition", self.reader.at(at), message);
        let d = d.help(format!("write a name in braces: `{{{{{word}}}}}`"));
        self.reader.report(match (place, name) {
            (Some(place), Some(_)) => braced_at(self.reader, self.source, word, place, d),
            _ => d,
        });
    }

    /// Where a word stands outside of placeholders and quotes.
    fn bare(&self, word: &str) -> Option<usize> {
        let text = &*self.source.value;
        let read = |at: usize| {
            let inside = |r: &Reference| (r.span.start as usize..r.span.end as usize).contains(&at);
            self.references.iter().any(inside)
        };
        let mut all = text.match_indices(word).map(|(at, _)| at);
        all.find(|at| !word.is_empty() && mend::apart(text, *at, word.len()) && !read(*at))
    }

    fn equality(&self, left: &Expression, right: &Expression, equal: bool) {
        let (reference, literal) = match (left, right) {
            (Expression::Reference(r), Expression::Literal(v)) | (Expression::Literal(v), Expression::Reference(r)) => {
                (*r, v)
            }
            _ => return,
        };
        let one = self.uses.get(reference as usize);
        let Some((reference, one)) = self.references.get(reference as usize).zip(one) else { return };
        let schema = one.bound.schema();
        let Some(Impossible { why, help, change }) = impossible(reference, &schema, literal) else {
            return self.named(reference, &schema, literal);
        };
        let always = if equal { "can never be true" } else { "is always true" };
        let span = self.source.source(reference.span.clone());
        let mut d = Diagnostic::warning("never-true", self.reader.at(span), format!("this comparison {always}: {why}"));
        d.help = help;
        self.reader.report(match change {
            Some(change) => self.mended(d, literal, &change),
            None => d,
        });
    }
}

impl Visitor<'_, '_> {
    /// A word without quotes that names something as well: it is a text here.
    fn named(&self, reference: &Reference, schema: &Value, literal: &Value) {
        let Some(word) = literal.as_str() else { return };
        let root = word.split('.').next().unwrap_or_default();
        // A step is named after the route that leads to it, and the comparison is with the route.
        let known = self.here.names.inputs.get(root).is_some();
        // What a schema lists is meant as it is written.
        if !known || types::choices(schema).is_some() || !self.here.has(word) {
            return;
        }
        let Some((at, false)) = mend::literal(self.source, self.reader.file, word) else { return };
        let message = format!("`{word}` is text here, so the value of `{word}` is not read");
        let d = Diagnostic::info("not-a-placeholder", at, message);
        self.reader.report(d.help(format!(
            "to compare `{}` with the value, write `{{{{{word}}}}}`; to compare with the text, put it in quotes",
            reference.dotted()
        )));
    }
}

/// Why a comparison can only go one way.
struct Impossible {
    why: String,
    help: Option<String>,
    change: Option<Change>,
}

/// What to do with the literal.
enum Change {
    /// Take its quotes away.
    Bare,
    /// Put it in quotes.
    Quoted,
    /// Another word, if the mistake is here and not where the words are declared.
    Word(String),
}

impl Visitor<'_, '_> {
    /// The finding with the change of the literal, if the text contains it once.
    fn mended(&self, d: Diagnostic, literal: &Value, change: &Change) -> Diagnostic {
        let written = literal.to_text();
        let Some((at, quotes)) = mend::literal(self.source, self.reader.file, &written) else { return d };
        let quote = mend::quote(self.source.style);
        match change {
            Change::Bare if quotes => d.fix(format!("write `{written}`"), at, written.to_string()),
            Change::Quoted if !quotes => {
                // It would be silent then, and still never true: the name may be the wrong one.
                let text = format!("{quote}{written}{quote}");
                d.suggestion(format!("write `{text}`"), at, text)
            }
            Change::Word(word) if !word.contains(['\'', '"', '\\', '{', '}', '\n']) => {
                let quotes = quotes || !word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
                let text = if quotes { format!("{quote}{word}{quote}") } else { word.clone() };
                let message = format!("write `{word}`");
                d.suggestion(message, at, text)
            }
            _ => d,
        }
    }
}

/// Why a value of this shape never equals the literal, and what to write instead.
fn impossible(reference: &Reference, schema: &Value, literal: &Value) -> Option<Impossible> {
    let kind = kind_of(literal)?;
    let name = reference.dotted();
    let kinds = types::solid_kinds(schema).filter(|k| !k.is_empty())?;
    if !kinds.contains(&kind) {
        let is = kinds.iter().map(|k| types::spoken(k)).collect::<Vec<_>>().join(" or ");
        let bare = |text: &str| (Some(format!("write `{text}` without quotes")), Some(Change::Bare));
        let (help, change) = match (literal.as_str(), kinds.as_slice()) {
            (Some(text @ ("true" | "false")), ["boolean"]) => bare(text),
            (Some(text), ["number"]) if text.parse::<f64>().is_ok() => bare(text),
            (None, ["string"]) => (Some(format!("write `'{}'`", literal.to_text())), Some(Change::Quoted)),
            _ => (None, None),
        };
        return Some(Impossible {
            why: format!("`{name}` is {is}, but this is {}", types::spoken(kind)),
            help,
            change,
        });
    }
    let text = literal.as_str()?;
    let choices = types::choices(schema).filter(|all| !all.is_empty())?;
    let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
    if choices.is_empty() || choices.contains(&text) {
        return None;
    }
    let all = mend::listed(choices.iter().copied());
    let near = suggest::near(text, choices.iter().copied());
    let help = near.map(|near| format!("did you mean `{}`?", near.name));
    let change = near.map(|near| Change::Word(near.name.to_owned()));
    Some(Impossible { why: format!("available: {all}"), help, change })
}

fn kind_of(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Object(_) => "object",
        Value::Null | Value::Masked(_) => return None,
    })
}
