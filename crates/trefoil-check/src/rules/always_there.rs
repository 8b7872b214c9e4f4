//! Conditions that test whether a value exists or is not empty, although it certainly is: a loop with such a condition
//! ends after the first pass.

use std::cell::OnceCell;

use trefoil_ir::types::{Kind, Type};
use trefoil_ir::{Cond, FlowId, Step, StepKind, walk};
use trefoil_syntax::Location;
use trefoil_syntax::hash::HashMap;
use trefoil_template::{Comparison, Expression, Value};

use crate::rule::Context;
use crate::semantic::{Defined, Model, Read};

/// The reads of conditions, by place.
type Reads<'m> = HashMap<Location, &'m Read<'m>>;

/// Checks the conditions of steps and loops.
pub(super) fn run(cx: &mut Context<'_>, wanted: bool) {
    let model = cx.model;
    let reads = OnceCell::new();
    let mut found = Vec::new();
    for (_, _, step) in model.reachable_steps() {
        if let Some(when) = &step.when {
            parts(model, &reads, when, when.condition.expression(), "the step always runs", &mut found);
        }
        if let StepKind::Loop(it) = &step.kind {
            parts(
                model,
                &reads,
                &it.until,
                it.until.condition.expression(),
                "the loop ends after its first iteration",
                &mut found,
            );
        }
    }
    for AlwaysThere { at, message, help, .. } in found.into_iter().filter(|found| found.holds == wanted) {
        cx.report(cx.finding(at, message).help(help));
    }
}

/// A part of a condition with a constant result.
struct AlwaysThere {
    at: Location,
    holds: bool,
    message: String,
    help: String,
}

/// The parts of a condition that test whether a value exists. `so`: the effect on the whole, if no other part decides.
fn parts<'m>(
    model: &'m Model<'m>,
    reads: &OnceCell<Reads<'m>>,
    cond: &Cond,
    part: &Expression,
    so: &str,
    found: &mut Vec<AlwaysThere>,
) {
    let read = |reference: u32| -> Option<(Location, &'m Read<'m>)> {
        let at = Location::new(cond.origin.file, *cond.spans.get(reference as usize)?);
        let read = *reads.get_or_init(|| in_conditions(model)).get(&at)?;
        let sure =
            read.defined == Defined::Always && !read.optional && read.stop.is_none() && read.undeclared.is_none();
        (sure && read.reference.is_some_and(|r| r.default.is_none())).then_some((at, read))
    };
    match part {
        Expression::And(all) => {
            all.iter().for_each(|p| parts(model, reads, cond, p, "this part of the condition has no effect", found));
        }
        Expression::Or(all) => all.iter().for_each(|p| parts(model, reads, cond, p, so, found)),
        Expression::Reference(r) => {
            let Some((at, read)) = read(*r).filter(|(_, read)| is_true(&read.schema) && is_answered(model, read))
            else {
                return;
            };
            let message =
                format!("`{}` is always true here, because it always has a value and is never empty", read.path());
            found.push(AlwaysThere { at, holds: true, message, help: format!("{so}: compare it with a value") });
        }
        Expression::Compare(operands, comparisons) => {
            let ([a, b], [comparison]) = (operands.as_slice(), comparisons.as_slice()) else { return };
            let ((Expression::Reference(r), Expression::Literal(Value::Null, _))
            | (Expression::Literal(Value::Null, _), Expression::Reference(r))) = (a, b)
            else {
                return;
            };
            let always = match comparison {
                Comparison::NotEqual => true,
                Comparison::Equal => false,
                _ => return,
            };
            let Some((at, read)) = read(*r).filter(|(_, read)| !read.schema.is_nullable() && is_answered(model, read))
            else {
                return;
            };
            let verdict = if always { "is always true" } else { "can never be true" };
            let message =
                format!("this comparison {verdict}: `{}` always has a value here and is never null", read.path());
            let so = if always { so } else { "" };
            let help = if so.is_empty() {
                "compare it with a value".to_owned()
            } else {
                format!("{so}: compare it with a value")
            };
            found.push(AlwaysThere { at, holds: always, message, help });
        }
        _ => {}
    }
}

/// Whether a value is a result that is not passed on by a pipeline: the output of a pipeline is null if one of its
/// steps was skipped or left something out, which its type does not show.
fn is_answered(model: &Model<'_>, read: &Read<'_>) -> bool {
    let program = model.program;
    let slots = read.source.slots();
    let writes = |step: &&Step| step.out.is_some_and(|out| slots.contains(&out));
    let simple = |callee: FlowId| {
        let mut steps = model.steps_of(callee).iter().map(|(_, id)| &program.steps[*id]);
        steps.all(|s| s.when.is_none() && !matches!(s.kind, StepKind::Call(_) | StepKind::ForEach(_)))
    };
    let mut writers = model.steps_of(read.flow).iter().map(|(_, id)| &program.steps[*id]).filter(writes);
    writers.all(|step| walk::callees(step).into_iter().all(simple))
}

fn in_conditions<'m>(model: &'m Model<'m>) -> Reads<'m> {
    let conditions = model.reads().iter().filter(|r| r.position == trefoil_ir::Position::Condition);
    let mut reads: Reads<'m> = HashMap::default();
    for read in conditions {
        // If one of several flows knows less about it, the result is not certain.
        let less = read.defined != Defined::Always;
        if less || !reads.contains_key(&read.at) {
            reads.insert(read.at, read);
        }
    }
    reads
}

/// Whether every value of a type is truthy.
fn is_true(of: &Type) -> bool {
    if let Some(choices) = of.choices() {
        return !choices.is_empty() && choices.iter().all(|c| c.truthy() == Some(true));
    }
    let least = |key: &str| of.limit(key).is_some_and(|n| n >= 1.0);
    let Some(kinds) = of.kinds() else { return false };
    !kinds.is_empty()
        && kinds.iter().all(|kind| match kind {
            Kind::Text => least("minLength"),
            Kind::List => least("minItems"),
            Kind::Number => {
                of.limit("minimum").is_some_and(|n| n > 0.0)
                    || of.limit("maximum").is_some_and(|n| n < 0.0)
                    || of.limit("exclusiveMinimum").is_some_and(|n| n >= 0.0)
            }
            Kind::Object => {
                let required = of.as_object().and_then(|object| object.required.as_ref());
                required.is_some_and(|all| !all.is_empty()) || least("minProperties")
            }
            Kind::Boolean | Kind::Null => false,
        })
}
