//! Constraints on a value: from conditions that compare it, fan-outs over it, and calls that it names.
//!
//! A constraint can check a value, and propose values that satisfy it. A value for several constraints is found by
//! collecting the proposals of each and using the first that satisfies all.

use serde_json::{Number, Value as Json};
use trefoil_template::ComparisonOperator;

use super::random::SplitMixRandom;
use super::range::NumberRange;

/// A constraint.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueConstraint {
    /// Equal to this value (true), or not (false).
    Equal(Json, bool),
    /// One of these values (true), or none of them (false).
    OneOf(Vec<Json>, bool),
    /// A number, or text that is one, in this order to the bound.
    Bound(ComparisonOperator, f64),
    /// A value that conditions treat as true, or as false.
    Truthy(bool),
    /// Text that contains this text or a list that contains this item (true), or not (false).
    Contains(Json, bool),
    /// Number of characters or items, inclusive.
    Length(usize, usize),
    /// A list with this number of items, inclusive.
    List(usize, usize),
    /// A whole number from 1 to this.
    Count(u32),
}

impl ValueConstraint {
    /// Whether a value satisfies the constraint.
    pub fn accepts_value(&self, value: &Json) -> bool {
        match self {
            Self::Equal(want, yes) => json_equal(want, value) == *yes,
            Self::OneOf(wants, yes) => wants.iter().any(|w| json_equal(w, value)) == *yes,
            Self::Bound(order, bound) => match (number(value), NumberRange::from_comparison(*order, *bound)) {
                (Some(n), Some(range)) => range.contains(n),
                _ => false,
            },
            Self::Truthy(want) => truthy(value) == *want,
            Self::Contains(part, yes) => {
                let found = match (value, part) {
                    (Json::String(text), Json::String(part)) => text.contains(part.as_str()),
                    (Json::Array(items), part) => items.iter().any(|i| json_equal(i, part)),
                    (Json::Object(members), Json::String(name)) => members.contains_key(name),
                    _ => return false,
                };
                found == *yes
            }
            Self::Length(low, high) => match value {
                Json::String(text) => (*low..=*high).contains(&text.chars().count()),
                Json::Array(items) => (*low..=*high).contains(&items.len()),
                Json::Object(members) => (*low..=*high).contains(&members.len()),
                _ => false,
            },
            Self::List(low, high) => matches!(value, Json::Array(items) if (*low..=*high).contains(&items.len())),
            Self::Count(high) => match number(value) {
                Some(n) => n.fract() == 0.0 && n >= 1.0 && n <= f64::from(*high),
                None => false,
            },
        }
    }

    /// Values that satisfy the constraint, the most likely ones first.
    pub fn propose_values(&self, random: &mut SplitMixRandom) -> Vec<Json> {
        match self {
            Self::Equal(want, true) => vec![want.clone()],
            Self::OneOf(wants, true) => {
                let mut wants = wants.clone();
                random.shuffle_slice(&mut wants);
                wants
            }
            Self::Equal(Json::Bool(b), false) => vec![Json::Bool(!b)],
            Self::Equal(want, false) => others(std::slice::from_ref(want)),
            Self::OneOf(wants, false) => others(wants),
            Self::Bound(order, bound) => beyond(*order, *bound, random),
            Self::Truthy(true) => vec![Json::Bool(true), Json::from(1), Json::from("yes")],
            Self::Truthy(false) => vec![Json::Bool(false), Json::from(0), Json::from(""), Json::Null],
            Self::Contains(part @ Json::String(text), true) => {
                vec![Json::from(format!("this is {text}")), Json::Array(vec![part.clone()])]
            }
            Self::Contains(part, true) => vec![Json::Array(vec![part.clone()])],
            Self::Contains(_, false) => vec![Json::from("nothing of the kind"), Json::Array(Vec::new())],
            Self::Length(low, high) => {
                let n = pick_length(*low, *high, random);
                vec![Json::from(filler_text(n)), sample_list(n.min(50))]
            }
            Self::List(low, high) => vec![sample_list(pick_length(*low, *high, random))],
            Self::Count(high) => {
                let mut all: Vec<u32> = (1..=(*high).clamp(1, 3)).collect();
                random.shuffle_slice(&mut all);
                all.into_iter().map(Json::from).collect()
            }
        }
    }
}

/// A length between the two, preferably small.
pub fn pick_length(low: usize, high: usize, random: &mut SplitMixRandom) -> usize {
    let spread = high.saturating_sub(low).min(2);
    low + random.pick_below(spread + 1)
}

/// The n-th item of a list with unspecified items.
pub fn sample_item(n: usize) -> String {
    format!("item {}", n + 1)
}

fn sample_list(length: usize) -> Json {
    Json::Array((0..length).map(|n| Json::from(sample_item(n))).collect())
}

/// Text of exactly this length. The last character is never a space, which would be trimmed.
pub fn filler_text(length: usize) -> String {
    let mut text: String = "sample text ".chars().cycle().take(length).collect();
    if text.ends_with(' ') {
        text.pop();
        text.push('.');
    }
    text
}

fn others(wants: &[Json]) -> Vec<Json> {
    let mut all: Vec<Json> = Vec::new();
    for want in wants {
        match want {
            Json::Number(n) => all.extend([1.0, 2.0, -1.0].map(|d| rounded_number(n.as_f64().unwrap_or(0.0) + d))),
            Json::Bool(b) => all.push(Json::Bool(!b)),
            Json::Null => all.extend([Json::Bool(true), Json::from("something")]),
            _ => {}
        }
    }
    all.extend(["other", "something else", "none of them"].map(Json::from));
    all
}

/// Numbers near a bound, on one side of it. Bounds between 0 and 1 are probably those of scores, so the numbers stay in
/// that range.
fn beyond(order: ComparisonOperator, bound: f64, random: &mut SplitMixRandom) -> Vec<Json> {
    let up = matches!(order, ComparisonOperator::Greater | ComparisonOperator::GreaterEqual);
    let mut all: Vec<f64> = Vec::new();
    if (0.0..=1.0).contains(&bound) {
        let far = if up { 1.0 } else { 0.0 };
        // A quarter, half or three quarters of the way to the end.
        let mut ways = [0.5, 0.75, 0.25];
        random.shuffle_slice(&mut ways);
        all.extend(ways.map(|way| bound + (far - bound) * way));
        all.push(far);
    }
    let mut steps = [1.0, 2.0, 3.0];
    random.shuffle_slice(&mut steps);
    let whole = if up { bound.floor() } else { bound.ceil() };
    all.extend(steps.map(|step| if up { whole + step } else { whole - step }));
    if matches!(order, ComparisonOperator::GreaterEqual | ComparisonOperator::LessEqual) {
        all.push(bound);
    }
    all.into_iter().map(rounded_number).collect()
}

/// A number rounded to a few digits, as an integer if it is whole.
pub fn rounded_number(n: f64) -> Json {
    let rounded = (n * 1e4).round() / 1e4;
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        Json::from(rounded as i64)
    } else {
        match Number::from_f64(rounded) {
            Some(number) => Json::Number(number),
            None => Json::Null,
        }
    }
}

/// Whether two values have the same type and value; numbers are compared numerically.
pub fn json_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| json_equal(a, b)),
        _ => a == b,
    }
}

fn number(value: &Json) -> Option<f64> {
    match value {
        Json::Number(n) => n.as_f64(),
        Json::String(text) => {
            let n: f64 = text.trim().parse().ok()?;
            if n.is_finite() { Some(n) } else { None }
        }
        _ => None,
    }
}

fn truthy(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(b) => *b,
        Json::Number(n) => n.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(members) => !members.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_constraint_proposes_fits_it() {
        let all = [
            ValueConstraint::Equal(json!("a"), true),
            ValueConstraint::Equal(json!("a"), false),
            ValueConstraint::Equal(json!(3), false),
            ValueConstraint::Equal(Json::Null, false),
            ValueConstraint::OneOf(vec![json!("a"), json!(1)], true),
            ValueConstraint::OneOf(vec![json!("other"), json!("x")], false),
            ValueConstraint::Bound(ComparisonOperator::Greater, 0.8),
            ValueConstraint::Bound(ComparisonOperator::Less, 0.8),
            ValueConstraint::Bound(ComparisonOperator::GreaterEqual, 8.0),
            ValueConstraint::Bound(ComparisonOperator::LessEqual, -2.5),
            ValueConstraint::Bound(ComparisonOperator::Greater, 1.0),
            ValueConstraint::Bound(ComparisonOperator::Less, 0.0),
            ValueConstraint::Truthy(true),
            ValueConstraint::Truthy(false),
            ValueConstraint::Contains(json!("urgent"), true),
            ValueConstraint::Contains(json!(3), true),
            ValueConstraint::Contains(json!("urgent"), false),
            ValueConstraint::Length(7, 9),
            ValueConstraint::Length(0, 0),
            ValueConstraint::List(2, 4),
            ValueConstraint::Count(5),
        ];
        for seed in 0..20 {
            for constraint in &all {
                let fitting = constraint.propose_values(&mut SplitMixRandom::new(seed));
                assert!(fitting.iter().any(|c| constraint.accepts_value(c)), "{constraint:?} {fitting:?}");
            }
        }
    }

    #[test]
    fn scores_stay_scores() {
        for seed in 0..20 {
            let first = &ValueConstraint::Bound(ComparisonOperator::Greater, 0.95)
                .propose_values(&mut SplitMixRandom::new(seed))[0];
            assert!((0.95..1.0).contains(&first.as_f64().unwrap()), "{first}");
        }
    }

    #[test]
    fn filler_is_as_long_as_it_is_told() {
        for n in 0..40 {
            assert_eq!(filler_text(n).chars().count(), n);
        }
    }
}
