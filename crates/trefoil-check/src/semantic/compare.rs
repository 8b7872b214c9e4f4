//! Every comparison of a program, in conditions and in tests of templates, with the types of its sides.

use trefoil_ir::types::{Kind, Type};
use trefoil_ir::walk::{self, Evaluated, children};
use trefoil_ir::{FlowId, Program, SlotId, Source, Spelling, State, StepKind};
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::{Comparison, Expression, Function, Reference, Value, Words};

use super::types::Types;
use super::visits::Ways;

/// A comparison of two values.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The flow.
    pub flow: FlowId,
    /// The compared path.
    pub at: Location,
    /// The side with the path.
    pub value: Side,
    /// The other side.
    pub other: Side,
    /// The comparison with the path on the left.
    pub comparison: Comparison,
    /// Whether values of different kinds have no order, and text is not converted to a number.
    pub strict: bool,
    /// The terms of its language.
    pub words: &'static Words,
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
pub struct Side {
    /// The text as written.
    pub words: String,
    /// Its type.
    pub schema: Type,
    /// The value, if it is a literal.
    pub literal: Option<Value>,
    /// The spelling of the literal, if it is in the manifest.
    pub spelling: Option<Spelling>,
    /// The number, if it is one of the manifest with which a run starts unless its input has another one.
    pub usual: Option<Value>,
    /// Whether it may be missing.
    pub optional: bool,
    /// The slots that the path reads, if it is compared directly.
    pub slots: Vec<SlotId>,
}

/// A text with comparisons during analysis.
struct WrittenText<'p> {
    flow: FlowId,
    file: FileId,
    references: &'p [Reference],
    sources: &'p [Source],
    spans: &'p [Span],
    written: &'p [Spelling],
    strict: bool,
    words: &'static Words,
}

/// All comparisons with at least one path.
pub fn all(program: &Program, types: &Types<'_>) -> Vec<Compared> {
    let mut found = Vec::new();
    for (id, flow) in program.flows.entries() {
        walk::evaluated_by_flow(flow).into_iter().for_each(|e| evaluated(id, e, types, &mut found));
        let mut stack = vec![flow.body];
        while let Some(step) = stack.pop() {
            let step = &program.steps[step];
            walk::evaluated(step).into_iter().for_each(|e| evaluated(id, e, types, &mut found));
            stack.extend(children(step));
        }
    }
    visits(program, &mut found);
    found
}

/// Sets how often the states are entered in which a comparison reads the number of the visit: never more often than the
/// limits and the paths of their machine allow.
fn visits(program: &Program, found: &mut [Compared]) {
    for (id, flow) in program.flows.entries() {
        let StepKind::StateMachine(machine) = &program.steps[flow.body].kind else { continue };
        let Some(slot) = machine.visit else { continue };
        let reads = |side: &Side| side.slots == [slot];
        let mut here = found.iter_mut().filter(|c| c.flow == id && reads(&c.value)).peekable();
        if here.peek().is_none() {
            continue;
        }
        let ways = Ways::of(machine);
        for compared in here {
            // A text belongs to the last state whose name is before it.
            let start = |state: &State| program.steps[state.step].origin;
            let before = machine.states.entries().filter(|(_, state)| {
                let start = start(state);
                start.file == compared.at.file && start.span.start <= compared.at.span.start
            });
            let last = before.max_by_key(|(_, state)| start(state).span.start);
            let Some((id, state)) = last else { continue };
            // A state that is never entered is reported itself.
            let most = ways.visits(id);
            if most > 0 {
                let limit = state.max_visits_at.filter(|_| most == u64::from(state.max_visits));
                compared.value.schema = Type::whole_between(1, most);
                compared.visits = Some(VisitLimit { most, at: limit });
            }
        }
    }
}

fn evaluated(flow: FlowId, evaluated: Evaluated<'_>, types: &Types<'_>, found: &mut Vec<Compared>) {
    let text = &mut |text: &trefoil_ir::Text| {
        let written = WrittenText {
            flow,
            file: text.origin.file,
            references: text.template.references(),
            sources: &text.sources,
            spans: &text.spans,
            written: &text.written,
            strict: text.template.grammar().is_strict(),
            words: text.template.words(),
        };
        text.template.expressions().iter().for_each(|e| written.visit(e, types, found));
    };
    match evaluated {
        Evaluated::Expr(expr) => walk::texts(expr, &mut |t| text(t)),
        Evaluated::Text(t) => text(t),
        Evaluated::Source(_) => {}
        Evaluated::Cond(cond) => {
            let made = cond.condition.references().iter().all(|r| r.span.is_empty());
            if made {
                return; // Lowering made it of something that is no comparison in the manifest.
            }
            let written = WrittenText {
                flow,
                file: cond.origin.file,
                references: cond.condition.references(),
                sources: &cond.sources,
                spans: &cond.spans,
                written: &cond.written,
                strict: cond.condition.grammar().is_strict(),
                words: cond.condition.words(),
            };
            written.visit(cond.condition.expression(), types, found);
        }
    }
}

impl WrittenText<'_> {
    fn visit(&self, expression: &Expression, types: &Types<'_>, found: &mut Vec<Compared>) {
        expression.parts().into_iter().for_each(|part| self.visit(part, types, found));
        let Expression::Compare(operands, comparisons) = expression else { return };
        for (pair, comparison) in operands.windows(2).zip(comparisons) {
            let [left, right] = pair else { continue };
            match (comparison, right) {
                (Comparison::In | Comparison::NotIn, Expression::List(items)) => {
                    let equal = match comparison {
                        Comparison::In => Comparison::Equal,
                        _ => Comparison::NotEqual,
                    };
                    items.iter().for_each(|item| self.pair(left, item, equal, types, found));
                }
                // Tests whether an object has a key.
                (Comparison::In | Comparison::NotIn, Expression::Reference(_))
                    if matches!(left, Expression::Literal(Value::Str(_), _)) =>
                {
                    self.pair(left, right, *comparison, types, found);
                }
                (Comparison::In | Comparison::NotIn, _) => {}
                _ => self.pair(left, right, *comparison, types, found),
            }
        }
    }

    fn pair(
        &self,
        left: &Expression,
        right: &Expression,
        comparison: Comparison,
        types: &Types<'_>,
        found: &mut Vec<Compared>,
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
        let comparison = if swapped { comparison.turned().unwrap_or(comparison) } else { comparison };
        let at = Location::new(self.file, *span);
        found.push(Compared {
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
    fn same(&self, left: &Expression, right: &Expression) -> bool {
        let read = |e: &Expression| match e {
            Expression::Reference(i) => {
                let reference = self.references.get(*i as usize)?;
                let source = self.sources.get(reference.binding.source as usize)?;
                Some((source, reference.dotted(), reference.default.as_deref()))
            }
            _ => None,
        };
        read(left).is_some_and(|l| read(right) == Some(l))
    }

    fn side(&self, expression: &Expression, types: &Types<'_>) -> Option<Side> {
        let side = |words: String, schema| Side {
            words,
            schema,
            literal: None,
            spelling: None,
            usual: None,
            optional: true,
            slots: Vec::new(),
        };
        Some(match expression {
            Expression::Literal(value, at) => Side {
                words: value.to_text().to_string(),
                schema: Type::of_value(value),
                literal: Some(value.clone()),
                spelling: at.0.and_then(|at| self.written.get(at as usize).copied()),
                usual: None,
                optional: false,
                slots: Vec::new(),
            },
            Expression::Reference(i) => {
                let reference = self.references.get(*i as usize)?;
                let source = self.sources.get(reference.binding.source as usize)?;
                let path: Vec<&str> =
                    reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
                let walk = types.source(self.flow, source, &path, None);
                let known = if walk.stop.is_some() { Type::Any } else { walk.schema };
                let known = match reference.default {
                    Some(_) => Type::union([known, Type::TEXT]),
                    None => known,
                };
                let usual = types.seed(self.flow, source, &path).filter(|value| value.as_f64().is_some()).cloned();
                Side { usual, optional: walk.optional, slots: source.slots(), ..side(reference.dotted(), known) }
            }
            Expression::Call(function, arguments) => {
                let made = match function {
                    Function::Len | Function::Length | Function::Int | Function::Float | Function::Abs => Type::NUMBER,
                    Function::Str | Function::Upper | Function::Lower | Function::Trim | Function::FirstLine => {
                        Type::TEXT
                    }
                    Function::Bool | Function::StartsWith | Function::EndsWith => Type::BOOLEAN,
                    Function::TrimStart | Function::TrimEnd | Function::Replace => Type::TEXT,
                    _ => return None,
                };
                let of = arguments.first().and_then(|a| self.side(a, types))?;
                match function {
                    Function::Len | Function::Length | Function::Abs => {
                        let name = if *function == Function::Abs { "abs" } else { "len" };
                        Side { optional: of.optional, ..side(format!("{name}({})", of.words), Type::SIZE) }
                    }
                    // Fails for an object, which is not a number.
                    Function::Int | Function::Float if self.strict && of.schema.is(Kind::Object) => of,
                    _ => side(of.words, made),
                }
            }
            // A list is compared as a whole.
            Expression::List(_) => Side { optional: false, ..side("a list".to_owned(), Type::LIST) },
            // A single character of a text.
            Expression::Index(of, _) if self.strict => {
                let of = self.side(of, types)?;
                let text = of.schema.is(Kind::Text);
                text.then(|| side(format!("{}[...]", of.words), Type::Character))?
            }
            _ => return None,
        })
    }
}

/// The path that an operand is, or is computed from.
fn reference(expression: &Expression) -> Option<u32> {
    match expression {
        Expression::Reference(i) => Some(*i),
        Expression::Call(Function::Choose, _) => None,
        Expression::Call(_, arguments) => reference(arguments.first()?),
        Expression::Index(of, _) => reference(of),
        _ => None,
    }
}

impl Compared {
    /// Whether it compares order.
    pub fn is_ordering(&self) -> bool {
        self.comparison.is_ordering()
    }
}
