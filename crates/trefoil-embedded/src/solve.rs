//! Derives values of references from a condition and its wanted result.
//!
//! This is not a complete solver: it tries one path through `and` and `or`, and supports common forms of conditions.
//! For other forms it returns nothing, and the condition's result is left to chance.

use std::sync::Arc;

use serde_json::Value as Json;
use trefoil_template::{Arithmetic, Comparison, Expression, Function};

use super::constraint::{Constraint, Side};
use super::random::Random;

/// A requirement on a reference.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assignment {
    /// The reference's index.
    pub reference: u32,
    /// The path from its value to the constrained part.
    pub path: Vec<Arc<str>>,
    /// The constraint on that part.
    pub constraint: Constraint,
}

/// Finds assignments that make conditions have a wanted result.
pub(super) struct Solver<'a> {
    /// Whether a model's answer determines this reference.
    pub controlled: &'a dyn Fn(u32) -> bool,
    /// Chooses between alternatives.
    pub random: Random,
}

impl Solver<'_> {
    /// The requirements on references; `None` if the form of the condition is not supported.
    pub fn solve(&mut self, expression: &Expression, want: bool) -> Option<Vec<Assignment>> {
        match expression {
            Expression::Not(inner) => self.solve(inner, !want),
            Expression::And(parts) => self.junction(parts, want, want),
            Expression::Or(parts) => self.junction(parts, want, !want),
            Expression::Compare(operands, comparisons) => {
                let pairs: Vec<(&Expression, Comparison, &Expression)> = operands
                    .iter()
                    .zip(operands.iter().skip(1))
                    .zip(comparisons)
                    .map(|((left, right), comparison)| (left, *comparison, right))
                    .collect();
                if want {
                    let all: Option<Vec<_>> = pairs.iter().map(|(l, c, r)| compare(l, *c, r, true)).collect();
                    return all.map(|all| all.into_iter().flatten().collect());
                }
                let ways = pairs.iter().filter_map(|(l, c, r)| compare(l, *c, r, false)).collect();
                self.choose(ways)
            }
            Expression::Call(Function::Bool, arguments) => self.solve(arguments.first()?, want),
            other => match constant(other) {
                Some(value) => (Constraint::Truthy(want).holds(&value)).then(Vec::new),
                None => {
                    let term = term(other)?;
                    Some(vec![term.wants(Constraint::Truthy(want))])
                }
            },
        }
    }

    /// Solves all parts (if `all` is set) or one of them.
    fn junction(&mut self, parts: &[Expression], want: bool, all: bool) -> Option<Vec<Assignment>> {
        let ways: Vec<Option<Vec<Assignment>>> = parts.iter().map(|p| self.solve(p, want)).collect();
        if all {
            let all: Option<Vec<_>> = ways.into_iter().collect();
            return all.map(|all| all.into_iter().flatten().collect());
        }
        self.choose(ways.into_iter().flatten().collect())
    }

    /// Chooses an alternative, preferably one that a model's answer controls.
    fn choose(&mut self, mut ways: Vec<Vec<Assignment>>) -> Option<Vec<Assignment>> {
        let controlled = |way: &Vec<Assignment>| way.iter().any(|a| (self.controlled)(a.reference));
        if ways.iter().any(controlled) {
            ways.retain(controlled);
        }
        let chosen = self.random.below(ways.len());
        ways.into_iter().nth(chosen)
    }
}

/// A reference with a path into its value, possibly its length, and an offset.
struct Term {
    reference: u32,
    path: Vec<Arc<str>>,
    /// Whether its length is used.
    length: bool,
    /// The number that is added to it.
    shift: f64,
}

impl Term {
    fn wants(self, constraint: Constraint) -> Assignment {
        Assignment { reference: self.reference, path: self.path, constraint }
    }
}

fn compare(left: &Expression, comparison: Comparison, right: &Expression, want: bool) -> Option<Vec<Assignment>> {
    let side = |comparison: Comparison| match comparison {
        Comparison::Less => Some(Side::Below),
        Comparison::LessEqual => Some(Side::AtMost),
        Comparison::Greater => Some(Side::Above),
        Comparison::GreaterEqual => Some(Side::AtLeast),
        _ => None,
    };
    // If the left operand is the constant, swap the comparison.
    let (about, value, turned) = match (constant(left), constant(right)) {
        (None, Some(value)) => (term(left)?, value, false),
        (Some(value), None) => (term(right)?, value, true),
        (Some(_), Some(_)) => return None,
        (None, None) => return None,
    };
    let constraint = match (comparison, side(comparison)) {
        (_, Some(side)) => {
            let side = if turned { side.turned() } else { side };
            let side = if want { side } else { side.not() };
            let bound = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())? - about.shift;
            if about.length { length(side, bound)? } else { Constraint::Bound(side, bound) }
        }
        (Comparison::Equal | Comparison::NotEqual, _) => {
            let equal = (comparison == Comparison::Equal) == want;
            match (about.length, value.as_f64()) {
                (true, Some(n)) if equal => Constraint::Length(n as usize, n as usize),
                (true, Some(n)) => Constraint::Length(n as usize + 1, usize::MAX),
                (true, None) => return None,
                (false, Some(n)) if about.shift != 0.0 => {
                    Constraint::Equal(super::constraint::tidy(n - about.shift), equal)
                }
                (false, _) => Constraint::Equal(value, equal),
            }
        }
        (Comparison::In | Comparison::NotIn, _) => {
            let within = (comparison == Comparison::In) == want;
            match (turned, value) {
                (true, part) => Constraint::Contains(part, within),
                (false, Json::Array(all)) => Constraint::OneOf(all, within),
                (false, Json::String(text)) if within => Constraint::Equal(Json::String(text), true),
                (false, Json::String(_)) => Constraint::Truthy(true),
                (false, _) => return None,
            }
        }
        _ => return None,
    };
    Some(vec![about.wants(constraint)])
}

/// Converts a bound on a length to a range of lengths.
fn length(side: Side, bound: f64) -> Option<Constraint> {
    let (low, high) = match side {
        Side::Above => (bound.floor() + 1.0, f64::INFINITY),
        Side::AtLeast => (bound.ceil(), f64::INFINITY),
        Side::Below => (0.0, bound.ceil() - 1.0),
        Side::AtMost => (0.0, bound.floor()),
    };
    // Casts saturate at the limits.
    (high >= 0.0).then_some(Constraint::Length(low.max(0.0) as usize, high as usize))
}

fn term(expression: &Expression) -> Option<Term> {
    match expression {
        Expression::Reference(reference) => {
            Some(Term { reference: *reference, path: Vec::new(), length: false, shift: 0.0 })
        }
        Expression::Member(inner, name) => step(term(inner)?, name.clone()),
        Expression::Index(inner, index) => match constant(index)? {
            Json::String(name) => step(term(inner)?, name.into()),
            Json::Number(n) => step(term(inner)?, n.as_u64()?.to_string().into()),
            _ => None,
        },
        Expression::Call(Function::Len | Function::Length, arguments) => {
            let inner = term(arguments.first()?)?;
            (inner.shift == 0.0).then_some(Term { length: true, ..inner })
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
            | Function::Default
            | Function::FirstLine,
            arguments,
        ) => term(arguments.first()?),
        Expression::Arithmetic(Arithmetic::Add, a, b) => match (constant(a), constant(b)) {
            (None, Some(n)) => shift(term(a)?, n.as_f64()?),
            (Some(n), None) => shift(term(b)?, n.as_f64()?),
            _ => None,
        },
        Expression::Arithmetic(Arithmetic::Subtract, a, b) => shift(term(a)?, -constant(b)?.as_f64()?),
        _ => None,
    }
}

fn step(mut term: Term, name: Arc<str>) -> Option<Term> {
    if term.length || term.shift != 0.0 {
        return None;
    }
    term.path.push(name);
    Some(term)
}

fn shift(term: Term, by: f64) -> Option<Term> {
    Some(Term { shift: term.shift + by, ..term })
}

/// The value of an expression that is obviously constant.
fn constant(expression: &Expression) -> Option<Json> {
    match expression {
        Expression::Literal(value, _) if !value.is_masked() => Some(value.to_json()),
        Expression::List(items) => items.iter().map(constant).collect::<Option<Vec<_>>>().map(Json::Array),
        Expression::Negate(inner) => Some(super::constraint::tidy(-constant(inner)?.as_f64()?)),
        _ => None,
    }
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
        let name = |a: &Assignment| {
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
        assert_eq!(agntz("{{s}} >= 8", true), named("s", Constraint::Bound(Side::AtLeast, 8.0)));
        assert_eq!(agntz("{{s}} >= 8", false), named("s", Constraint::Bound(Side::Below, 8.0)));
        assert_eq!(agntz("8 > {{s}}", true), named("s", Constraint::Bound(Side::Below, 8.0)));
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
        assert_eq!(python("int(output.c) + 1 < -2", true), named("output.c", Constraint::Bound(Side::Below, -3.0)));
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
