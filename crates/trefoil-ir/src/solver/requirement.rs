//! What must be true of the values that a condition reads, so that it has a wanted result.
//!
//! This is not complete: it tries one path through `and` and `or`, and supports common forms of conditions. For other
//! forms it returns nothing, and the condition's result is left to chance.

use std::sync::Arc;

use serde_json::Value as Json;
use trefoil_template::{ArithmeticOperator, BuiltinFunction, ComparisonOperator, ConditionExpression, Value};

use super::constraint::{ValueConstraint, rounded_number};
use super::random::SplitMixRandom;
use super::range::NumberRange;
use super::test_tree::{ConditionTest, TestTree, constant_value};

/// A requirement on a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueRequirement {
    /// The reference's index.
    pub reference: u32,
    /// The path from its value to the constrained part.
    pub path: Vec<Arc<str>>,
    /// The constraint on that part.
    pub constraint: ValueConstraint,
}

/// Finds requirements that make conditions have a wanted result.
pub struct ConditionSolver<'a> {
    /// Whether a reference can be made to have a value.
    pub controlled: &'a dyn Fn(u32) -> bool,
    /// Chooses between alternatives.
    pub random: SplitMixRandom,
}

impl ConditionSolver<'_> {
    /// The requirements on references; `None` if the form of the condition is not supported.
    pub fn find_requirements(&mut self, expression: &ConditionExpression, want: bool) -> Option<Vec<ValueRequirement>> {
        self.requirements(&TestTree::from_expression(expression, want))
    }

    fn requirements(&mut self, claim: &TestTree<ConditionTest<'_>>) -> Option<Vec<ValueRequirement>> {
        let (TestTree::All(parts) | TestTree::Any(parts)) = claim else {
            return if let TestTree::Test(test) = claim { test.list_requirements() } else { None };
        };
        let ways: Vec<Option<Vec<ValueRequirement>>> = parts.iter().map(|part| self.requirements(part)).collect();
        if let TestTree::All(_) = claim {
            let mut all = Vec::new();
            for requirements in ways {
                all.extend(requirements?);
            }
            return Some(all);
        }
        self.choose(ways.into_iter().flatten().collect())
    }

    /// Chooses an alternative, preferably one that is controlled.
    fn choose(&mut self, mut ways: Vec<Vec<ValueRequirement>>) -> Option<Vec<ValueRequirement>> {
        let controlled = |way: &Vec<ValueRequirement>| way.iter().any(|a| (self.controlled)(a.reference));
        if ways.iter().any(controlled) {
            ways.retain(controlled);
        }
        let chosen = self.random.pick_below(ways.len());
        ways.into_iter().nth(chosen)
    }
}

impl ConditionTest<'_> {
    /// What it requires: nothing, if it compares constants. `None`: its form is not supported.
    pub fn list_requirements(&self) -> Option<Vec<ValueRequirement>> {
        let Some((comparison, right)) = self.compared else {
            let truth = ValueConstraint::Truthy(self.holds);
            return match constant_value(self.left) {
                Some(value) if truth.accepts_value(&value.to_json()) => Some(Vec::new()),
                Some(_) => None,
                None => Some(vec![ReferenceTerm::from_expression(self.left)?.wants(truth)]),
            };
        };
        // If the left operand is the constant, swap the comparison.
        let (about, value, turned) = match (constant_value(self.left), constant_value(right)) {
            (None, Some(value)) => (ReferenceTerm::from_expression(self.left)?, value, false),
            (Some(value), None) => (ReferenceTerm::from_expression(right)?, value, true),
            _ => return None,
        };
        let constraint = about.constraint(comparison, &value, turned, self.holds)?;
        Some(vec![about.wants(constraint)])
    }
}

/// A reference with a path into its value, possibly its length, and an offset.
pub(super) struct ReferenceTerm {
    pub reference: u32,
    path: Vec<Arc<str>>,
    /// Whether its length is used.
    length: bool,
    /// The number that is added to it.
    shift: f64,
}

impl ReferenceTerm {
    /// The term that an operand is; `None`: it is computed in another way.
    pub fn from_expression(expression: &ConditionExpression) -> Option<Self> {
        match expression {
            ConditionExpression::Reference(reference) => {
                Some(Self { reference: *reference, path: Vec::new(), length: false, shift: 0.0 })
            }
            ConditionExpression::Member(inner, name) => Self::from_expression(inner)?.member(name.clone()),
            ConditionExpression::Index(inner, index) => match constant_value(index)? {
                Value::Str(name) => Self::from_expression(inner)?.member(name),
                Value::Number(n) => Self::from_expression(inner)?.member(n.as_u64()?.to_string().into()),
                _ => None,
            },
            ConditionExpression::Call(BuiltinFunction::Len | BuiltinFunction::Length, arguments) => {
                let inner = Self::from_expression(arguments.first()?)?;
                if inner.shift == 0.0 { Some(Self { length: true, ..inner }) } else { None }
            }
            ConditionExpression::Call(
                BuiltinFunction::Str
                | BuiltinFunction::Int
                | BuiltinFunction::Float
                | BuiltinFunction::Number
                | BuiltinFunction::Share
                | BuiltinFunction::Lower
                | BuiltinFunction::Upper
                | BuiltinFunction::Trim
                | BuiltinFunction::TrimStart
                | BuiltinFunction::TrimEnd
                | BuiltinFunction::Default
                | BuiltinFunction::FirstLine,
                arguments,
            ) => Self::from_expression(arguments.first()?),
            ConditionExpression::Arithmetic(ArithmeticOperator::Add, a, b) => {
                match (constant_value(a), constant_value(b)) {
                    (None, Some(n)) => Some(Self::from_expression(a)?.plus(n.as_f64()?)),
                    (Some(n), None) => Some(Self::from_expression(b)?.plus(n.as_f64()?)),
                    _ => None,
                }
            }
            ConditionExpression::Arithmetic(ArithmeticOperator::Subtract, a, b) => {
                Some(Self::from_expression(a)?.plus(-constant_value(b)?.as_f64()?))
            }
            _ => None,
        }
    }
    /// Whether it is the value itself, though perhaps converted.
    pub fn is_value(&self) -> bool {
        self.path.is_empty() && !self.length && self.shift == 0.0
    }
    fn member(mut self, name: Arc<str>) -> Option<Self> {
        if self.length || self.shift != 0.0 {
            return None;
        }
        self.path.push(name);
        Some(self)
    }
    fn plus(self, by: f64) -> Self {
        Self { shift: self.shift + by, ..self }
    }
    fn wants(self, constraint: ValueConstraint) -> ValueRequirement {
        ValueRequirement { reference: self.reference, path: self.path, constraint }
    }
    /// What a comparison with a constant requires; `turned`: the constant is on the left.
    fn constraint(
        &self,
        comparison: ComparisonOperator,
        value: &Value,
        turned: bool,
        want: bool,
    ) -> Option<ValueConstraint> {
        let number = value.as_f64();
        Some(match comparison {
            ComparisonOperator::Less
            | ComparisonOperator::LessEqual
            | ComparisonOperator::Greater
            | ComparisonOperator::GreaterEqual => {
                let order = if turned { comparison.swapped_operands()? } else { comparison };
                let order = if want { order } else { order.opposite_operator() };
                let bound = number.or_else(|| value.as_str()?.trim().parse().ok())? - self.shift;
                if self.length { lengths(order, bound)? } else { ValueConstraint::Bound(order, bound) }
            }
            ComparisonOperator::Equal | ComparisonOperator::NotEqual => {
                let equal = (comparison == ComparisonOperator::Equal) == want;
                match (self.length, number) {
                    (true, Some(n)) if equal => ValueConstraint::Length(n as usize, n as usize),
                    (true, Some(n)) => ValueConstraint::Length(n as usize + 1, usize::MAX),
                    (true, None) => return None,
                    (false, Some(n)) if self.shift != 0.0 => {
                        ValueConstraint::Equal(rounded_number(n - self.shift), equal)
                    }
                    (false, _) => ValueConstraint::Equal(value.to_json(), equal),
                }
            }
            ComparisonOperator::In | ComparisonOperator::NotIn => {
                let within = (comparison == ComparisonOperator::In) == want;
                match (turned, value.to_json()) {
                    (true, part) => ValueConstraint::Contains(part, within),
                    (false, Json::Array(all)) => ValueConstraint::OneOf(all, within),
                    (false, Json::String(text)) if within => ValueConstraint::Equal(Json::String(text), true),
                    (false, Json::String(_)) => ValueConstraint::Truthy(true),
                    (false, _) => return None,
                }
            }
        })
    }
}

/// The lengths in an order to a bound.
fn lengths(order: ComparisonOperator, bound: f64) -> Option<ValueConstraint> {
    let NumberRange { low, high, .. } = NumberRange::from_comparison(order, bound)?;
    let low = match low {
        Some((n, true)) => n.ceil(),
        Some((n, false)) => n.floor() + 1.0,
        None => 0.0,
    };
    let high = match high {
        Some((n, true)) => n.floor(),
        Some((n, false)) => n.ceil() - 1.0,
        None => f64::INFINITY,
    };
    // Casts saturate at the limits.
    if high >= 0.0 { Some(ValueConstraint::Length(low.max(0.0) as usize, high as usize)) } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trefoil_template::{Condition, Policy};

    use super::*;

    /// `name: constraint` for each assignment; names are the condition's paths.
    fn solved(text: &str, policy: &Policy, want: bool) -> Option<Vec<(String, ValueConstraint)>> {
        let condition = Condition::parse(text, policy).unwrap();
        let mut solver = ConditionSolver { controlled: &|_| true, random: SplitMixRandom::new(3) };
        let all = solver.find_requirements(condition.expression_tree(), want)?;
        let name = |a: &ValueRequirement| {
            let mut name = condition.references()[a.reference as usize].dotted_path();
            a.path.iter().for_each(|p| name += &format!("/{p}"));
            name
        };
        Some(all.iter().map(|a| (name(a), a.constraint.clone())).collect())
    }

    fn one(text: &str, policy: &Policy, want: bool) -> (String, ValueConstraint) {
        let all = solved(text, policy, want).unwrap();
        assert_eq!(all.len(), 1, "{text}: {all:?}");
        all.into_iter().next().unwrap()
    }

    #[test]
    fn comparisons_become_constraints_on_their_path() {
        let agntz = |text, want| one(text, &Policy::AGNTZ, want);
        let named = |name: &str, constraint| (name.to_owned(), constraint);
        let equal = |value, yes| named("review.ok", ValueConstraint::Equal(value, yes));
        assert_eq!(agntz("{{review.ok}} == true", true), equal(json!(true), true));
        assert_eq!(agntz("{{review.ok}} == true", false), equal(json!(true), false));
        assert_eq!(agntz("{{review.ok}} != low", true), equal(json!("low"), false));
        assert_eq!(agntz("{{review.ok}}", false), named("review.ok", ValueConstraint::Truthy(false)));
        assert_eq!(
            agntz("{{s}} >= 8", true),
            named("s", ValueConstraint::Bound(ComparisonOperator::GreaterEqual, 8.0))
        );
        assert_eq!(agntz("{{s}} >= 8", false), named("s", ValueConstraint::Bound(ComparisonOperator::Less, 8.0)));
        assert_eq!(agntz("8 > {{s}}", true), named("s", ValueConstraint::Bound(ComparisonOperator::Less, 8.0)));
    }

    #[test]
    fn the_python_grammar_reaches_deeper() {
        let python = |text, want| one(text, &Policy::SIRENSPEC, want);
        let named = |name: &str, constraint| (name.to_owned(), constraint);
        assert_eq!(
            python("working.c.output in ['a', 'b']", true),
            named("working.c.output", ValueConstraint::OneOf(vec![json!("a"), json!("b")], true))
        );
        assert_eq!(
            python("'urgent' not in output.c", true),
            named("output.c", ValueConstraint::Contains(json!("urgent"), false))
        );
        assert_eq!(python("len(output.c) > 2", true), named("output.c", ValueConstraint::Length(3, usize::MAX)));
        assert_eq!(python("len(output.c) > 2", false), named("output.c", ValueConstraint::Length(0, 2)));
        assert_eq!(
            python("int(output.c) + 1 < -2", true),
            named("output.c", ValueConstraint::Bound(ComparisonOperator::Less, -3.0))
        );
        assert_eq!(python("not output.c", true), named("output.c", ValueConstraint::Truthy(false)));
        assert_eq!(python("output.c is not None", true), named("output.c", ValueConstraint::Equal(Json::Null, false)));
        let index = python("output.list[0] == 'x'", true);
        assert_eq!(index.1, ValueConstraint::Equal(json!("x"), true));
    }

    #[test]
    fn one_way_is_enough_to_fail_and_all_are_needed_to_hold() {
        let text = "{{a}} == 1 && {{b}} == 2";
        assert_eq!(solved(text, &Policy::AGNTZ, true).unwrap().len(), 2);
        assert_eq!(solved(text, &Policy::AGNTZ, false).unwrap().len(), 1);
        let text = "{{a}} == 1 || {{b}} == 2";
        assert_eq!(solved(text, &Policy::AGNTZ, true).unwrap().len(), 1);
        assert_eq!(solved(text, &Policy::AGNTZ, false).unwrap().len(), 2);
    }

    #[test]
    fn what_no_model_decides_is_left_alone_where_there_is_a_choice() {
        let condition = Condition::parse("{{a}} == 1 && {{b}} == 2", &Policy::AGNTZ).unwrap();
        for seed in 0..20 {
            let mut solver = ConditionSolver { controlled: &|r| r == 1, random: SplitMixRandom::new(seed) };
            assert_eq!(solver.find_requirements(condition.expression_tree(), false).unwrap()[0].reference, 1);
        }
    }

    #[test]
    fn the_impossible_is_said_to_be_so() {
        assert_eq!(solved("len(output.c) < 0", &Policy::SIRENSPEC, true), None);
        assert_eq!(solved("{{a}} == {{b}}", &Policy::AGNTZ, true), None);
    }
}
