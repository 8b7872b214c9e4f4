//! `kind: sequential` and `kind: parallel`: one slot a state key, steps bound in their order (decisions A9 to A14).

use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{Export, Expr, Loop, OnItemFailure, Parallel, Source, StepId, StepKind, types};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Location, Span};
use trefoil_template::Value;

use super::agent::{Body, Slots, Subject};
use super::text::{self, Scope};
use super::{Lowering, agent, declare, output, step};
use crate::agntz::ids::{AgentRef, state_key};
use crate::agntz::manifest::{Pipeline, Step, Target};
use crate::agntz::names::{AgentNames, At, NAMESPACES, Order, Outside, StepName, When};
use crate::agntz::signature::{Exported, Signature};
use crate::build::plain;
use crate::learn::{Members, object_of};
use crate::read::Reader;

/// How deep agents may call agents, in one file and over files. Each level costs stack.
const MAX_DEPTH: usize = 100;

/// Lowers a sequential agent.
pub fn sequential(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    pipeline: &Pipeline<'_>,
    scope: &mut Scope,
    slots: &mut Slots,
) -> Body {
    let order = if pipeline.until.is_some() { Order::Loop } else { Order::Once };
    let steps = steps(lowering, reader, subject, pipeline, order, scope, slots);
    let mut body = lowering.builder.step(plain(StepKind::Sequence(steps), subject.origin));
    if let Some(until) = pipeline.until
        && let Some(until) = text::condition(reader, scope, until, At::End)
    {
        let kind = StepKind::Loop(Box::new(Loop { body, until, max: pipeline.max_iterations }));
        body = lowering.builder.step(plain(kind, subject.origin));
    }
    let names = &scope.names;
    let last = names.steps.last().map(|s| (Expr::Read(Source::Slot(s.slot)), step_type(names, s)));
    finish(reader, subject, pipeline, scope, body, last)
}

/// Lowers a parallel agent.
pub fn parallel(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    pipeline: &Pipeline<'_>,
    scope: &mut Scope,
    slots: &mut Slots,
) -> Body {
    let branches = steps(lowering, reader, subject, pipeline, Order::Parallel, scope, slots);
    let kind = StepKind::Parallel(Parallel { branches, concurrency: None, on_failure: OnItemFailure::Abort });
    let body = lowering.builder.step(plain(kind, subject.origin));
    let names = &scope.names;
    let all = names.steps.iter().map(|s| (s.key.clone(), Expr::Read(Source::Slot(s.slot)))).collect();
    let types = object_of(names.steps.iter().map(|s| (s.key.clone(), step_type(names, s))));
    finish(reader, subject, pipeline, scope, body, Some((Expr::Object(all), types)))
}

/// What is known about a step's output; nothing where two steps share a key.
fn step_type(names: &AgentNames, step: &StepName) -> Value {
    let alone = names.named(&step.key).len() == 1;
    step.callee.as_ref().filter(|_| alone).map_or_else(types::any, |c| c.output.clone())
}

/// Where the members of a pipeline's own output are declared: of its last step, or of each branch.
fn default_members(scope: &AgentNames) -> Members {
    let of = |s: &StepName| s.callee.as_ref().map(|c| c.members.clone()).unwrap_or_default();
    match scope.order {
        Order::Parallel => Members::of(scope.steps.iter().map(|s| (s.key.clone(), Some(s.at), of(s))).collect()),
        Order::Once | Order::Loop => scope.steps.last().map(of).unwrap_or_default(),
    }
}

fn finish(
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    pipeline: &Pipeline<'_>,
    scope: &mut Scope,
    step: StepId,
    otherwise: Option<(Expr, Value)>,
) -> Body {
    let members = match &pipeline.output {
        Some(_) => Members::default(),
        None => default_members(&scope.names),
    };
    let result = match &pipeline.output {
        Some(map) => Some(output::map(reader, scope, map)),
        None => otherwise,
    };
    let (output, schema) = result.map_or_else(|| (None, types::any()), |(e, s)| (Some(e), s));
    let mut body = Body::of(Some(step), schema);
    body.output = output;
    body.members = match &pipeline.output {
        Some(map) => output::members(reader, map, &body.schema, subject.at),
        None => members,
    };
    let names = &scope.names;
    for (i, step) in names.steps.iter().enumerate() {
        if names.named(&step.key).last() != Some(&i) {
            continue; // a later step takes the key over
        }
        for key in std::iter::once(&step.key).chain(&step.alias) {
            body.exports.push(Export { key: key.clone(), slot: step.slot, member: Vec::new(), inner: step.exports });
        }
        body.exported.push(Exported {
            key: step.key.clone(),
            alias: step.alias.clone(),
            schema: step_type(names, step),
            at: Some(step.at),
            members: step.callee.as_ref().map(|c| c.members.clone()).unwrap_or_default(),
            inner: step.callee.clone().filter(|c| c.is_pipeline),
        });
    }
    body
}

/// All steps: first their keys, then what they call, then the steps themselves, because a loop's templates may name
/// steps that come later.
fn steps(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    pipeline: &Pipeline<'_>,
    order: Order,
    scope: &mut Scope,
    slots: &mut Slots,
) -> Vec<StepId> {
    let own = Arc::make_mut(&mut scope.names);
    own.order = order;
    name_steps(reader, pipeline, own, slots);
    let names = own.roots(At::End);
    let callees: Vec<_> = pipeline
        .steps
        .iter()
        .zip(own.steps.iter().map(|s| s.at))
        .map(|(s, at)| callee(lowering, reader, s, at, &names))
        .collect();
    for (name, callee) in own.steps.iter_mut().zip(&callees) {
        if callee.as_ref().is_some_and(|c| c.is_pipeline) {
            name.exports = Some(slots.add(format!("{} (inner)", name.key)));
        }
        name.callee.clone_from(callee);
    }
    declare::steps(reader, subject, pipeline, own);
    let labels = labels(own);
    repeated_ids(reader, pipeline, own, &labels);
    let built = pipeline.steps.iter().enumerate();
    built.filter_map(|(i, s)| step::lower(lowering, reader, s, scope, i, labels.get(i)?.clone())).collect()
}

fn callee(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    step: &Step<'_>,
    at: Location,
    names: &[Arc<str>],
) -> Option<Arc<Signature>> {
    if lowering.depth >= MAX_DEPTH {
        let message = format!("agents call agents more than {MAX_DEPTH} levels deep here");
        reader.error("too-deep", step.span, message);
        return None;
    }
    lowering.depth += 1;
    let callee = match &step.target {
        Target::Ref(text) => lowering.reference(reader, text),
        Target::Inline(inner) => {
            let unclear = step.unclear && step.given.as_ref().is_none_or(Vec::is_empty);
            let given = step.given.as_ref().map(|all| all.iter().map(|t| (*t).clone()).collect());
            let outside = Outside { given, unclear, step: at, names: names.to_vec() };
            Some(agent::lower(lowering, reader, inner, Some(Arc::new(outside)), false))
        }
        Target::Nobody => None,
    };
    lowering.depth -= 1;
    callee
}

fn name_steps(reader: &Reader<'_>, pipeline: &Pipeline<'_>, scope: &mut AgentNames, slots: &mut Slots) {
    for (i, step) in pipeline.steps.iter().enumerate() {
        let (id, inline_key) = match &step.target {
            Target::Ref(text) => (AgentRef::parse(&text.value).map_or(&*text.value, |r| r.id), None),
            Target::Inline(agent) => (agent.name(), agent.state_key),
            Target::Nobody => ("", None),
        };
        let chosen = step.state_key.or(inline_key);
        if let (Some(own), Some(inner)) = (step.state_key, inline_key) {
            let message = "`stateKey` has no effect here: that of the step counts";
            let d = Diagnostic::warning("no-effect", reader.at(inner.span), message);
            reader.report(d.label(reader.at(own.span), "the output lands here"));
        }
        let key: Arc<str> = match chosen {
            Some(text) => text.value.clone(),
            // steps that call nobody (reported) must not collide with each other
            None if id.is_empty() => format!("step {}", i + 1).into(),
            None => state_key(id).into(),
        };
        let alias = (chosen.is_none() && id != &*key && !id.is_empty()).then(|| Arc::from(id));
        let place = named_at(step, chosen);
        let before = scope.named(&key).first().copied();
        if !id.is_empty() {
            check_key(reader, scope, &key, place, before.and_then(|b| pipeline.steps.get(b)));
        }
        let slot = before.and_then(|b| scope.steps.get(b)).map_or_else(|| slots.add(key.clone()), |s| s.slot);
        let when = step.when.map(|t| Arc::new(When::of(t)));
        let at = match (chosen, &step.target) {
            (Some(text), _) => text.content(),
            (None, Target::Ref(text)) => text.source(0..id.len() as u32),
            (None, Target::Inline(agent)) => agent.id.map_or(agent.head, |t| t.content()),
            (None, Target::Nobody) => step.span,
        };
        let by_ref = chosen.is_none() && matches!(step.target, Target::Ref(_));
        let at = reader.at(at);
        scope.add(StepName { at, key, alias, id: id.into(), slot, exports: None, callee: None, when, by_ref });
    }
}

/// What of a step says where its output lands.
fn named_at(step: &Step<'_>, chosen: Option<&Text>) -> Span {
    match (chosen, &step.target) {
        (Some(text), _) => text.span,
        (None, Target::Inline(agent)) => agent.id.map_or(agent.head, |t| t.span),
        (None, Target::Ref(_) | Target::Nobody) => step.span,
    }
}

fn check_key(reader: &Reader<'_>, scope: &AgentNames, key: &str, place: Span, before: Option<&Step<'_>>) {
    let at = reader.at(place);
    let rename = "give the step another `stateKey`";
    if let Some(property) = scope.inputs.get(key) {
        let d = Diagnostic::error("shadowed-name", at, format!("the output would hide the input `{key}`"));
        reader.report(d.label(reader.at(property.span), "the input").help(rename));
    } else if key == "userQuery" && scope.query.is_some() {
        reader
            .report(Diagnostic::error("shadowed-name", at, "the output would hide the input `userQuery`").help(rename));
    }
    if let Some(first) = before {
        let inline_key = match &first.target {
            Target::Inline(agent) => agent.state_key,
            Target::Ref(_) | Target::Nobody => None,
        };
        let place = reader.at(named_at(first, first.state_key.or(inline_key)));
        let d = if scope.order == Order::Parallel {
            Diagnostic::error("write-conflict", at, format!("two branches write `{key}`"))
        } else {
            Diagnostic::warning("state-key", at, format!("this step overwrites `{key}`"))
        };
        reader.report(d.label(place, "written here too").help(rename));
    }
    let readable = |c: char| !c.is_whitespace() && !"{}.|=!<>&()\"'#/+*,[]".contains(c);
    if NAMESPACES.contains(&key) || !key.chars().all(readable) {
        let message = format!("no template can name `{key}`");
        reader.report(Diagnostic::warning("state-key", at, message).help(rename));
    }
}

/// Agents of one id that are written in several steps: traces and events cannot tell them apart by it.
fn repeated_ids(reader: &Reader<'_>, pipeline: &Pipeline<'_>, scope: &AgentNames, labels: &[Arc<str>]) {
    let inline = |step: &Step<'_>| match &step.target {
        Target::Inline(agent) => agent.id.map(|t| t.span),
        Target::Ref(_) | Target::Nobody => None,
    };
    for (i, (step, label)) in scope.steps.iter().zip(labels).enumerate() {
        // Only a step whose id is taken is called by another name.
        let Some(at) = pipeline.steps.get(i).filter(|_| *label != step.id).and_then(inline) else { continue };
        let mut before = scope.steps.iter().zip(&pipeline.steps).take(i).filter(|(s, _)| s.id == step.id);
        // Of two that write one key more is said than that.
        let Some(first) = before.find(|(s, _)| s.key != step.key).and_then(|(_, written)| inline(written)) else {
            continue;
        };
        // One agent that two steps share by an alias can have no other id.
        if first == at {
            continue;
        }
        let message = format!("two agents of this pipeline have the id `{}`", step.id);
        let d = Diagnostic::warning("duplicate-id", reader.at(at), message);
        reader.report(d.label(reader.at(first), "the other one").help("give one of them another id"));
    }
}

/// What the steps are called in keys, events and traces: the agent's id; where that repeats, the state key, else a number.
fn labels(scope: &AgentNames) -> Vec<Arc<str>> {
    let mut taken: HashSet<Arc<str>> = HashSet::default();
    let mut repeats: HashMap<Arc<str>, usize> = HashMap::default();
    let label = |step: &StepName| {
        if taken.insert(step.id.clone()) {
            return step.id.clone();
        }
        if taken.insert(step.key.clone()) {
            return step.key.clone();
        }
        let n = repeats.entry(step.id.clone()).or_insert(1);
        loop {
            *n += 1;
            let label: Arc<str> = format!("{}~{n}", step.id).into();
            if taken.insert(label.clone()) {
                return label;
            }
        }
    };
    scope.steps.iter().map(label).collect()
}
