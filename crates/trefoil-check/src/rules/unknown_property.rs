//! Paths that continue with a property that the value before it does not have, judging by its type or its names.

use std::sync::Arc;

use trefoil_ir::types::Member;
use trefoil_ir::{
    AnswerFormat, Callee, DeclarationKind, FlowId, Lost, SchemaId, SlotId, Source, Step, StepId, StepKind, ValidatorKind, place,
    walk,
};
use trefoil_syntax::suggest::Near;
use trefoil_syntax::{Diagnostic, Location, Severity, suggest};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::{Model, Read, locals};

pub(super) const RULE: Rule = Rule {
    name: "unknown-property",
    group: Group::Names,
    level: Some(Severity::Error),
    strict: Some(Severity::Error),
    page: include_str!("unknown_property.md"),
    run: Run::Several(&[Run::Program(run), Run::Program(of_items)]),
};

/// A property that an object does not have, or that an open object does not declare.
fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for read in model.reads() {
        let Some((at, declared)) = &read.undeclared else { continue };
        let Some((before, name)) = parts(read, *at) else { continue };
        let message = format!("the schema of `{before}` declares no `{name}`");
        let here = place(read, *at).unwrap_or(read.at);
        let closed = is_closed(model, read, *at, &name);
        // An open object may still have it, unless it is a misspelling.
        let Some(near) = suggest::near(&name, declared.iter().map(|m| &**m)) else {
            let open = is_given(model, read) && !is_listed(model, read, *at) && !closed;
            let severity = if open { Severity::Info } else { Severity::Warning };
            let d = Diagnostic { severity, ..cx.finding(here, message) };
            let declares = declared.iter().take(12).map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ");
            cx.report(beside(model, read, d.help(format!("it declares {declares}"))));
            continue;
        };
        let d = Diagnostic { severity: Severity::Warning, ..cx.finding(here, message) };
        let d = d.help(format!("did you mean `{}`?", near.name));
        cx.report(respelt(model, Some(read), d, place(read, *at), near, closed));
    }
    each(cx, |read, at, member| match member {
        Member::Never { what: "an object", members } => {
            let (before, name) = parts(read, at)?;
            let has = members.iter().take(12).map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ");
            let near = suggest::near(&name, members.iter().map(|m| &**m));
            let help = match near {
                Some(near) => format!("did you mean `{}`? its properties are {has}", near.name),
                None if has.is_empty() => "it has no properties".to_owned(),
                None => deeper(model, read, at, members, &name).unwrap_or_else(|| format!("its properties are {has}")),
            };
            let near = near.map(|n| (n.name.to_owned(), n.sure));
            Some((format!("`{before}` has no `{name}`"), help, near))
        }
        _ => None,
    });
}

/// Whether a value is the input of a flow, which may have undeclared properties.
fn is_given(model: &Model<'_>, read: &Read<'_>) -> bool {
    let intake = &model.program.flows[read.flow].intake;
    match read.source {
        Source::Slot(slot) | Source::Member(slot, _) => {
            intake.slot == *slot || intake.raw.as_ref().is_some_and(|(raw, _)| raw == slot)
        }
        _ => false,
    }
}

/// Whether the input of a flow can certainly not have this first member.
fn is_closed(model: &Model<'_>, read: &Read<'_>, at: usize, name: &str) -> bool {
    let first = read.reference.is_some_and(|reference| usize::from(reference.binding.skip) == at);
    let intake = &model.program.flows[read.flow].intake;
    first && intake.closed && !intake.tolerated.contains(&name)
}

/// Paths in loops of templates: a member of an item, judging by the type of the list.
fn of_items(cx: &mut Context<'_>) {
    let model = cx.model;
    for item in locals::all(model) {
        let (at, declared, what) = match (&item.walk.stop, &item.walk.undeclared) {
            (Some((at, Member::Never { what, members })), _) => (*at, members, *what),
            (None, Some((at, declared))) => (*at, declared, ""),
            _ => continue,
        };
        let Some(name) = item.path.get(at) else { continue };
        let near = suggest::near(name, declared.iter().map(|m| &**m));
        let place = item.places.get(at).copied().flatten();
        let message = match what {
            "" => format!("the schema of the item declares no `{name}`"),
            "an object" => format!("the item has no `{name}`"),
            other => format!("the item is {other}, so it has no `{name}`"),
        };
        let severity = if what.is_empty() && near.is_none() { Severity::Info } else { Severity::Warning };
        let d = Diagnostic { severity, ..cx.finding(place.unwrap_or(item.at), message) };
        cx.report(match near {
            Some(near) => {
                respelt(model, None, d.help(format!("did you mean `{}`?", near.name)), place, near, what == "an object")
            }
            None => d,
        });
    }
}

/// The message, the advice, and the intended name with whether it is certain.
pub(super) type Wrong = (String, String, Option<(String, bool)>);

/// Whether the `properties` in the schema of the value before a segment list everything that it can have.
fn is_listed(model: &Model<'_>, read: &Read<'_>, at: usize) -> bool {
    let Some(reference) = read.reference else { return false };
    let skip = usize::from(reference.binding.skip);
    let before: Vec<&str> = reference.path.get(skip..at).into_iter().flatten().map(|s| &*s.name).collect();
    model.types().source(read.flow, read.source, &before, None).schema.only_lists()
}

/// Checks every path that continues after a value without that member.
pub(super) fn each(cx: &mut Context<'_>, wrong: impl Fn(&Read<'_>, usize, &Member) -> Option<Wrong>) {
    let model = cx.model;
    for read in model.reads() {
        let Some((at, member)) = &read.stop else { continue };
        let Some((message, help, meant)) = wrong(read, *at, member) else { continue };
        let here = place(read, *at).unwrap_or(read.at);
        let known = match read.source {
            Source::Missing(_, Lost::Beyond(beyond)) => Some(beyond),
            _ => None,
        };
        let caught = read.reference.is_some_and(|reference| reference.default.is_some());
        let refused = known.is_some_and(|known| known.refused) && !caught;
        let severity = if refused { Severity::Error } else { Severity::Warning };
        let d = Diagnostic { severity, ..cx.finding(here, message) }.help(help);
        let d = match &meant {
            Some((name, sure)) => {
                let near = Near { name, distance: 1, sure: *sure };
                respelt(model, Some(read), d, place(read, *at), near, true)
            }
            None if matches!(member, Member::Never { what: "an object", .. }) => beside(model, read, d),
            None => d,
        };
        match known {
            Some(_) => cx.report_cause(d),
            None => cx.report(d),
        }
    }
}

/// Names of answers in other systems.
const ANSWER: [&str; 10] =
    ["text", "stdout", "result", "content", "response", "message", "answer", "reply", "completion", "value"];

/// Advice if a member of a member was meant: `writer.title` for `writer.output.title`.
fn deeper(model: &Model<'_>, read: &Read<'_>, at: usize, members: &[Arc<str>], name: &str) -> Option<String> {
    let path = &read.reference?.path;
    let before: Vec<&str> = path.get(..at)?.iter().map(|s| &*s.name).collect();
    let slot = Source::Slot(lost(read)?);
    let object = model.types().source(read.flow, &slot, before.get(1..)?, None).schema;
    let inner = |member: &&Arc<str>| match object.member(member) {
        Member::Is { of, .. } => of.member(name),
        _ => Member::Never { what: "", members: Vec::new() },
    };
    let before = before.join(".");
    if let Some(member) = members.iter().find(|member| matches!(inner(member), Member::Is { .. })) {
        return Some(format!("write `{before}.{member}.{name}`"));
    }
    // An answer of undeclared type may have it.
    let open = || members.iter().find(|member| matches!(inner(member), Member::Maybe));
    let member = open().filter(|_| is_answer(model, read))?;
    Some(match ANSWER.contains(&name) {
        true => format!("write `{before}.{member}` for the answer"),
        false => format!("write `{before}.{member}.{name}` for a field of the answer"),
    })
}

/// The slot of the value that lacks the member.
fn lost(read: &Read<'_>) -> Option<SlotId> {
    let Source::Missing(_, Lost::Beyond(beyond)) = read.source else { return None };
    beyond.of.as_ref()?.slots().first().copied()
}

/// Whether the value that lacks the member is an agent's answer or a part of it.
pub(super) fn is_answer(model: &Model<'_>, read: &Read<'_>) -> bool {
    let Some(slot) = lost(read) else { return false };
    let leaves = |id: StepId| model.program.steps[id].out == Some(slot);
    model.steps_of(read.flow).iter().any(|&(_, id)| leaves(id) && called(model, id).is_some())
}

/// Adds the place, in another file, where the value is declared.
fn beside(model: &Model<'_>, read: &Read<'_>, d: Diagnostic) -> Diagnostic {
    match declared(model, read).filter(|at| at.file != read.at.file) {
        Some(at) => d.label(at, "its properties are declared here"),
        None => d,
    }
}

/// The schema of a called flow's answer, otherwise the flow.
fn declared(model: &Model<'_>, read: &Read<'_>) -> Option<Location> {
    let source = match read.source {
        Source::Missing(_, Lost::Beyond(beyond)) => beyond.of.as_ref()?,
        source => source,
    };
    let (Source::Slot(slot) | Source::Member(slot, _)) = source else { return None };
    let program = model.program;
    let own = model.steps_of(read.flow).iter().find(|(_, id)| program.steps[*id].out == Some(*slot))?;
    let callee = called(model, own.1)?;
    let validators = model.steps_of(callee).iter().filter_map(|(_, id)| match &program.steps[*id].kind {
        StepKind::Attempts(attempts) => Some(&attempts.validators),
        _ => None,
    });
    let schema = validators.flatten().find_map(|v| match &v.kind {
        ValidatorKind::JsonSchema(id) => Some(*id),
        _ => None,
    });
    let schema = schema.or_else(|| model.steps_of(callee).iter().find_map(|(_, id)| answered(&program.steps[*id])));
    let schema = schema.map(|id| program.schemas[id].origin);
    let flow = program.flows[callee].origin;
    let mut properties = model.facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Property);
    schema.or_else(|| properties.find(|d| d.parent == Some(flow)).map(|d| d.at)).or(Some(flow))
}

/// The schema of a model's answer.
fn answered(step: &Step) -> Option<SchemaId> {
    match &step.kind {
        StepKind::Model(call) => match call.format {
            AnswerFormat::Json(schema) => Some(schema),
            AnswerFormat::Text | AnswerFormat::JsonOrText => None,
        },
        _ => None,
    }
}

/// The flow that a step calls, possibly within other steps.
fn called(model: &Model<'_>, step: StepId) -> Option<FlowId> {
    let step = &model.program.steps[step];
    match &step.kind {
        StepKind::Call(call) => match &call.callee {
            Callee::Flow(flow) => Some(*flow),
            Callee::Named { .. } => None,
        },
        _ => walk::children(step).into_iter().find_map(|child| called(model, child)),
    }
}

/// Adds a fix that replaces the name by the intended one, and the declaration of that one, which may be the
/// misspelling. `closed`: only declared properties can exist.
fn respelt(
    model: &Model<'_>,
    read: Option<&Read<'_>>,
    d: Diagnostic,
    at: Option<Location>,
    near: Near<'_>,
    closed: bool,
) -> Diagnostic {
    let d = match (only(model, near.name), read) {
        (Some(place), _) => d.label(place, format!("`{}` is declared here", near.name)),
        (None, Some(read)) => beside(model, read, d),
        (None, None) => d,
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let Some(at) = at.filter(|_| near.name.chars().all(plain)) else { return d };
    let message = format!("write `{}`", near.name);
    if closed && near.sure { d.fix(message, at, near.name) } else { d.suggestion(message, at, near.name) }
}

/// The declaration of a name that is declared only once.
fn only(model: &Model<'_>, name: &str) -> Option<Location> {
    let mut all = model.facts.declarations.iter().filter(|d| *d.name == *name).map(|d| d.at);
    all.next().filter(|_| all.next().is_none())
}

/// The place of a segment of a path.
fn place(read: &Read<'_>, at: usize) -> Option<Location> {
    let reference = read.reference?;
    place::part(&reference.span, read.at, reference.path.get(at)?.span.clone())
}

/// The path before a segment, and the segment.
pub(super) fn parts(read: &Read<'_>, at: usize) -> Option<(String, String)> {
    let path = &read.reference?.path;
    let before = path.get(..at)?.iter().map(|s| &*s.name).collect::<Vec<_>>().join(".");
    Some((before, path.get(at)?.name.to_string())).filter(|(before, _)| !before.is_empty())
}
