//! Every comparison of a program, in conditions and in tests of templates, with the types of its sides.

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::walk::{self, EvaluatedPart, children_of};
use trefoil_ir::{FlowId, LiteralSpelling, Program, SlotId, Source, StateId, StateMachine, StepKind, WorkflowState};
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::{BuiltinFunction, ComparisonOperator, ConditionExpression, DialectWords, Reference, Value};

use super::paths::path_in_source;
use super::types::ProgramTypes;
use super::visits::MachinePaths;

/// A comparison of two values.
#[derive(Debug, Clone)]
pub struct TypedComparison {
    /// The flow.
    pub flow: FlowId,
    /// The compared path.
    pub at: Location,
    /// The side with the path.
    pub value: ComparisonSide,
    /// The other side.
    pub other: ComparisonSide,
    /// The comparison with the path on the left.
    pub comparison: ComparisonOperator,
    /// Whether values of different kinds have no order, and text is not converted to a number.
    pub strict: bool,
    /// The terms of its language.
    pub words: &'static DialectWords,
    /// Whether both sides are the same path.
    pub same: bool,
    /// What limits the number of visits of a state, if that is what is compared.
    pub visits: Option<VisitLimit>,
}

/// The limit of a state's visits.
#[derive(Debug, Clone, Copy)]
pub struct VisitLimit {
    /// How often a run can enter the state.
    pub most: u64,
    /// The limit of the state itself, if that decides.
    pub at: Option<Location>,
}

/// A side of a comparison.
#[derive(Debug, Clone)]
pub struct ComparisonSide {
    /// The text as written.
    pub words: String,
    /// Its type.
    pub schema: ValueType,
    /// The value, if it is a literal.
    pub literal: Option<Value>,
    /// The spelling of the literal, if it is in the manifest.
    pub spelling: Option<LiteralSpelling>,
    /// The number, if it is one of the manifest with which a run starts unless its input has another one.
    pub usual: Option<Value>,
    /// Whether it may be missing.
    pub optional: bool,
    /// The slots that the path reads, if it is compared directly.
    pub slots: Vec<SlotId>,
}

/// A text with comparisons during analysis.
struct ComparisonText<'p> {
    flow: FlowId,
    file: FileId,
    references: &'p [Reference],
    sources: &'p [Source],
    spans: &'p [Span],
    written: &'p [LiteralSpelling],
    strict: bool,
    words: &'static DialectWords,
}

/// All comparisons with at least one path.
pub fn find_comparisons(program: &Program, types: &ProgramTypes<'_>) -> Vec<TypedComparison> {
    let mut found = Vec::new();
    for (id, flow) in program.flows.entries() {
        for part in walk::evaluated_by_flow(flow) {
            find_in_evaluated(id, part, types, &mut found);
        }
        let mut stack = vec![flow.body];
        while let Some(step) = stack.pop() {
            let step = &program.steps[step];
            for part in walk::evaluated_by_step(step) {
                find_in_evaluated(id, part, types, &mut found);
            }
            stack.extend(children_of(step));
        }
    }
    visits(program, &mut found);
    found
}

/// Sets how often the states are entered in which a comparison reads the number of the visit: never more often than the
/// limits and the paths of their machine allow.
fn visits(program: &Program, found: &mut [TypedComparison]) {
    for (id, flow) in program.flows.entries() {
        let StepKind::StateMachine(machine) = &program.steps[flow.body].kind else { continue };
        let Some(slot) = machine.visit else { continue };
        let mut paths = None;
        for compared in found.iter_mut() {
            if compared.flow != id || compared.value.slots != [slot] {
                continue;
            }
            let paths = paths.get_or_insert_with(|| MachinePaths::from_machine(machine));
            let Some((id, state)) = state_at(program, machine, compared.at) else { continue };
            // A state that is never entered is reported itself.
            let most = paths.max_visits(id);
            if most > 0 {
                let at = if most == u64::from(state.max_visits) { state.max_visits_at } else { None };
                compared.value.schema = ValueType::whole_between(1, most);
                compared.visits = Some(VisitLimit { most, at });
            }
        }
    }
}

/// The state to which a text belongs: the last one whose name is before it.
fn state_at<'p>(program: &Program, machine: &'p StateMachine, at: Location) -> Option<(StateId, &'p WorkflowState)> {
    let start = |state: &WorkflowState| program.steps[state.step].origin;
    let before = machine.states.entries().filter(|(_, state)| {
        let start = start(state);
        start.file == at.file && start.span.start <= at.span.start
    });
    before.max_by_key(|(_, state)| start(state).span.start)
}

fn find_in_evaluated(
    flow: FlowId,
    evaluated: EvaluatedPart<'_>,
    types: &ProgramTypes<'_>,
    found: &mut Vec<TypedComparison>,
) {
    let text = &mut |text: &trefoil_ir::BoundTemplate| {
        let written = ComparisonText {
            flow,
            file: text.origin.file,
            references: text.template.references(),
            sources: &text.sources,
            spans: &text.spans,
            written: &text.written,
            strict: text.template.condition_grammar().is_strict(),
            words: text.template.dialect_words(),
        };
        for expression in text.template.inner_expressions() {
            written.visit(expression, types, found);
        }
    };
    match evaluated {
        EvaluatedPart::Expr(expr) => walk::visit_templates(expr, &mut |t| text(t)),
        EvaluatedPart::Text(t) => text(t),
        EvaluatedPart::Source(_) => {}
        EvaluatedPart::Cond(cond) => {
            let made = cond.condition.references().iter().all(|r| r.span.is_empty());
            if made {
                return; // Lowering made it of something that is no comparison in the manifest.
            }
            let written = ComparisonText {
                flow,
                file: cond.origin.file,
                references: cond.condition.references(),
                sources: &cond.sources,
                spans: &cond.spans,
                written: &cond.written,
                strict: cond.condition.condition_grammar().is_strict(),
                words: cond.condition.dialect_words(),
            };
            written.visit(cond.condition.expression_tree(), types, found);
        }
    }
}

impl ComparisonText<'_> {
    fn visit(&self, expression: &ConditionExpression, types: &ProgramTypes<'_>, found: &mut Vec<TypedComparison>) {
        for part in expression.direct_parts() {
            self.visit(part, types, found);
        }
        let ConditionExpression::Compare(operands, comparisons) = expression else { return };
        for (pair, comparison) in operands.windows(2).zip(comparisons) {
            let [left, right] = pair else { continue };
            match (comparison, right) {
                (ComparisonOperator::In | ComparisonOperator::NotIn, ConditionExpression::List(items)) => {
                    let equal = match comparison {
                        ComparisonOperator::In => ComparisonOperator::Equal,
                        _ => ComparisonOperator::NotEqual,
                    };
                    for item in items {
                        self.pair(left, item, equal, types, found);
                    }
                }
                // Tests whether an object has a key.
                (ComparisonOperator::In | ComparisonOperator::NotIn, ConditionExpression::Reference(_))
                    if matches!(left, ConditionExpression::Literal(Value::Str(_), _)) =>
                {
                    self.pair(left, right, *comparison, types, found);
                }
                (ComparisonOperator::In | ComparisonOperator::NotIn, _) => {}
                _ => self.pair(left, right, *comparison, types, found),
            }
        }
    }

    fn pair(
        &self,
        left: &ConditionExpression,
        right: &ConditionExpression,
        comparison: ComparisonOperator,
        types: &ProgramTypes<'_>,
        found: &mut Vec<TypedComparison>,
    ) {
        let places = [reference(left), reference(right)];
        let same = self.same(left, right);
        let (Some(left), Some(right)) = (self.side(left, types), self.side(right, types)) else { return };
        // The number of the manifest is what another value is compared with.
        let fixed = left.usual.is_some() && right.usual.is_none();
        let (place, swapped) = match places {
            [Some(_), Some(other)] if fixed => (other, true),
            [Some(place), _] => (place, false),
            [None, Some(place)] => (place, true),
            [None, None] => return,
        };
        let Some(span) = self.spans.get(place as usize) else { return };
        let (value, other) = if swapped { (right, left) } else { (left, right) };
        let comparison = if swapped { comparison.swapped_operands().unwrap_or(comparison) } else { comparison };
        let at = Location::new(self.file, *span);
        found.push(TypedComparison {
            flow: self.flow,
            at,
            value,
            other,
            comparison,
            strict: self.strict,
            words: self.words,
            same,
            visits: None,
        });
    }

    /// Whether two operands are the same path.
    fn same(&self, left: &ConditionExpression, right: &ConditionExpression) -> bool {
        let read = |e: &ConditionExpression| match e {
            ConditionExpression::Reference(i) => {
                let reference = self.references.get(*i as usize)?;
                let source = self.sources.get(reference.binding.source as usize)?;
                Some((source, reference.dotted_path(), reference.default.as_deref()))
            }
            _ => None,
        };
        let left = read(left);
        left.is_some() && left == read(right)
    }

    fn side(&self, expression: &ConditionExpression, types: &ProgramTypes<'_>) -> Option<ComparisonSide> {
        match expression {
            ConditionExpression::Literal(value, at) => Some(ComparisonSide {
                literal: Some(value.clone()),
                spelling: match at.0 {
                    Some(at) => self.written.get(at as usize).copied(),
                    None => None,
                },
                optional: false,
                ..computed_side(value.to_text().to_string(), ValueType::of_value(value))
            }),
            ConditionExpression::Reference(i) => self.path_side(*i, types),
            ConditionExpression::Call(function, arguments) => self.call_side(*function, arguments, types),
            // A list is compared as a whole.
            ConditionExpression::List(_) => {
                Some(ComparisonSide { optional: false, ..computed_side("a list".to_owned(), ValueType::LIST) })
            }
            // A single character of a text.
            ConditionExpression::Index(of, _) if self.strict => {
                let text = self.side(of, types)?;
                if !text.schema.is_kind(ValueKind::Text) {
                    return None;
                }
                Some(computed_side(format!("{}[...]", text.words), ValueType::Character))
            }
            _ => None,
        }
    }

    fn path_side(&self, index: u32, types: &ProgramTypes<'_>) -> Option<ComparisonSide> {
        let reference = self.references.get(index as usize)?;
        let source = self.sources.get(reference.binding.source as usize)?;
        let path = path_in_source(reference);
        let walk = types.source_type(self.flow, source, &path, None);
        let known = if walk.stop.is_some() { ValueType::Any } else { walk.schema };
        let schema = match reference.default {
            Some(_) => ValueType::union_of([known, ValueType::TEXT]),
            None => known,
        };
        let usual = match types.seed_value(self.flow, source, &path) {
            Some(number) if number.as_f64().is_some() => Some(number.clone()),
            _ => None,
        };
        Some(ComparisonSide {
            usual,
            optional: walk.optional,
            slots: source.slot_ids(),
            ..computed_side(reference.dotted_path(), schema)
        })
    }

    fn call_side(
        &self,
        function: BuiltinFunction,
        arguments: &[ConditionExpression],
        types: &ProgramTypes<'_>,
    ) -> Option<ComparisonSide> {
        let converted = converted_type(function)?;
        let argument = self.side(arguments.first()?, types)?;
        Some(match function {
            BuiltinFunction::Len | BuiltinFunction::Length | BuiltinFunction::Abs => {
                let name = if function == BuiltinFunction::Abs { "abs" } else { "len" };
                ComparisonSide {
                    optional: argument.optional,
                    ..computed_side(format!("{name}({})", argument.words), ValueType::SIZE)
                }
            }
            // Fails for an object, which is not a number.
            BuiltinFunction::Int | BuiltinFunction::Float
                if self.strict && argument.schema.is_kind(ValueKind::Object) =>
            {
                argument
            }
            _ => computed_side(argument.words, converted),
        })
    }
}

/// A side of which no more is known than its type.
fn computed_side(words: String, schema: ValueType) -> ComparisonSide {
    ComparisonSide { words, schema, literal: None, spelling: None, usual: None, optional: true, slots: Vec::new() }
}

/// The type of the result of a function through which a side keeps its path.
fn converted_type(function: BuiltinFunction) -> Option<ValueType> {
    Some(match function {
        BuiltinFunction::Len
        | BuiltinFunction::Length
        | BuiltinFunction::Int
        | BuiltinFunction::Float
        | BuiltinFunction::Abs => ValueType::NUMBER,
        BuiltinFunction::Str
        | BuiltinFunction::Upper
        | BuiltinFunction::Lower
        | BuiltinFunction::Trim
        | BuiltinFunction::FirstLine => ValueType::TEXT,
        BuiltinFunction::Bool | BuiltinFunction::StartsWith | BuiltinFunction::EndsWith => ValueType::BOOLEAN,
        BuiltinFunction::TrimStart | BuiltinFunction::TrimEnd | BuiltinFunction::Replace => ValueType::TEXT,
        _ => return None,
    })
}

/// The path that an operand is, or is computed from.
fn reference(expression: &ConditionExpression) -> Option<u32> {
    match expression {
        ConditionExpression::Reference(i) => Some(*i),
        ConditionExpression::Call(BuiltinFunction::Choose, _) => None,
        ConditionExpression::Call(_, arguments) => reference(arguments.first()?),
        ConditionExpression::Index(of, _) => reference(of),
        _ => None,
    }
}

impl TypedComparison {
    /// Whether it compares order.
    pub fn is_ordering(&self) -> bool {
        self.comparison.is_ordering()
    }
}
