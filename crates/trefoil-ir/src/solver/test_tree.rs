//! The logical structure of a condition: which tests it consists of, what each says, and which of them exclude each
//! other. Says so only if it is certain, because worst cases depend on it. Does not consider whether values change
//! between two evaluations.

use std::collections::BTreeMap;

use trefoil_template::{BuiltinFunction, ComparisonOperator, Condition, ConditionExpression, Value, ValueNumber};

use super::range::NumberRange;
use crate::expr::{BoundCondition, Source};

/// A condition as tests that are joined. Only tests are negated.
#[derive(Debug, Clone)]
pub enum TestTree<T> {
    /// All of these hold.
    All(Vec<Self>),
    /// At least one of these holds.
    Any(Vec<Self>),
    /// A test.
    Test(T),
}

/// A test of a condition: whether a value is true, or a comparison of two.
#[derive(Debug, Clone, Copy)]
pub struct ConditionTest<'e> {
    /// The value.
    pub left: &'e ConditionExpression,
    /// How it is compared, and with what; `None`: whether it is true.
    pub compared: Option<(ComparisonOperator, &'e ConditionExpression)>,
    /// The result for which the condition asks.
    pub holds: bool,
}

/// A test in which every value has a name.
#[derive(Debug)]
pub struct NamedTest {
    /// The same text for a test and its opposite, and whether it holds. `None`: some value has no name.
    about: Option<(String, bool)>,
    /// Whether it denies an order: both `<` and `>=` are denied if the values have none.
    denied: bool,
    /// A comparison that holds, of a value with a literal.
    literal: Option<(String, ComparisonOperator, Value)>,
}

/// The name of the value that a reference reads: equal for equal values. `None`: it has none.
pub type ReferenceNames<'n> = dyn Fn(u32) -> Option<String> + 'n;

impl<'e> TestTree<ConditionTest<'e>> {
    /// What it means for a condition to hold, or not to hold.
    pub fn from_expression(expression: &'e ConditionExpression, holds: bool) -> Self {
        let join = |parts: Vec<Self>, all: bool| if all == holds { Self::All(parts) } else { Self::Any(parts) };
        let each =
            |parts: &'e [ConditionExpression]| parts.iter().map(|part| Self::from_expression(part, holds)).collect();
        match expression {
            ConditionExpression::Not(inner) => Self::from_expression(inner, !holds),
            ConditionExpression::And(parts) => join(each(parts), true),
            ConditionExpression::Or(parts) => join(each(parts), false),
            ConditionExpression::Compare(operands, comparisons) => {
                let mut tests = Vec::new();
                for (pair, comparison) in operands.windows(2).zip(comparisons) {
                    if let [left, right] = pair {
                        let compared = Some((*comparison, right));
                        tests.push(Self::Test(ConditionTest { left, compared, holds }));
                    }
                }
                if tests.len() == 1 { tests.remove(0) } else { join(tests, true) }
            }
            left => match truth_of(left) {
                Some(inner) => Self::from_expression(inner, holds),
                None => Self::Test(ConditionTest { left, compared: None, holds }),
            },
        }
    }
    /// All tests, in order.
    pub fn all_tests(&self) -> Vec<ConditionTest<'e>> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::all_tests).collect(),
            Self::Test(test) => vec![*test],
        }
    }
    /// The tests that must all have their results, in order.
    pub fn needed_tests(&self) -> Vec<ConditionTest<'e>> {
        match self {
            Self::All(parts) => parts.iter().flat_map(Self::needed_tests).collect(),
            Self::Any(_) => Vec::new(),
            Self::Test(test) => vec![*test],
        }
    }
    /// What the whole says, if it is one test.
    pub fn normalized_claim(&self, names: &ReferenceNames<'_>) -> Option<(String, bool)> {
        if let Self::Test(test) = self { test.normalized_claim(names) } else { None }
    }
    /// The same with names.
    fn with_names(&self, names: &ReferenceNames<'_>) -> TestTree<NamedTest> {
        match self {
            Self::All(parts) => TestTree::All(parts.iter().map(|part| part.with_names(names)).collect()),
            Self::Any(parts) => TestTree::Any(parts.iter().map(|part| part.with_names(names)).collect()),
            Self::Test(test) => test.with_names(names),
        }
    }
}

impl<T> TestTree<T> {
    /// Whether it never holds if some tests never do.
    pub fn fails_if(&self, fails: &dyn Fn(&T) -> bool) -> bool {
        match self {
            Self::All(parts) => parts.iter().any(|part| part.fails_if(fails)),
            Self::Any(parts) => parts.iter().all(|part| part.fails_if(fails)),
            Self::Test(test) => fails(test),
        }
    }
}

impl TestTree<NamedTest> {
    /// The claim of a condition about the values of a flow.
    pub fn from_condition(cond: &BoundCondition) -> Self {
        let name = |at: u32| {
            let reference = cond.condition.references().get(at as usize)?;
            let source: &Source = cond.sources.get(reference.binding.source as usize)?;
            let rest: Vec<&str> =
                reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
            Some(format!("{source:?} {rest:?} {:?}", reference.default))
        };
        TestTree::from_expression(cond.condition.expression_tree(), true).with_names(&name)
    }
    /// Whether this one and the other never hold for the same values.
    pub fn is_exclusive_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any(all), _) => all.iter().all(|c| c.is_exclusive_with(other)),
            (_, Self::Any(all)) => all.iter().all(|c| self.is_exclusive_with(c)),
            (Self::All(all), _) => all.iter().any(|c| c.is_exclusive_with(other)),
            (_, Self::All(all)) => all.iter().any(|c| self.is_exclusive_with(c)),
            (Self::Test(one), Self::Test(other)) => one.excludes(other),
        }
    }
}

impl ConditionTest<'_> {
    /// What it says, in the same words as its opposite, and whether it holds.
    pub fn normalized_claim(&self, names: &ReferenceNames<'_>) -> Option<(String, bool)> {
        let a = operand_text(self.left, names)?;
        let Some((comparison, right)) = self.compared else { return Some((a, self.holds)) };
        let b = operand_text(right, names)?;
        let (about, asserts) = match comparison {
            ComparisonOperator::Less => (format!("{a} < {b}"), true),
            ComparisonOperator::GreaterEqual => (format!("{a} < {b}"), false),
            ComparisonOperator::Greater => (format!("{b} < {a}"), true),
            ComparisonOperator::LessEqual => (format!("{b} < {a}"), false),
            ComparisonOperator::Equal | ComparisonOperator::NotEqual => {
                let (first, second) = if a <= b { (a, b) } else { (b, a) };
                (format!("{first} == {second}"), comparison == ComparisonOperator::Equal)
            }
            ComparisonOperator::In | ComparisonOperator::NotIn => {
                (format!("{a} in {b}"), comparison == ComparisonOperator::In)
            }
        };
        Some((about, asserts == self.holds))
    }
    fn with_names(&self, names: &ReferenceNames<'_>) -> TestTree<NamedTest> {
        if let Some((
            comparison @ (ComparisonOperator::In | ComparisonOperator::NotIn),
            ConditionExpression::List(items),
        )) = self.compared
        {
            let holds = self.holds == (comparison == ComparisonOperator::In);
            let mut each = Vec::new();
            for item in items {
                let equals = Self { left: self.left, compared: Some((ComparisonOperator::Equal, item)), holds };
                each.push(equals.with_names(names));
            }
            return if holds { TestTree::Any(each) } else { TestTree::All(each) };
        }
        let ordering = matches!(self.compared, Some((comparison, _)) if comparison.is_ordering());
        TestTree::Test(NamedTest {
            about: self.normalized_claim(names),
            denied: ordering && !self.holds,
            literal: self.literal(names),
        })
    }
    /// The value, the comparison and the literal, if it holds for a literal.
    fn literal(&self, names: &ReferenceNames<'_>) -> Option<(String, ComparisonOperator, Value)> {
        let (comparison, right) = self.compared?;
        let comparison = match comparison {
            // `<` and `>=` are both false for values without an order; `!=` is exactly the opposite of `==`.
            ComparisonOperator::NotEqual if !self.holds => ComparisonOperator::Equal,
            other if self.holds => other,
            _ => return None,
        };
        let (value, comparison, literal) = match (constant_value(self.left), constant_value(right)) {
            (Some(literal), None) => (right, comparison.swapped_operands()?, literal),
            (_, literal) => (self.left, comparison, literal?),
        };
        Some((operand_text(value, names)?, comparison, literal))
    }
}

impl NamedTest {
    fn excludes(&self, other: &Self) -> bool {
        if let (Some((one, holds)), Some((two, too))) = (&self.about, &other.about)
            && one == two
            && holds != too
            && !(self.denied && other.denied)
        {
            return true;
        }
        let (Some((one, how, a)), Some((two, or, b))) = (&self.literal, &other.literal) else { return false };
        if one != two {
            return false;
        }
        if (*how, *or) == (ComparisonOperator::Equal, ComparisonOperator::Equal) {
            return differ(a, b);
        }
        match (exact_range(*how, a), exact_range(*or, b)) {
            (Some(a), Some(b)) => a.is_apart(&b),
            _ => false,
        }
    }
}

/// The numbers for which a comparison holds, if they are known exactly.
fn exact_range(how: ComparisonOperator, with: &Value) -> Option<NumberRange> {
    let n = with.as_f64()?;
    // Beyond it, a float is not exact.
    if n.is_finite() && n.abs() < 1e15 { NumberRange::from_comparison(how, n) } else { None }
}

/// Whether some of these conditions are each other's opposite for all numbers: `a < b` and `a >= b`. People who write
/// both compare numbers.
pub(super) fn have_opposites<'c>(conditions: impl Iterator<Item = &'c Condition>) -> bool {
    let mut seen: BTreeMap<String, bool> = BTreeMap::new();
    for condition in conditions {
        let name = |r: u32| condition.references().get(r as usize).map(|r| format!("value {}", r.binding.source));
        let claim = TestTree::from_expression(condition.expression_tree(), true).normalized_claim(&name);
        if let Some((about, holds)) = claim
            && *seen.entry(about).or_insert(holds) != holds
        {
            return true;
        }
    }
    false
}

/// What is only asked whether it is true.
fn truth_of(expression: &ConditionExpression) -> Option<&ConditionExpression> {
    match expression {
        ConditionExpression::Call(BuiltinFunction::Bool, arguments) if arguments.len() == 1 => arguments.first(),
        _ => None,
    }
}

/// An operand as text, in which every value has one name.
fn operand_text(operand: &ConditionExpression, names: &ReferenceNames<'_>) -> Option<String> {
    let each = |parts: &[ConditionExpression]| -> Option<Vec<String>> {
        parts.iter().map(|part| operand_text(part, names)).collect()
    };
    match operand {
        ConditionExpression::Reference(r) => names(*r),
        // A score, which other conditions compare as it is.
        ConditionExpression::Call(BuiltinFunction::Share, of) => operand_text(of.first()?, names),
        ConditionExpression::Call(function, arguments) => {
            Some(format!("{function:?}({})", each(arguments)?.join(", ")))
        }
        ConditionExpression::List(items) => Some(format!("[{}]", each(items)?.join(", "))),
        other => Some(format!("literal {}", constant_value(other)?.to_json())),
    }
}

/// The value of an expression that is obviously constant.
pub fn constant_value(expression: &ConditionExpression) -> Option<Value> {
    match expression {
        ConditionExpression::Literal(value, _) if !value.is_masked() => Some(value.clone()),
        ConditionExpression::List(items) => {
            let values: Vec<Value> = items.iter().map(constant_value).collect::<Option<_>>()?;
            Some(Value::from(values))
        }
        ConditionExpression::Negate(inner) => match constant_value(inner)? {
            Value::Number(ValueNumber::Int(n)) => Some(Value::from(n.checked_neg()?)),
            number => Some(Value::from(-number.as_f64()?)),
        },
        _ => None,
    }
}

/// Whether no value equals both. In Python, `true` equals 1.
fn differ(a: &Value, b: &Value) -> bool {
    let number = |v: &Value| match v.as_f64() {
        Some(n) => Some(n),
        None => Some(f64::from(v.as_bool()?)),
    };
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a != b,
        (None, None) => match (a.as_str(), b.as_str()) {
            (Some(a), Some(b)) => a != b,
            (Some(_), None) => b.is_null(),
            (None, Some(_)) => a.is_null(),
            (None, None) => false,
        },
        (Some(_), None) => b.as_str().is_some() || b.is_null(),
        (None, Some(_)) => a.as_str().is_some() || a.is_null(),
    }
}

#[cfg(test)]
mod tests {
    use trefoil_template::{Policy, Reference, ReferenceBinding, SourceValue, ValueScope};

    use super::*;

    struct Values([Value; 2]);

    impl ValueScope for Values {
        fn source_value(&self, source: u32) -> SourceValue<'_> {
            SourceValue::Borrowed(&self.0[source as usize])
        }
    }

    /// A condition about `working.a` and `working.b`.
    fn parsed(text: &str) -> Condition {
        let mut condition = Condition::parse(text, &Policy::SIRENSPEC).unwrap();
        condition.bind_references(|reference| ReferenceBinding {
            source: u32::from(reference.dotted_path() == "working.b"),
            skip: 2,
        });
        condition
    }

    fn tree(condition: &Condition) -> TestTree<NamedTest> {
        let name = |r: u32| condition.references().get(r as usize).map(Reference::dotted_path);
        TestTree::from_expression(condition.expression_tree(), true).with_names(&name)
    }

    #[test]
    fn conditions_that_exclude_each_other_never_hold_together() {
        let texts = [
            "working.a < 5",
            "working.a >= 5",
            "not working.a < 5",
            "not working.a >= 5",
            "working.a == working.b",
            "not working.b == working.a",
            "working.a < working.b",
            "working.b <= working.a",
            "working.a in [1, 'x', working.b]",
            "working.a not in [1]",
            "working.a == 1",
            "working.a == True",
            "1 != working.a",
            "working.a > -2",
            "working.a <= -3",
            "bool(working.a)",
            "not working.a",
            "not (working.a and working.b)",
            "0 < working.a < 5",
            "'x' in working.a",
            "working.a == 'x' and working.b > 1",
            "working.a == 'y' or working.b <= 1",
        ];
        let numbers = [-5.0, -2.0, 0.0, 1.0, 5.0, 7.5].map(Value::from);
        let others = [Value::Null, Value::from(true), Value::from(false), Value::from("x"), Value::from("")];
        let values: Vec<Value> = numbers.into_iter().chain(others).collect();
        let conditions = texts.map(parsed);
        let mut found = 0;
        for (one, other) in conditions.iter().flat_map(|one| conditions.iter().map(move |other| (one, other))) {
            if !tree(one).is_exclusive_with(&tree(other)) {
                continue;
            }
            found += 1;
            for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
                let scope = Values([a.clone(), b.clone()]);
                let both = [one, other].map(|condition| condition.evaluate_in(&scope).unwrap_or(false));
                assert_ne!(both, [true, true], "{one:?} {other:?} {a:?} {b:?}");
            }
        }
        assert!(found > 30, "{found}");
    }

    #[test]
    fn opposites_are_recognised_in_other_words() {
        for (one, other) in [
            ("working.a == working.b", "working.b != working.a"),
            ("working.a < working.b", "working.b <= working.a"),
            ("working.a > -2", "working.a < -3"),
            ("bool(working.a)", "not working.a"),
            ("working.a in ['x', 'y']", "working.a == 'z'"),
        ] {
            assert!(tree(&parsed(one)).is_exclusive_with(&tree(&parsed(other))), "{one}, {other}");
        }
        // Both are true for values without an order.
        assert!(!tree(&parsed("not working.a < 5")).is_exclusive_with(&tree(&parsed("not working.a >= 5"))));
    }
}
