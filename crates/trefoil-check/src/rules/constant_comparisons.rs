//! Comparisons and conditions with a constant result (`never-true`, `always-true`): values of kinds that are never
//! equal, words that a schema does not list, numbers beyond a schema's limits.

use trefoil_ir::BoundCondition;
use trefoil_ir::solver::{ConditionTruth, NumberLookup, NumberRange, condition_truth, truth_of};
use trefoil_ir::types::{TypeMember, ValueKind, ValueKinds, ValueType};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{Diagnostic, Location, Span, suggestions};
use trefoil_template::{ComparisonOperator, ConditionExpression, Value};

use super::existence_tests;
use crate::rule::RuleContext;
use crate::semantic::comparisons::{ComparisonSide, TypedComparison, VisitLimit};
use crate::semantic::conditions::{self, ConditionPurpose, is_joined};
use crate::words;

/// The maximum number of keys or values that a finding lists.
const MOST_LISTED: usize = 12;

/// Reports comparisons that always hold, or those that never do.
pub(super) fn run(cx: &mut RuleContext<'_>, wanted: bool) {
    check_comparisons(cx, wanted);
    existence_tests::run(cx, wanted);
}

/// The place and the range of a compared value that is certainly a number.
fn number(compared: &TypedComparison) -> Option<(Location, NumberRange)> {
    let schema = &compared.value.schema;
    let kinds = schema.value_kinds()?;
    if compared.value.optional || !kinds.is_only(ValueKind::Number) {
        return None;
    }
    Some((compared.at, numbers(schema)))
}

/// Says what limits the number of visits.
fn visited(d: Diagnostic, limit: VisitLimit, compared: &TypedComparison) -> Diagnostic {
    let Some(words) = compared.words.transitions else { return d };
    match limit.at {
        Some(at) => d
            .with_label(at, "the limit")
            .with_help(format!("compare with a number that is reached, or raise `{}`", words.visits)),
        None if limit.most == 1 => d.with_help("no transition leads back to this state, so it is entered only once"),
        None => d.with_help(format!(
            "a run enters this state at most {} times: see `{}` and `{}`",
            limit.most, words.visits, words.entries.0
        )),
    }
}

/// Checks every comparison, and every condition that is composed of several.
fn check_comparisons(cx: &mut RuleContext<'_>, wanted: bool) {
    let model = cx.model;
    let told = check_single_comparisons(cx, wanted);
    let ranges: HashMap<Location, NumberRange> = model.typed_comparisons().iter().filter_map(number).collect();
    for decision in conditions::find_conditions(model) {
        if !decision.runs {
            continue;
        }
        let (cond, expression) = (decision.cond, decision.cond.condition.expression_tree());
        let told = told.iter().any(|at| at.file == cond.origin.file && overlap(at.span, cond.origin.span));
        // Parts that read nothing are reported by another rule.
        if told || !is_joined(expression) || cond.condition.is_constant() || has_lone(expression) {
            continue;
        }
        let words = cond.condition.dialect_words();
        let numbers = |at: usize| ranges.get(&Location::new(cond.origin.file, *cond.spans.get(at)?)).copied();
        match truth_of(cond, &numbers) {
            ConditionTruth::Always if wanted => {
                let message = "this condition is always true: in every case, one of its parts is";
                let help = format!("to exclude several values, join the comparisons with `{}`", words.and);
                cx.report_finding(cx.new_finding(cond.origin, message).with_help(help));
            }
            // If a step or state never runs because of it, other rules report that.
            ConditionTruth::Never
                if !wanted
                    && (decision.of == ConditionPurpose::Edge || condition_truth(cond) != ConditionTruth::Never) =>
            {
                let message = "this condition can never be true: its parts exclude each other";
                let help = format!("if either one is enough, join them with `{}`", words.or);
                cx.report_finding(cx.new_finding(cond.origin, message).with_help(help));
            }
            ConditionTruth::Always | ConditionTruth::Never => {}
            ConditionTruth::Sometimes => part(cx, cond, wanted, &numbers),
        }
    }
}

/// Checks every comparison. Returns the places of those with a constant result.
fn check_single_comparisons(cx: &mut RuleContext<'_>, wanted: bool) -> Vec<Location> {
    let mut told = Vec::new();
    for compared in cx.model.typed_comparisons() {
        let Some((ConstantComparison { holds, why, help, change }, usual)) = settled_at_all(compared) else { continue };
        told.push(compared.at);
        if holds != wanted {
            continue;
        }
        let verdict = if holds { "is always true" } else { "can never be true" };
        let message = match usual {
            Some(number) => format!("with {number} as `{}`, this comparison {verdict}: {why}", compared.other.words),
            None => format!("this comparison {verdict}: {why}"),
        };
        let mut d = cx.new_finding(compared.at, message);
        d.help = help;
        if let Some(limit) = compared.visits {
            d = visited(d, limit, compared);
        }
        if let Some(change) = change {
            d = changed(d, compared, &change);
        }
        cx.report_finding(d);
    }
    told
}

/// A part that never holds next to an alternative, or that always holds next to another requirement. The condition as a
/// whole can still have both results.
fn part(cx: &mut RuleContext<'_>, cond: &BoundCondition, wanted: bool, numbers: &NumberLookup<'_>) {
    let Some((verdict, which, of)) = settled_part(cond, cond.condition.expression_tree(), numbers) else { return };
    if (verdict == ConditionTruth::Always) != wanted {
        return;
    }
    let words = cond.condition.dialect_words();
    let (message, other) = match verdict {
        ConditionTruth::Never => {
            let which = format!("alternative {which} of {of}");
            (format!("{which} in this condition can never be true: its parts exclude each other"), words.or)
        }
        _ => ("a part of this condition is always true, so it has no effect".to_owned(), words.and),
    };
    cx.report_finding(
        cx.new_finding(cond.origin, message).with_help(format!("join its parts with `{other}`, or remove it")),
    );
}

/// The first part with a constant result, counted from 1, and the number of parts.
fn settled_part(
    cond: &BoundCondition,
    expression: &ConditionExpression,
    numbers: &NumberLookup<'_>,
) -> Option<(ConditionTruth, usize, usize)> {
    let (all, settled) = match expression {
        ConditionExpression::Or(all) => (all, ConditionTruth::Never),
        ConditionExpression::And(all) => (all, ConditionTruth::Always),
        ConditionExpression::Not(inner) => return settled_part(cond, inner, numbers),
        _ => return None,
    };
    for (at, part) in all.iter().enumerate() {
        if !is_joined(part) {
            continue;
        }
        let alone = BoundCondition { condition: cond.condition.with_expression(part.clone()), ..cond.clone() };
        if truth_of(&alone, numbers) == settled {
            return Some((settled, at + 1, all.len()));
        }
        if let Some(found) = settled_part(cond, part, numbers) {
            return Some(found);
        }
    }
    None
}

/// Whether a literal is a separate part.
fn has_lone(expression: &ConditionExpression) -> bool {
    match expression {
        ConditionExpression::And(parts) | ConditionExpression::Or(parts) => {
            parts.iter().any(|part| conditions::lone_literals(part).is_some() || has_lone(part))
        }
        ConditionExpression::Not(inner) => has_lone(inner),
        _ => false,
    }
}

fn overlap(a: Span, b: Span) -> bool {
    a.start < b.end && b.start < a.end
}

/// A comparison with a constant result.
struct ConstantComparison {
    /// The result.
    holds: bool,
    why: String,
    help: Option<String>,
    change: Option<LiteralFix>,
}

/// The fix of the literal.
enum LiteralFix {
    /// Remove its quotes.
    Bare,
    /// Add quotes.
    Quoted,
    /// The same in another notation, without quotes.
    Exactly(&'static str),
    /// Another word, unless the mistake is where the choices are declared.
    Word(String),
}

impl ConstantComparison {
    fn new(holds: bool, why: String) -> Self {
        Self { holds, why, help: None, change: None }
    }
    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
    fn change(self, change: LiteralFix) -> Self {
        Self { change: Some(change), ..self }
    }
}

/// Adds the fix of the literal.
fn changed(d: Diagnostic, compared: &TypedComparison, change: &LiteralFix) -> Diagnostic {
    let Some(spelling) = compared.other.spelling else { return d };
    let Some(quote) = spelling.quote else { return d };
    let (at, written) = (Location::new(compared.at.file, spelling.at), &compared.other.words);
    match change {
        LiteralFix::Bare if spelling.quoted => d.with_safe_fix(format!("write `{written}`"), at, written.as_str()),
        LiteralFix::Quoted if !spelling.quoted => {
            // Would silence the finding without making the comparison true, because the name may be wrong.
            let text = format!("{quote}{written}{quote}");
            d.with_suggestion(format!("write `{text}`"), at, text)
        }
        LiteralFix::Exactly(text) => d.with_safe_fix(format!("write `{text}`"), at, *text),
        LiteralFix::Word(word) if !word.contains(['\'', '"', '\\', '{', '}', '\n']) => {
            let quotes = spelling.quoted || !word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            let text = if quotes { format!("{quote}{word}{quote}") } else { word.clone() };
            d.with_suggestion(format!("write `{word}`"), at, text)
        }
        _ => d,
    }
}

/// The same as [`evaluate_constant`], also with the number that the manifest sets unless an input sets another one, which is then
/// returned as well.
fn settled_at_all(compared: &TypedComparison) -> Option<(ConstantComparison, Option<String>)> {
    if let Some(found) = evaluate_constant(compared) {
        return Some((found, None));
    }
    let number = compared.other.usual.as_ref()?;
    if compared.value.usual.is_some() {
        return None;
    }
    let literal = Some(number.clone());
    let other = ComparisonSide { literal, schema: ValueType::of_value(number), ..compared.other.clone() };
    let found = evaluate_constant(&TypedComparison { other, ..compared.clone() })?;
    // A number that is too high for a guard is also too high for its opposite, which is reported.
    if found.holds {
        return None;
    }
    Some((found, Some(number.to_text().to_string())))
}

/// Whether the result is constant in every run, why, and what to write instead.
fn evaluate_constant(compared: &TypedComparison) -> Option<ConstantComparison> {
    if compared.same {
        let always = match compared.comparison {
            ComparisonOperator::Equal => true,
            ComparisonOperator::NotEqual | ComparisonOperator::Less | ComparisonOperator::Greater => false,
            _ => return None,
        };
        return Some(ConstantComparison::new(always, format!("`{}` is compared with itself", compared.value.words)));
    }
    match compared.comparison {
        ComparisonOperator::Equal | ComparisonOperator::NotEqual => unequal(compared),
        ComparisonOperator::In | ComparisonOperator::NotIn => no_such_key(compared),
        _ => ordered(compared),
    }
}

/// A key that an object never has.
fn no_such_key(compared: &TypedComparison) -> Option<ConstantComparison> {
    let key = literal_text(&compared.other)?;
    let object = compared.value.schema.is_kind(ValueKind::Object);
    let TypeMember::Never { members, .. } = compared.value.schema.find_member(key) else { return None };
    if !object {
        return None;
    }
    let settled = ConstantComparison::new(
        compared.comparison == ComparisonOperator::NotIn,
        format!("`{}` has no key `{key}`", compared.value.words),
    );
    let all = words::quoted_names(members.iter().take(MOST_LISTED));
    Some(match suggestions::nearest_name(key, members.iter().map(|m| &**m)) {
        Some(near) => {
            let help = format!("did you mean `{near}`? its keys are {all}");
            settled.help(help).change(LiteralFix::Word(near.to_owned()))
        }
        None if all.is_empty() => settled.help("it has no keys"),
        None => settled.help(format!("its keys are {all}")),
    })
}

/// The text that a side is, if it is a literal.
pub(super) fn literal_text(side: &ComparisonSide) -> Option<&str> {
    side.literal.as_ref()?.as_str()
}

/// Values that are never equal, judging by their types.
fn unequal(compared: &TypedComparison) -> Option<ConstantComparison> {
    let TypedComparison { value, other, .. } = compared;
    if other.literal == Some(Value::Null) {
        return never_null(compared);
    }
    let (kinds, others) = (value.schema.solid_kinds()?, other.schema.solid_kinds()?);
    // In strict languages, true equals 1 and false equals 0.
    let as_numbers = compared.strict && is_numeric(kinds) && is_numeric(others);
    if !kinds.overlaps_with(others) && !as_numbers {
        return Some(unequal_kinds(compared, kinds, others));
    }
    if kinds.is_only(ValueKind::Number)
        && let Some(literal) = &other.literal
        && let Some(number) = literal.as_f64()
    {
        let has = numbers(&value.schema);
        if has.is_apart(&NumberRange::from_inclusive(Some(number), Some(number))) {
            return Some(never_equal(compared, format!("`{}` is {}", value.words, describe_range(&has)?)));
        }
        if !has.contains(number) {
            return Some(never_equal(compared, format!("`{}` is a whole number", value.words)));
        }
    }
    if let (Some(1.0), Some(text)) = (bound(&value.schema, "maxLength"), literal_text(other))
        && text.chars().count() > 1
    {
        let help = "compare the whole text, or test for a part with `\"...\" in`";
        return Some(never_equal(compared, format!("`{}` is one character of a text", value.words)).help(help));
    }
    never_a_choice(compared)
}

/// A comparison of values that are never equal.
fn never_equal(compared: &TypedComparison, why: String) -> ConstantComparison {
    ConstantComparison::new(compared.comparison == ComparisonOperator::NotEqual, why)
}

/// A test for null of a value that never is.
fn never_null(compared: &TypedComparison) -> Option<ConstantComparison> {
    // In other languages a missing value is null.
    if !compared.strict || compared.comparison != ComparisonOperator::Equal {
        return None;
    }
    let value = &compared.value;
    if value.schema.is_nullable() {
        return None;
    }
    let kinds = value.schema.solid_kinds()?;
    let settled = never_equal(compared, format!("`{}` is {kinds}, never null", value.words));
    Some(if kinds.is_only(ValueKind::Text) {
        settled.help("to test for empty text, compare with `\"\"`")
    } else {
        settled
    })
}

fn is_numeric(kinds: ValueKinds) -> bool {
    kinds.contains(ValueKind::Number) || kinds.contains(ValueKind::Boolean)
}

/// Values of kinds that are never equal.
fn unequal_kinds(compared: &TypedComparison, kinds: ValueKinds, others: ValueKinds) -> ConstantComparison {
    let TypedComparison { value, other, .. } = compared;
    let settled = never_equal(compared, format!("`{}` is {kinds}, and {} is {others}", value.words, quote_side(other)));
    let (Some(literal), Some(kind)) = (&other.literal, kinds.iter().next()) else { return settled };
    if !kinds.is_only(kind) {
        return settled;
    }
    match (literal.as_str(), kind) {
        (Some(text @ ("true" | "false")), ValueKind::Boolean) => without_quotes(settled, text),
        (Some(text), ValueKind::Boolean) => match boolean(text) {
            Some(word) => settled.help(format!("write `{word}`")).change(LiteralFix::Exactly(word)),
            None => settled,
        },
        (Some(text), ValueKind::Number) if text.parse::<f64>().is_ok() => without_quotes(settled, text),
        (None, ValueKind::Text) => {
            let help = format!("write `'{}'` in quotes to compare text", literal.to_text());
            settled.help(help).change(LiteralFix::Quoted)
        }
        _ => settled,
    }
}

fn without_quotes(settled: ConstantComparison, literal: &str) -> ConstantComparison {
    settled.help(format!("write `{literal}` without quotes")).change(LiteralFix::Bare)
}

/// A value that is none of those that the schema of the other side lists.
fn never_a_choice(compared: &TypedComparison) -> Option<ConstantComparison> {
    let TypedComparison { value, other, .. } = compared;
    let (choices, others) = (value.schema.allowed_values()?, other.schema.allowed_values()?);
    if others.iter().any(|o| choices.contains(o)) || choices.iter().all(Value::is_null) {
        return None;
    }
    let mut words = Vec::new();
    for choice in choices.iter() {
        if !choice.is_null() {
            words.push(choice.to_text());
        }
    }
    let listed: Vec<String> = words.iter().take(MOST_LISTED).map(|word| quote_word(word)).collect();
    let is = if words.len() == 1 { "is" } else { "is one of" };
    let settled = never_equal(compared, format!("`{}` {is} {}", value.words, listed.join(", ")));
    if let Some(text) = literal_text(other)
        && let Some(near) = suggestions::nearest_name(text, words.iter().map(|w| &**w))
    {
        return Some(settled.help(format!("did you mean `{near}`?")).change(LiteralFix::Word(near.to_owned())));
    }
    Some(settled)
}

fn quote_word(word: &str) -> String {
    if word.is_empty() { "empty text".to_owned() } else { format!("`{word}`") }
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
fn ordered(compared: &TypedComparison) -> Option<ConstantComparison> {
    let TypedComparison { value, other, .. } = compared;
    let kinds = value.schema.solid_kinds()?;
    let orderless: &[ValueKind] =
        if compared.strict { &[ValueKind::Object] } else { &[ValueKind::Boolean, ValueKind::Object, ValueKind::List] };
    if kinds.is_within(orderless.iter().copied()) {
        let why = format!("`{}` is {kinds}, which cannot be ordered", value.words);
        return Some(ConstantComparison::new(false, why));
    }
    let limit = other.literal.as_ref()?.as_f64()?;
    if !kinds.is_only(ValueKind::Number) {
        return None;
    }
    let (has, wanted) = (numbers(&value.schema), NumberRange::from_comparison(compared.comparison, limit)?);
    let never = wanted.is_apart(&has);
    let always = wanted.covers_range(&has) && !value.optional && !value.schema.is_nullable();
    if !never && !always {
        return None;
    }
    Some(ConstantComparison::new(always, format!("`{}` is {}", value.words, describe_range(&has)?)))
}

/// A range in words.
fn describe_range(range: &NumberRange) -> Option<String> {
    Some(match (range.low, range.high) {
        (Some((low, _)), Some((high, _))) if low == high => format!("always {low}"),
        (Some((low, _)), Some((high, _))) => format!("from {low} to {high}"),
        (Some((low, _)), None) => format!("at least {low}"),
        (None, Some((high, _))) => format!("at most {high}"),
        (None, None) => return None,
    })
}

/// The numbers of a type.
fn numbers(of: &ValueType) -> NumberRange {
    let range = NumberRange::from_inclusive(bound(of, "minimum"), bound(of, "maximum"));
    NumberRange { whole: of.is_integer(), ..range }
}

fn bound(of: &ValueType, keyword: &str) -> Option<f64> {
    of.keyword_limit(keyword).or_else(|| of.constant_value()?.as_f64())
}

fn quote_side(side: &ComparisonSide) -> String {
    match &side.literal {
        Some(_) if side.words.is_empty() => "`\"\"`".to_owned(),
        Some(_) => format!("`{}`", side.words),
        None if side.words.is_empty() => "the other side".to_owned(),
        None => format!("`{}`", side.words),
    }
}
