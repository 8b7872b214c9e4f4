//! Determines the possible results of a group of conditions by evaluating them, with the real evaluator, for every kind
//! of value that they distinguish.
//!
//! `score > 0.8` and `score < 0.5` distinguish five kinds of numbers: below, at, between, at and above. Trying one of
//! each is enough. What cannot be tried (arithmetic, functions of unknown values, comparisons of two values) is *open*:
//! it may hold or not.

use std::sync::Arc;

use trefoil_template::{
    ComparisonOperator, Condition, ConditionExpression, Reference, ReferenceBinding, SourceValue, Value, ValueScope,
};

use super::range::NumberRange;
use super::requirement::ReferenceTerm;
use super::test_tree::{TestTree, constant_value, have_opposites};
use crate::expr::{BoundCondition, Source};
use crate::ids::SlotId;

/// The maximum number of cases that are tried.
const CASES: usize = 4096;
/// The maximum number of values that are tried: with more, there are too many cases, because each value has at least two.
const VALUES: usize = 12;
/// The maximum number of parts of conditions that are evaluated in all cases together. Otherwise a long condition, which
/// distinguishes as many cases as it has parts, would take quadratic time.
const WORK: usize = 1 << 20;

/// Conditions that are decided together, and the values that they distinguish.
pub struct ConditionCases {
    conditions: Vec<TriedCondition>,
    values: Vec<CaseValue>,
    count: usize,
}

struct TriedCondition {
    condition: Condition,
    open: bool,
}

/// A member of a slot with a constant value.
pub type ConstantLookup<'k> = dyn Fn(SlotId, &[Arc<str>]) -> Option<Value> + 'k;

/// A value that conditions read.
pub struct CaseValue {
    key: ReadKey,
    /// The name in the first condition.
    pub name: String,
    choices: Vec<Value>,
    /// How many of the choices, from the start, are to be expected in a run.
    likely: usize,
    /// The numbers with which conditions compare it.
    written: Vec<f64>,
    ordered: bool,
    /// Whether conditions test if it exists or is true.
    asked: bool,
    /// Whether it occurs in something that cannot be decided by trying.
    open: bool,
    /// Whether it is certainly a number.
    number: Option<NumberRange>,
    /// Whether it has the only choice.
    known: bool,
}

#[derive(PartialEq)]
struct ReadKey {
    source: Source,
    path: Vec<Arc<str>>,
}

/// One value for each read.
pub struct ConditionCase<'c> {
    cases: &'c ConditionCases,
    chosen: Vec<usize>,
}

/// Whether something can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionTruth {
    /// In every case.
    Always,
    /// In some cases, as far as is known.
    Sometimes,
    /// In no case.
    Never,
}

/// The references of a condition that are numbers, by index.
pub type NumberLookup<'n> = dyn Fn(usize) -> Option<NumberRange> + 'n;

/// Whether a condition can hold.
pub fn condition_truth(cond: &BoundCondition) -> ConditionTruth {
    truth_of(cond, &|_| None)
}

/// The same if some values are certainly numbers.
pub fn truth_of(cond: &BoundCondition, numbers: &NumberLookup<'_>) -> ConditionTruth {
    let Some(cases) = ConditionCases::with_numbers([cond], &|_, _| None, numbers) else {
        return ConditionTruth::Sometimes;
    };
    if cases.is_open(0) {
        return in_part(cond, numbers);
    }
    let mut all = true;
    let mut any = false;
    cases.visit_cases(true, &mut |case| {
        let holds = case.condition_holds(0);
        all &= holds;
        any |= holds;
        !any || all
    });
    match (any, all) {
        (false, _) => ConditionTruth::Never,
        (true, true) => ConditionTruth::Always,
        (true, false) => ConditionTruth::Sometimes,
    }
}

/// For parts joined with `and` of which some cannot be tried: if the others never hold together, the whole never holds.
fn in_part(cond: &BoundCondition, numbers: &NumberLookup<'_>) -> ConditionTruth {
    let ConditionExpression::And(parts) = cond.condition.expression_tree() else { return ConditionTruth::Sometimes };
    // Each part is tried with all references of the whole.
    if parts.len().saturating_mul(cond.condition.references().len()) > WORK / 16 {
        return ConditionTruth::Sometimes;
    }
    let alone = |expression: ConditionExpression| BoundCondition {
        condition: cond.condition.with_expression(expression),
        ..cond.clone()
    };
    let mut rest = Vec::new();
    for part in parts {
        if let Some(cases) = ConditionCases::new([&alone(part.clone())], &|_, _| None)
            && !cases.is_open(0)
        {
            rest.push(part.clone());
        }
    }
    if rest.is_empty() || rest.len() == parts.len() {
        return ConditionTruth::Sometimes;
    }
    match truth_of(&alone(ConditionExpression::And(rest)), numbers) {
        ConditionTruth::Never => ConditionTruth::Never,
        _ => ConditionTruth::Sometimes,
    }
}

impl ConditionCases {
    /// The cases of these conditions; `None` if there are too many. `known`: a member of a slot with a constant value.
    pub fn new<'p>(conds: impl IntoIterator<Item = &'p BoundCondition>, known: &ConstantLookup<'_>) -> Option<Self> {
        Self::with_numbers(conds, known, &|_| None)
    }
    fn with_numbers<'p>(
        conds: impl IntoIterator<Item = &'p BoundCondition>,
        known: &ConstantLookup<'_>,
        numbers: &NumberLookup<'_>,
    ) -> Option<Self> {
        let mut all = Self { conditions: Vec::new(), values: Vec::new(), count: 1 };
        let mut parts = 0usize;
        for cond in conds {
            parts = parts.saturating_add(parts_of(cond.condition.expression_tree(), WORK));
            if parts > WORK {
                return None;
            }
            all.add(cond, numbers);
            if all.values.len() > VALUES {
                return None;
            }
        }
        for read in &mut all.values {
            match read.key.constant_value(known) {
                Some(value) => {
                    read.choices = vec![value];
                    (read.likely, read.known) = (1, true);
                }
                None => read.complete(),
            }
            all.count = all.count.saturating_mul(read.choices.len() + 1);
        }
        if all.count <= CASES && all.count.saturating_mul(parts) <= WORK { Some(all) } else { None }
    }
    /// Whether a condition contains something that cannot be tried.
    pub fn is_open(&self, condition: usize) -> bool {
        match self.conditions.get(condition) {
            Some(tried) => tried.open,
            None => true,
        }
    }
    /// The result of a condition, if all values are known and it has one.
    pub fn known_outcome(&self, condition: usize) -> Option<bool> {
        if !self.values.iter().all(|read| read.known) {
            return None;
        }
        let case = ConditionCase { cases: self, chosen: vec![0; self.values.len()] };
        self.conditions.get(condition)?.condition.evaluate_in(&case).ok()
    }
    /// Whether two of these conditions are each other's opposite for all numbers: `a < b` and `a >= b`. People who write
    /// both compare numbers.
    pub fn have_opposites(&self, conditions: &[usize]) -> bool {
        have_opposites(conditions.iter().filter_map(|at| Some(&self.conditions.get(*at)?.condition)))
    }
    /// The values that a condition reads.
    pub fn read_by(&self, condition: usize) -> impl Iterator<Item = usize> {
        let references = match self.conditions.get(condition) {
            Some(tried) => tried.condition.references(),
            None => &[],
        };
        references.iter().map(|r| r.binding.source as usize)
    }
    /// All values that are read.
    pub fn values(&self) -> &[CaseValue] {
        &self.values
    }
    /// Iterates over the cases until `visit` returns stop. `every`: includes cases in which a value is missing, or is
    /// unexpected for its name (a score above 1).
    pub fn visit_cases(&self, every: bool, visit: &mut dyn FnMut(&ConditionCase<'_>) -> bool) {
        let mut case = ConditionCase { cases: self, chosen: vec![0; self.values.len()] };
        loop {
            if !visit(&case) {
                return;
            }
            let mut at = 0;
            loop {
                let (Some(chosen), Some(read)) = (case.chosen.get_mut(at), self.values.get(at)) else { return };
                *chosen += 1;
                // A number is not missing.
                let all = read.choices.len() + usize::from(read.number.is_none());
                if *chosen < if every { all } else { read.likely } {
                    break;
                }
                *chosen = 0;
                at += 1;
            }
        }
    }
    fn add(&mut self, cond: &BoundCondition, numbers: &NumberLookup<'_>) {
        let mut condition = cond.condition.clone();
        let mut read = Vec::new();
        let mut constant = Vec::new();
        condition.bind_references(|reference| {
            if self.values.len() > VALUES {
                return ReferenceBinding { source: 0, skip: 0 };
            }
            let source = cond.sources.get(reference.binding.source as usize);
            constant.push(matches!(source, Some(Source::Const(_) | Source::Missing(..))));
            let at = self.value(reference, source);
            if let Some(number) = numbers(read.len())
                && let Some(value) = self.values.get_mut(at)
            {
                value.number = Some(number);
            }
            read.push(at);
            ReferenceBinding { source: at as u32, skip: reference.path.len() as u16 }
        });
        if self.values.len() > VALUES {
            return;
        }
        // A value that is known at load time, even to be missing, must not be tried with other values.
        let open = constant.contains(&true);
        let mut reading = CaseReading { cases: self, read: &read, open };
        reading.read(condition.expression_tree());
        let open = reading.open;
        self.conditions.push(TriedCondition { condition, open });
    }
    fn value(&mut self, reference: &Reference, source: Option<&Source>) -> usize {
        let rest = reference.path.iter().skip(reference.binding.skip as usize).map(|s| s.name.clone());
        let key = match source {
            Some(Source::Slot(slot)) => ReadKey::for_slot(*slot, rest.collect()),
            Some(Source::Member(slot, path)) => ReadKey::for_slot(*slot, path.iter().cloned().chain(rest).collect()),
            Some(other) => ReadKey { source: other.clone(), path: rest.collect() },
            None => ReadKey { source: Source::RunId, path: rest.collect() },
        };
        if let Some(at) = self.values.iter().position(|value| value.key == key) {
            return at;
        }
        self.values.push(CaseValue {
            key,
            name: reference.dotted_path(),
            choices: Vec::new(),
            likely: 0,
            written: Vec::new(),
            ordered: false,
            asked: false,
            open: false,
            number: None,
            known: false,
        });
        self.values.len() - 1
    }
}

impl ReadKey {
    fn for_slot(slot: SlotId, path: Vec<Arc<str>>) -> Self {
        Self { source: Source::Slot(slot), path }
    }
    /// The value, if it is known.
    fn constant_value(&self, known: &ConstantLookup<'_>) -> Option<Value> {
        match &self.source {
            Source::Slot(slot) => known(*slot, &self.path),
            Source::Member(slot, path) => {
                Self::for_slot(*slot, [&path[..], &self.path[..]].concat()).constant_value(known)
            }
            Source::Either(first, second) => {
                let of =
                    |source: &Source| Self { source: source.clone(), path: self.path.clone() }.constant_value(known);
                let value = of(first)?;
                if value.is_null() { of(second) } else { Some(value) }
            }
            _ => None,
        }
    }
}

impl CaseValue {
    /// The last word of its name.
    pub fn last_word(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
    /// Its source.
    pub fn source(&self) -> &Source {
        &self.key.source
    }
    /// Whether its order is compared.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }
    fn add(&mut self, value: Value) {
        if !self.choices.contains(&value) {
            self.choices.push(value);
        }
    }
    /// Removes what is not in a range, and adds the integers around each number if only those are.
    fn only_numbers(&mut self, range: NumberRange) {
        if range.whole {
            let tried: Vec<f64> = self.choices.iter().filter_map(Value::as_f64).collect();
            for n in tried {
                self.add(Value::from(n.floor()));
                self.add(Value::from(n.ceil()));
            }
        }
        for (n, _) in [range.low, range.high].into_iter().flatten() {
            self.add(Value::from(n));
        }
        self.choices.retain(|v| matches!(v.as_f64(), Some(n) if range.contains(n)));
        if self.choices.is_empty() {
            let low = match range.low {
                Some((low, _)) => low,
                None => 0.0,
            };
            self.choices.push(Value::from(low));
        }
    }
    /// Adds one value of every kind, in addition to those in conditions.
    fn complete(&mut self) {
        let mut numbers: Vec<f64> = self.choices.iter().filter_map(Value::as_f64).collect();
        numbers.sort_by(f64::total_cmp);
        self.written.clone_from(&numbers);
        let (mut low, mut whole) = (f64::NEG_INFINITY..=f64::INFINITY, false);
        if let (Some(first), Some(last)) = (numbers.first().copied(), numbers.last().copied()) {
            for neighbors in numbers.windows(2) {
                if let [a, b] = neighbors {
                    self.add(Value::from((a + b) / 2.0));
                }
            }
            self.add(Value::from(first - 1.0));
            self.add(Value::from(last + 1.0));
            match self.last_word() {
                // The numbers of a verdict are from 0 to 1; other scores may have any range.
                "score" | "confidence" if first >= 0.0 && last <= 1.0 => {
                    low = 0.0..=1.0;
                    for n in [first / 2.0, (last + 1.0) / 2.0, 0.0, 1.0] {
                        self.add(Value::from(n));
                    }
                }
                "exit_code" => {
                    (low, whole) = (0.0..=f64::INFINITY, true);
                    for n in [0.0, 1.0, 2.0] {
                        self.add(Value::from(n));
                    }
                }
                // A comparison with 0 and with more than 0 suggests a count.
                _ if first == 0.0 => low = 0.0..=f64::INFINITY,
                _ => {}
            }
        }
        let boolean = self.choices.iter().any(|v| v.as_bool().is_some());
        if self.open {
            // Examples for values with a length or contents, not every kind.
            self.add(Value::from(""));
            self.add(Value::from(Vec::<Value>::new()));
        }
        if boolean || self.asked && !self.open {
            self.add(Value::Bool(true));
            self.add(Value::Bool(false));
        }
        if self.choices.is_empty() || self.choices.iter().any(|v| v.as_str().is_some() || v.is_null()) {
            self.add(Value::from("something else"));
        }
        if let Some(range) = self.number {
            self.only_numbers(range);
        }
        let expected = |v: &Value| match v.as_f64() {
            Some(n) => low.contains(&n) && (!whole || n.fract() == 0.0),
            None => !v.is_null(),
        };
        self.choices.sort_by_key(|v| !expected(v));
        self.likely = self.choices.iter().filter(|v| expected(v)).count();
    }
}

impl ConditionCase<'_> {
    /// Whether a condition holds in this case. Open parts count as false.
    pub fn condition_holds(&self, condition: usize) -> bool {
        match self.cases.conditions.get(condition) {
            Some(tried) => tried.condition.evaluate_in(self).unwrap_or(false),
            None => false,
        }
    }
    /// `0.65 as REVIEW.score`, `any other text as ASK.response`: only the values that matter. `same` says whether
    /// another case has the same result.
    pub fn describe_values(&self, same: &dyn Fn(&ConditionCase<'_>) -> bool) -> String {
        let mut shown = Vec::new();
        for (at, read) in self.cases.values.iter().enumerate() {
            let free = (0..read.likely).all(|choice| {
                let mut other = ConditionCase { cases: self.cases, chosen: self.chosen.clone() };
                if let Some(chosen) = other.chosen.get_mut(at) {
                    *chosen = choice;
                }
                same(&other)
            });
            if let (false, Some(value)) = (free, self.value_of_read(at)) {
                let text = match (value.as_str(), value.as_f64()) {
                    (Some("something else"), _)
                        if read.choices.iter().any(|c| matches!(c.as_str(), Some(t) if t != "something else")) =>
                    {
                        "any other text".to_owned()
                    }
                    (Some("something else"), _) => "a text".to_owned(),
                    (Some(""), _) => "an empty text".to_owned(),
                    (Some(text), _) => format!("\"{text}\""),
                    (None, Some(n)) => ((n * 10_000.0).round() / 10_000.0).to_string(),
                    (None, None) => value.to_json().to_string(),
                };
                shown.push(format!("{text} as `{}`", read.name));
            }
        }
        shown.join(" and ")
    }
    /// Whether one of its numbers occurs in a condition.
    pub fn is_edge(&self) -> bool {
        for (at, read) in self.cases.values.iter().enumerate() {
            if let Some(value) = self.value_of_read(at)
                && let Some(n) = value.as_f64()
                && read.written.contains(&n)
            {
                return true;
            }
        }
        false
    }
    /// The value of a read.
    pub fn value_of_read(&self, read: usize) -> Option<&Value> {
        self.cases.values.get(read)?.choices.get(*self.chosen.get(read)?)
    }
}

impl ValueScope for ConditionCase<'_> {
    fn source_value(&self, source: u32) -> SourceValue<'_> {
        match self.value_of_read(source as usize) {
            Some(value) => SourceValue::Borrowed(value),
            None => SourceValue::Owned(Value::Null),
        }
    }
}

struct CaseReading<'r> {
    cases: &'r mut ConditionCases,
    read: &'r [usize],
    open: bool,
}

impl CaseReading<'_> {
    fn choice(&mut self, reference: u32, value: Value) {
        if let Some(read) = self.value(reference) {
            read.add(value);
        }
    }
    /// Reads the tests of a condition.
    fn read(&mut self, expression: &ConditionExpression) {
        for test in TestTree::from_expression(expression, true).all_tests() {
            match (test.left, test.compared) {
                (left, Some((comparison, right))) => self.compare(left, right, comparison),
                (ConditionExpression::Reference(r), None) => {
                    if let Some(read) = self.value(*r) {
                        read.asked = true;
                    }
                }
                (left, None) if constant_value(left).is_some() => {}
                (left, None) => self.leave_open(&[left]),
            }
        }
    }
    /// Marks the values of these expressions as not decidable by trying.
    fn leave_open(&mut self, expressions: &[&ConditionExpression]) {
        self.open = true;
        let mut stack = expressions.to_vec();
        while let Some(expression) = stack.pop() {
            if let ConditionExpression::Reference(r) = expression
                && let Some(read) = self.value(*r)
            {
                read.open = true;
            }
            stack.extend(expression.direct_parts());
        }
    }
    fn value(&mut self, reference: u32) -> Option<&mut CaseValue> {
        let at = *self.read.get(reference as usize)?;
        self.cases.values.get_mut(at)
    }
    fn compare(&mut self, a: &ConditionExpression, b: &ConditionExpression, op: ComparisonOperator) {
        // There are too many kinds of text and list contents.
        if matches!(op, ComparisonOperator::In | ComparisonOperator::NotIn) && subject(a).is_none() {
            self.leave_open(&[a, b]);
        }
        let ordered = op.is_ordering();
        match (subject(a), literals(a), subject(b), literals(b)) {
            (Some(reference), _, _, Some(values)) | (_, Some(values), Some(reference), _) => {
                if ordered && values.iter().any(|v| v.as_f64().is_none()) {
                    self.leave_open(&[a, b]);
                }
                for value in values {
                    self.choice(reference, value);
                }
                if let Some(read) = self.value(reference) {
                    read.ordered |= ordered;
                }
            }
            (_, Some(_), _, Some(_)) => {}
            _ => self.leave_open(&[a, b]),
        }
    }
}

/// The number of parts of an expression, at most `most` and one more.
fn parts_of(expression: &ConditionExpression, most: usize) -> usize {
    let mut count = 0;
    let mut stack = vec![expression];
    while let Some(part) = stack.pop()
        && count <= most
    {
        count += 1;
        stack.extend(part.direct_parts());
    }
    count
}

/// The single value that an operand reads.
fn subject(operand: &ConditionExpression) -> Option<u32> {
    let term = ReferenceTerm::from_expression(operand)?;
    if term.is_value() { Some(term.reference) } else { None }
}

/// A constant, or the items of a constant list.
fn literals(operand: &ConditionExpression) -> Option<Vec<Value>> {
    match constant_value(operand)? {
        Value::List(items) => Some(items.to_vec()),
        value => Some(vec![value]),
    }
}
