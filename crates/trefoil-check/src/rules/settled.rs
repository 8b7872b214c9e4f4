//! Comparisons and conditions with a constant result (`never-true`, `always-true`): values of kinds that are never
//! equal, words that a schema does not list, numbers beyond a schema's limits.

use trefoil_ir::Cond;
use trefoil_ir::solve::{NumberRange, Numbers, Truth, truth, truth_of};
use trefoil_ir::types::{Kind, Member, Type};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{Diagnostic, Location, Span, suggest};
use trefoil_template::{Comparison, Expression, Value};

use super::always_there;
use crate::rule::Context;
use crate::semantic::compare::{Compared, Side, VisitLimit};
use crate::semantic::conditions::{self, Decides, is_joined};

/// Reports comparisons that always hold, or those that never do.
pub(super) fn run(cx: &mut Context<'_>, wanted: bool) {
    compared(cx, wanted);
    always_there::run(cx, wanted);
}

/// The place and the range of a compared value that is certainly a number.
fn number(compared: &Compared) -> Option<(Location, NumberRange)> {
    let schema = &compared.value.schema;
    let sure = !compared.value.optional && schema.kinds().is_some_and(|kinds| kinds.is(Kind::Number));
    sure.then(|| (compared.at, numbers(schema)))
}

/// Says what limits the number of visits.
fn visited(d: Diagnostic, limit: VisitLimit, compared: &Compared) -> Diagnostic {
    let Some(words) = compared.words.transitions else { return d };
    match limit.at {
        Some(at) => {
            d.label(at, "the limit").help(format!("compare with a number that is reached, or raise `{}`", words.visits))
        }
        None if limit.most == 1 => d.help("no transition leads back to this state, so it is entered only once"),
        None => d.help(format!(
            "a run enters this state at most {} times: see `{}` and `{}`",
            limit.most, words.visits, words.entries.0
        )),
    }
}

/// Checks every comparison, and every condition that is composed of several.
fn compared(cx: &mut Context<'_>, wanted: bool) {
    let model = cx.model;
    let mut told: Vec<Location> = Vec::new();
    for compared in model.comparisons() {
        let Some((Settled { holds, why, help, change }, usual)) = settled_at_all(compared) else { continue };
        told.push(compared.at);
        if holds != wanted {
            continue;
        }
        let verdict = if holds { "is always true" } else { "can never be true" };
        let message = match usual {
            Some(number) => format!("with {number} as `{}`, this comparison {verdict}: {why}", compared.other.words),
            None => format!("this comparison {verdict}: {why}"),
        };
        let mut d = cx.finding(compared.at, message);
        d.help = help;
        if let Some(limit) = compared.visits {
            d = visited(d, limit, compared);
        }
        cx.report(change.into_iter().fold(d, |d, change| changed(d, compared, &change)));
    }
    let ranges: HashMap<Location, NumberRange> = model.comparisons().iter().filter_map(number).collect();
    for decision in conditions::all(model).into_iter().filter(|d| d.runs) {
        let (cond, expression) = (decision.cond, decision.cond.condition.expression());
        let told = told.iter().any(|at| at.file == cond.origin.file && overlap(at.span, cond.origin.span));
        // Parts that read nothing are reported by another rule.
        if told || !is_joined(expression) || cond.condition.is_constant() || has_lone(expression) {
            continue;
        }
        let words = cond.condition.words();
        let numbers = |at: usize| ranges.get(&Location::new(cond.origin.file, *cond.spans.get(at)?)).copied();
        match truth_of(cond, &numbers) {
            Truth::Always if wanted => {
                let message = "this condition is always true: in every case, one of its parts is";
                let help = format!("to exclude several values, join the comparisons with `{}`", words.and);
                cx.report(cx.finding(cond.origin, message).help(help));
            }
            // If a step or state never runs because of it, other rules report that.
            Truth::Never if !wanted && (decision.of == Decides::Edge || truth(cond) != Truth::Never) => {
                let message = "this condition can never be true: its parts exclude each other";
                let help = format!("if either one is enough, join them with `{}`", words.or);
                cx.report(cx.finding(cond.origin, message).help(help));
            }
            Truth::Always | Truth::Never => {}
            Truth::Sometimes => part(cx, cond, wanted, &numbers),
        }
    }
}

/// A part that never holds next to an alternative, or that always holds next to another requirement. The condition as a
/// whole can still have both results.
fn part(cx: &mut Context<'_>, cond: &Cond, wanted: bool, numbers: &Numbers<'_>) {
    let Some((verdict, which, of)) = settled_part(cond, cond.condition.expression(), numbers) else { return };
    if (verdict == Truth::Always) != wanted {
        return;
    }
    let words = cond.condition.words();
    let (message, other) = match verdict {
        Truth::Never => {
            let which = format!("alternative {which} of {of}");
            (format!("{which} in this condition can never be true: its parts exclude each other"), words.or)
        }
        _ => ("a part of this condition is always true, so it has no effect".to_owned(), words.and),
    };
    cx.report(cx.finding(cond.origin, message).help(format!("join its parts with `{other}`, or remove it")));
}

/// The first part with a constant result, counted from 1, and the number of parts.
fn settled_part(cond: &Cond, expression: &Expression, numbers: &Numbers<'_>) -> Option<(Truth, usize, usize)> {
    let (all, settled) = match expression {
        Expression::Or(all) => (all, Truth::Never),
        Expression::And(all) => (all, Truth::Always),
        Expression::Not(inner) => return settled_part(cond, inner, numbers),
        _ => return None,
    };
    let alone = |part: &Expression| Cond { condition: cond.condition.with(part.clone()), ..cond.clone() };
    let mut joined = all.iter().enumerate().filter(|(_, part)| is_joined(part));
    joined.find_map(|(at, part)| match truth_of(&alone(part), numbers) == settled {
        true => Some((settled, at + 1, all.len())),
        false => settled_part(cond, part, numbers),
    })
}

/// Whether a literal is a separate part.
fn has_lone(expression: &Expression) -> bool {
    match expression {
        Expression::And(parts) | Expression::Or(parts) => {
            parts.iter().any(|part| conditions::lone(part).is_some() || has_lone(part))
        }
        Expression::Not(inner) => has_lone(inner),
        _ => false,
    }
}

fn overlap(a: Span, b: Span) -> bool {
    a.start < b.end && b.start < a.end
}

/// A comparison with a constant result.
struct Settled {
    /// The result.
    holds: bool,
    why: String,
    help: Option<String>,
    change: Option<Change>,
}

/// The fix of the literal.
enum Change {
    /// Remove its quotes.
    Bare,
    /// Add quotes.
    Quoted,
    /// The same in another notation, without quotes.
    Exactly(&'static str),
    /// Another word, unless the mistake is where the choices are declared.
    Word(String),
}

impl Settled {
    fn new(holds: bool, why: String) -> Self {
        Self { holds, why, help: None, change: None }
    }
    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
    fn change(self, change: Change) -> Self {
        Self { change: Some(change), ..self }
    }
}

/// Adds the fix of the literal.
fn changed(d: Diagnostic, compared: &Compared, change: &Change) -> Diagnostic {
    let Some((spelling, quote)) = compared.other.spelling.and_then(|s| Some((s, s.quote?))) else { return d };
    let (at, written) = (Location::new(compared.at.file, spelling.at), &compared.other.words);
    match change {
        Change::Bare if spelling.quoted => d.fix(format!("write `{written}`"), at, written.as_str()),
        Change::Quoted if !spelling.quoted => {
            // Would silence the finding without making the comparison true, because the name may be wrong.
            let text = format!("{quote}{written}{quote}");
            d.suggestion(format!("write `{text}`"), at, text)
        }
        Change::Exactly(text) => d.fix(format!("write `{text}`"), at, *text),
        Change::Word(word) if !word.contains(['\'', '"', '\\', '{', '}', '\n']) => {
            let quotes = spelling.quoted || !word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            let text = if quotes { format!("{quote}{word}{quote}") } else { word.clone() };
            d.suggestion(format!("write `{word}`"), at, text)
        }
        _ => d,
    }
}

/// The same as [`settled`], also with the number that the manifest sets unless an input sets another one, which is then
/// returned as well.
fn settled_at_all(compared: &Compared) -> Option<(Settled, Option<String>)> {
    if let Some(found) = settled(compared) {
        return Some((found, None));
    }
    let number = compared.other.usual.as_ref().filter(|_| compared.value.usual.is_none())?;
    let literal = Some(number.clone());
    let other = Side { literal, schema: Type::of_value(number), ..compared.other.clone() };
    // A number that is too high for a guard is also too high for its opposite, which is reported.
    let found = settled(&Compared { other, ..compared.clone() }).filter(|found| !found.holds)?;
    Some((found, Some(number.to_text().to_string())))
}

/// Whether the result is constant in every run, why, and what to write instead.
fn settled(compared: &Compared) -> Option<Settled> {
    if compared.same {
        let always = match compared.comparison {
            Comparison::Equal => true,
            Comparison::NotEqual | Comparison::Less | Comparison::Greater => false,
            _ => return None,
        };
        return Some(Settled::new(always, format!("`{}` is compared with itself", compared.value.words)));
    }
    match compared.comparison {
        Comparison::Equal | Comparison::NotEqual => unequal(compared),
        Comparison::In | Comparison::NotIn => no_such_key(compared),
        _ => ordered(compared),
    }
}

/// A key that an object never has.
fn no_such_key(compared: &Compared) -> Option<Settled> {
    let key = compared.other.literal.as_ref()?.as_str()?;
    let object = compared.value.schema.is(Kind::Object);
    let Member::Never { members, .. } = compared.value.schema.member(key) else { return None };
    if !object {
        return None;
    }
    let settled = Settled::new(
        compared.comparison == Comparison::NotIn,
        format!("`{}` has no key `{key}`", compared.value.words),
    );
    let all = members.iter().take(12).map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ");
    Some(match suggest::nearest(key, members.iter().map(|m| &**m)) {
        Some(near) => {
            let help = format!("did you mean `{near}`? its keys are {all}");
            settled.help(help).change(Change::Word(near.to_owned()))
        }
        None if all.is_empty() => settled.help("it has no keys"),
        None => settled.help(format!("its keys are {all}")),
    })
}

fn unequal(compared: &Compared) -> Option<Settled> {
    let Compared { value, other, .. } = compared;
    let never = |why| Settled::new(compared.comparison == Comparison::NotEqual, why);
    if other.literal == Some(Value::Null) {
        // In other languages a missing value is null.
        if !compared.strict || compared.comparison != Comparison::Equal {
            return None;
        }
        let kinds = value.schema.solid_kinds().filter(|_| !value.schema.is_nullable())?;
        let d = never(format!("`{}` is {kinds}, never null", value.words));
        return Some(if kinds.is(Kind::Text) { d.help("to test for empty text, compare with `\"\"`") } else { d });
    }
    let [kinds, others] = [value, other].map(|s| s.schema.solid_kinds());
    let (kinds, others) = (kinds?, others?);
    // In strict languages, true equals 1 and false equals 0.
    let numeric = [kinds, others].iter().all(|kinds| kinds.has(Kind::Number) || kinds.has(Kind::Boolean));
    if !(kinds.meets(others) || compared.strict && numeric) {
        let why = format!("`{}` is {kinds}, and {} is {others}", value.words, written(other));
        let bare = |text: &str| never(why.clone()).help(format!("write `{text}` without quotes")).change(Change::Bare);
        let lone = kinds.iter().next().filter(|kind| kinds.is(*kind));
        return Some(match (other.literal.as_ref().map(|l| (l, l.as_str())), lone) {
            (Some((_, Some(text @ ("true" | "false")))), Some(Kind::Boolean)) => bare(text),
            (Some((_, Some(text))), Some(Kind::Boolean)) if boolean(text).is_some() => {
                let text = boolean(text)?;
                never(why).help(format!("write `{text}`")).change(Change::Exactly(text))
            }
            (Some((_, Some(text))), Some(Kind::Number)) if text.parse::<f64>().is_ok() => bare(text),
            (Some((literal, None)), Some(Kind::Text)) => {
                let help = format!("write `'{}'` in quotes to compare text", literal.to_text());
                never(why).help(help).change(Change::Quoted)
            }
            _ => never(why),
        });
    }
    if let (true, Some(number)) = (kinds.is(Kind::Number), other.literal.as_ref().and_then(Value::as_f64)) {
        let has = numbers(&value.schema);
        if has.is_apart(&NumberRange::between(Some(number), Some(number))) {
            return Some(never(format!("`{}` is {}", value.words, spoken(&has)?)));
        }
        if !has.has(number) {
            return Some(never(format!("`{}` is a whole number", value.words)));
        }
    }
    if let (Some(1.0), Some(text)) = (bound(&value.schema, "maxLength"), other.literal.as_ref().and_then(Value::as_str))
        && text.chars().count() > 1
    {
        let help = "compare the whole text, or test for a part with `\"...\" in`";
        return Some(never(format!("`{}` is one character of a text", value.words)).help(help));
    }
    let (choices, others) = (value.schema.choices()?, other.schema.choices()?);
    if others.iter().any(|o| choices.contains(o)) || choices.iter().all(Value::is_null) {
        return None;
    }
    let words: Vec<_> = choices.iter().filter(|c| !c.is_null()).map(Value::to_text).collect();
    let spoken = |word: &str| if word.is_empty() { "empty text".to_owned() } else { format!("`{word}`") };
    let all = words.iter().take(12).map(|word| spoken(word)).collect::<Vec<_>>().join(", ");
    let is = if words.len() == 1 { "is" } else { "is one of" };
    let d = never(format!("`{}` {is} {all}", value.words));
    let near =
        other.literal.as_ref().and_then(Value::as_str).and_then(|l| suggest::nearest(l, words.iter().map(|w| &**w)));
    Some(match near {
        Some(near) => d.help(format!("did you mean `{near}`?")).change(Change::Word(near.to_owned())),
        None => d,
    })
}

/// `true` and `false` in the notation of other languages.
fn boolean(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some("true"),
        "false" | "no" | "off" => Some("false"),
        _ => None,
    }
}

/// An ordering that the type of one side rules out, or whose result follows from a schema's limits.
fn ordered(compared: &Compared) -> Option<Settled> {
    let Compared { value, other, .. } = compared;
    let kinds = value.schema.solid_kinds()?;
    let orderless: &[Kind] = if compared.strict { &[Kind::Object] } else { &[Kind::Boolean, Kind::Object, Kind::List] };
    if kinds.within(orderless.iter().copied()) {
        let why = format!("`{}` is {kinds}, which cannot be ordered", value.words);
        return Some(Settled::new(false, why));
    }
    let limit = other.literal.as_ref()?.as_f64().filter(|_| kinds.is(Kind::Number))?;
    let (has, wanted) = (numbers(&value.schema), NumberRange::compared(compared.comparison, limit)?);
    let never = wanted.is_apart(&has);
    let always = wanted.covers(&has) && !value.optional && !value.schema.is_nullable();
    if !never && !always {
        return None;
    }
    Some(Settled::new(always, format!("`{}` is {}", value.words, spoken(&has)?)))
}

/// A range in words.
fn spoken(range: &NumberRange) -> Option<String> {
    Some(match (range.low, range.high) {
        (Some((low, _)), Some((high, _))) if low == high => format!("always {low}"),
        (Some((low, _)), Some((high, _))) => format!("from {low} to {high}"),
        (Some((low, _)), None) => format!("at least {low}"),
        (None, Some((high, _))) => format!("at most {high}"),
        (None, None) => return None,
    })
}

/// The numbers of a type.
fn numbers(of: &Type) -> NumberRange {
    let range = NumberRange::between(bound(of, "minimum"), bound(of, "maximum"));
    NumberRange { whole: of.is_integer(), ..range }
}

fn bound(of: &Type, keyword: &str) -> Option<f64> {
    of.limit(keyword).or_else(|| of.constant()?.as_f64())
}

fn written(side: &Side) -> String {
    match &side.literal {
        Some(_) if side.words.is_empty() => "`\"\"`".to_owned(),
        Some(_) => format!("`{}`", side.words),
        None if side.words.is_empty() => "the other side".to_owned(),
        None => format!("`{}`", side.words),
    }
}
