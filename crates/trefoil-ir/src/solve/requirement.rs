//! What must be true of the values that a condition reads, so that it has a wanted result.
//!
//! This is not complete: it tries one path through `and` and `or`, and supports common forms of conditions. For other
//! forms it returns nothing, and the condition's result is left to chance.

use std::sync::Arc;

use serde_json::Value as Json;
use trefoil_template::{Arithmetic, Comparison, Expression, Function, Value};

use super::constraint::{Constraint, tidy};
use super::random::Random;
use super::range::NumberRange;
use super::test_tree::{ConditionTest, TestTree, constant};

/// A requirement on a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// The reference's index.
    pub reference: u32,
    /// The path from its value to the constrained part.
    pub path: Vec<Arc<str>>,
    /// The constraint on that part.
    pub constraint: Constraint,
}

/// Finds requirements that make conditions have a wanted result.
pub struct Solver<'a> {
    /// Whether a reference can be made to have a value.
    pub controlled: &'a dyn Fn(u32) -> bool,
    /// Chooses between alternatives.
    pub random: Random,
}

impl Solver<'_> {
    /// The requirements on references; `None` if the form of the condition is not supported.
    pub fn solve(&mut self, expression: &Expression, want: bool) -> Option<Vec<Requirement>> {
        self.requirements(&TestTree::of(expression, want))
    }

    fn requirements(&mut self, claim: &TestTree<ConditionTest<'_>>) -> Option<Vec<Requirement>> {
        let (TestTree::All(parts) | TestTree::Any(parts)) = claim else {
            return if let TestTree::Test(test) = claim { test.requirements() } else { None };
        };
        let ways: Vec<Option<Vec<Requirement>>> = parts.iter().map(|part| self.requirements(part)).collect();
        if let TestTree::All(_) = claim {
            let all: Option<Vec<_>> = ways.into_iter().collect();
            return all.map(|all| all.into_iter().flatten().collect());
        }
        self.choose(ways.into_iter().flatten().collect())
    }

    /// Chooses an alternative, preferably one that is controlled.
    fn choose(&mut self, mut ways: Vec<Vec<Requirement>>) -> Option<Vec<Requirement>> {
        let controlled = |way: &Vec<Requirement>| way.iter().any(|a| (self.controlled)(a.reference));
        if ways.iter().any(controlled) {
            ways.retain(controlled);
        }
        let chosen = self.random.below(ways.len());
        ways.into_iter().nth(chosen)
    }
}

impl ConditionTest<'_> {
    /// What it requires: nothing, if it compares constants. `None`: its form is not supported.
    pub fn requirements(&self) -> Option<Vec<Requirement>> {
        let Some((comparison, right)) = self.compared else {
            let truth = Constraint::Truthy(self.holds);
            return match constant(self.left) {
                Some(value) => truth.holds(&value.to_json()).then(Vec::new),
                None => Some(vec![Term::of(self.left)?.wants(truth)]),
            };
        };
        // If the left operand is the constant, swap the comparison.
        let (about, value, turned) = match (constant(self.left), constant(right)) {
            (None, Some(value)) => (Term::of(self.left)?, value, false),
            (Some(value), None) => (Term::of(right)?, value, true),
            _ => return None,
        };
        let constraint = about.constraint(comparison, &value, turned, self.holds)?;
        Some(vec![about.wants(constraint)])
    }
}

/// A reference with a path into its value, possibly its length, and an offset.
pub(super) struct Term {
    pub reference: u32,
    path: Vec<Arc<str>>,
    /// Whether its length is used.
    length: bool,
    /// The number that is added to it.
    shift: f64,
}

impl Term {
    /// The term that an operand is; `None`: it is computed in another way.
    pub fn of(expression: &Expression) -> Option<Self> {
        match expression {
            Expression::Reference(reference) => {
                Some(Self { reference: *reference, path: Vec::new(), length: false, shift: 0.0 })
            }
            Expression::Member(inner, name) => Self::of(inner)?.member(name.clone()),
            Expression::Index(inner, index) => match constant(index)? {
                Value::Str(name) => Self::of(inner)?.member(name),
                Value::Number(n) => Self::of(inner)?.member(n.as_u64()?.to_string().into()),
                _ => None,
            },
            Expression::Call(Function::Len | Function::Length, arguments) => {
                let inner = Self::of(arguments.first()?)?;
                (inner.shift == 0.0).then_some(Self { length: true, ..inner })
            }
            Expression::Call(
                Function::Str
                | Function::Int
                | Function::Float
                | Function::Number
                | Function::Share
                | Function::Lower
                | Function::Upper
                | Function::Trim
                | Function::TrimStart
                | Function::TrimEnd
                | Function::Default
                | Function::FirstLine,
                arguments,
            ) => Self::of(arguments.first()?),
            Expression::Arithmetic(Arithmetic::Add, a, b) => match (constant(a), constant(b)) {
                (None, Some(n)) => Some(Self::of(a)?.plus(n.as_f64()?)),
                (Some(n), None) => Some(Self::of(b)?.plus(n.as_f64()?)),
                _ => None,
            },
            Expression::Arithmetic(Arithmetic::Subtract, a, b) => Some(Self::of(a)?.plus(-constant(b)?.as_f64()?)),
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
    fn wants(self, constraint: Constraint) -> Requirement {
        Requirement { reference: self.reference, path: self.path, constraint }
    }
    /// What a comparison with a constant requires; `turned`: the constant is on the left.
    fn constraint(&self, comparison: Comparison, value: &Value, turned: bool, want: bool) -> Option<Constraint> {
        let number = value.as_f64();
        Some(match comparison {
            Comparison::Less | Comparison::LessEqual | Comparison::Greater | Comparison::GreaterEqual => {
                let order = if turned { comparison.turned()? } else { comparison };
                let order = if want { order } else { order.opposite() };
                let bound = number.or_else(|| value.as_str()?.trim().parse().ok())? - self.shift;
                if self.length { lengths(order, bound)? } else { Constraint::Bound(order, bound) }
            }
            Comparison::Equal | Comparison::NotEqual => {
                let equal = (comparison == Comparison::Equal) == want;
                match (self.length, number) {
                    (true, Some(n)) if equal => Constraint::Length(n as usize, n as usize),
                    (true, Some(n)) => Constraint::Length(n as usize + 1, usize::MAX),
                    (true, None) => return None,
                    (false, Some(n)) if self.shift != 0.0 => Constraint::Equal(tidy(n - self.shift), equal),
                    (false, _) => Constraint::Equal(value.to_json(), equal),
                }
            }
            Comparison::In | Comparison::NotIn => {
                let within = (comparison == Comparison::In) == want;
                match (turned, value.to_json()) {
                    (true, part) => Constraint::Contains(part, within),
                    (false, Json::Array(all)) => Constraint::OneOf(all, within),
                    (false, Json::String(text)) if within => Constraint::Equal(Json::String(text), true),
                    (false, Json::String(_)) => Constraint::Truthy(true),
                    (false, _) => return None,
                }
            }
        })
    }
}

/// The lengths in an order to a bound.
fn lengths(order: Comparison, bound: f64) -> Option<Constraint> {
    let NumberRange { low, high, .. } = NumberRange::compared(order, bound)?;
    let low = low.map_or(0.0, |(n, is_in)| if is_in { n.ceil() } else { n.floor() + 1.0 });
    let high = high.map_or(f64::INFINITY, |(n, is_in)| if is_in { n.floor() } else { n.ceil() - 1.0 });
    // Casts saturate at the limits.
    (high >= 0.0).then_some(Constraint::Length(low.max(0.0) as usize, high as usize))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trefoil_template::{Condition, Policy};

    use super::*;

    /// `name: constraint` for each assignment; names are the condition's paths.
    fn solved(text: &str, policy: &Policy, want: bool) -> Option<Vec<(String, Constraint)>> {
        let condition = Condition::parse(text, policy).unwrap();
        let mut solver = Solver { controlled: &|_| true, random: Random::new(3) };
        let all = solver.solve(condition.expression(), want)?;
        let name = |a: &Requirement| {
            let mut name = condition.references()[a.reference as usize].dotted();
            a.path.iter().for_each(|p| name += &format!("/{p}"));
            name
        };
        Some(all.iter().map(|a| (name(a), a.constraint.clone())).collect())
    }

    fn one(text: &str, policy: &Policy, want: bool) -> (String, Constraint) {
        let all = solved(text, policy, want).unwrap();
        assert_eq!(all.len(), 1, "{text}: {all:?}");
        all.into_iter().next().unwrap()
    }

    #[test]
    fn comparisons_become_constraints_on_their_path() {
        let agntz = |text, want| one(text, &Policy::AGNTZ, want);
        let named = |name: &str, constraint| (name.to_owned(), constraint);
        let equal = |value, yes| named("review.ok", Constraint::Equal(value, yes));
        assert_eq!(agntz("{{review.ok}} == true", true), equal(json!(true), true));
        assert_eq!(agntz("{{review.ok}} == true", false), equal(json!(true), false));
        assert_eq!(agntz("{{review.ok}} != low", true), equal(json!("low"), false));
        assert_eq!(agntz("{{review.ok}}", false), named("review.ok", Constraint::Truthy(false)));
        assert_eq!(agntz("{{s}} >= 8", true), named("s", Constraint::Bound(Comparison::GreaterEqual, 8.0)));
        assert_eq!(agntz("{{s}} >= 8", false), named("s", Constraint::Bound(Comparison::Less, 8.0)));
        assert_eq!(agntz("8 > {{s}}", true), named("s", Constraint::Bound(Comparison::Less, 8.0)));
    }

    #[test]
    fn the_python_grammar_reaches_deeper() {
        let python = |text, want| one(text, &Policy::SIRENSPEC, want);
        let named = |name: &str, constraint| (name.to_owned(), constraint);
        assert_eq!(
            python("working.c.output in ['a', 'b']", true),
            named("working.c.output", Constraint::OneOf(vec![json!("a"), json!("b")], true))
        );
        assert_eq!(
            python("'urgent' not in output.c", true),
            named("output.c", Constraint::Contains(json!("urgent"), false))
        );
        assert_eq!(python("len(output.c) > 2", true), named("output.c", Constraint::Length(3, usize::MAX)));
        assert_eq!(python("len(output.c) > 2", false), named("output.c", Constraint::Length(0, 2)));
        assert_eq!(
            python("int(output.c) + 1 < -2", true),
            named("output.c", Constraint::Bound(Comparison::Less, -3.0))
        );
        assert_eq!(python("not output.c", true), named("output.c", Constraint::Truthy(false)));
        assert_eq!(python("output.c is not None", true), named("output.c", Constraint::Equal(Json::Null, false)));
        let index = python("output.list[0] == 'x'", true);
        assert_eq!(index.1, Constraint::Equal(json!("x"), true));
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
            let mut solver = Solver { controlled: &|r| r == 1, random: Random::new(seed) };
            assert_eq!(solver.solve(condition.expression(), false).unwrap()[0].reference, 1);
        }
    }

    #[test]
    fn the_impossible_is_said_to_be_so() {
        assert_eq!(solved("len(output.c) < 0", &Policy::SIRENSPEC, true), None);
        assert_eq!(solved("{{a}} == {{b}}", &Policy::AGNTZ, true), None);
    }
}
