//! One agent to one flow.

use std::sync::Arc;

use trefoil_ir::{Budget, Export, Expr, Flow, OnExceeded, Position, Refused, Slot, SlotId, StepId, StepKind, types};
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::Value;

use super::text::{self, Scope};
use super::{Lowering, declare, intake, llm, output, pipeline, tool};
use crate::agntz::lint::unresolved::NO_SECRETS;
use crate::agntz::manifest::{Agent, Kind, Refusal};
use crate::agntz::names::{AgentNames, At, NAMESPACES, Outside, Purpose};
use crate::agntz::signature::{Exported, Inputs, Signature};
use crate::build::plain;
use crate::learn::Members;
use crate::read::Reader;

/// The slots of a flow being made.
#[derive(Default)]
pub struct Slots(Vec<Slot>);

impl Slots {
    /// A new slot.
    pub fn add(&mut self, name: impl Into<Arc<str>>) -> SlotId {
        self.0.push(Slot::new(name));
        SlotId(self.0.len() as u32 - 1)
    }
}

/// What a kind of agent makes of its flow.
pub struct Body {
    /// What it does; none: a reported error stands in the way.
    pub step: Option<StepId>,
    /// Its result, where it is not the step's.
    pub output: Option<Expr>,
    /// The type of the result.
    pub schema: Value,
    /// Where members of the result are declared.
    pub members: Members,
    /// Inner results.
    pub exports: Vec<Export>,
    /// The same for callers' names.
    pub exported: Vec<Exported>,
}

impl Body {
    /// A body whose result is the step's.
    pub fn of(step: Option<StepId>, schema: Value) -> Self {
        Self { step, output: None, schema, members: Members::default(), exports: Vec::new(), exported: Vec::new() }
    }
}

/// An agent and where it is.
pub struct Subject<'a, 'n> {
    /// The agent.
    pub agent: &'a Agent<'n>,
    /// Its id.
    pub id: Arc<str>,
    /// Where it is declared.
    pub origin: Location,
    /// Its name in the manifest.
    pub at: Location,
    /// It is what the run starts, so that no step around it carries its name.
    pub entry: bool,
}

/// Lowers an agent.
pub fn lower(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    agent: &Agent<'_>,
    outside: Option<Arc<Outside>>,
    entry: bool,
) -> Arc<Signature> {
    let flow = lowering.builder.reserve_flow();
    let origin = reader.at(agent.id.map_or(agent.head, |t| t.span));
    let at = reader.at(agent.id.map_or(agent.head, |t| t.content()));
    let subject = Subject { agent, id: agent.name().into(), origin, at, entry };
    let mut inputs = Inputs::of(agent);
    inputs.members = declare::inputs(reader, &subject, outside.as_deref());
    let inputs = Arc::new(inputs);
    shadowed_inputs(reader, &inputs);
    let mut slots = Slots::default();
    let input = slots.add("input");
    let query = inputs.has_query.then(|| slots.add("userQuery"));
    let mut names = AgentNames::new(inputs.clone(), input, query, outside.clone(), reader.file);
    let sends_input = matches!(&agent.kind, Kind::Llm(llm) if llm.prompt.is_none());
    names.raw = (sends_input && query.is_none()).then(|| slots.add("raw input"));
    let mut scope = Scope::new(names);
    let (body, sort) = match &agent.kind {
        Kind::Llm(llm) => (llm::lower(lowering, reader, &subject, llm, &mut scope), "agent"),
        Kind::Tool(tool) => (tool::lower(lowering, reader, &subject, tool, &mut scope), "agent"),
        Kind::Sequential(p) => {
            (pipeline::sequential(lowering, reader, &subject, p, &mut scope, &mut slots), "pipeline")
        }
        Kind::Parallel(p) => (pipeline::parallel(lowering, reader, &subject, p, &mut scope, &mut slots), "pipeline"),
        Kind::Hosted(hosted) => {
            for (text, position) in [(hosted.instruction, Position::System), (hosted.prompt, Position::User)] {
                text.map(|t| text::text(reader, &mut scope, t, At::End, Purpose::Prompt, position));
            }
            (Body::of(Some(refused(lowering, reader, &subject, &hosted.refusal)), types::any()), "agent")
        }
        Kind::Unknown => (Body::of(None, types::any()), "agent"),
    };
    declare::agent(reader, &subject, outside.as_deref(), &body.schema);
    let calls_model = match &agent.kind {
        Kind::Llm(_) => true,
        _ => scope.names.steps.iter().any(|s| s.when.is_none() && s.callee.as_ref().is_some_and(|c| c.calls_model)),
    };
    if calls_model {
        too_short(reader, agent);
    }
    let signature = Arc::new(Signature {
        calls_model,
        id: subject.id.clone(),
        members: body.members.clone(),
        flow,
        output: body.schema.clone(),
        exports: body.exported,
        prompted: scope.prompted.clone(),
        sends_input,
        reads_input: scope.reads_input,
        is_pipeline: matches!(agent.kind, Kind::Sequential(_) | Kind::Parallel(_)),
        inputs: (*inputs).clone(),
    });
    if let (true, Kind::Sequential(p) | Kind::Parallel(p), Some(expr)) = (entry, &agent.kind, &body.output)
        && let Some(map) = &p.output
    {
        output::masked(reader, map, expr);
    }
    let intake = intake::intake(lowering, reader, &subject, &inputs, &scope.names);
    if let Some(step) = body.step {
        let step = without_secrets(lowering, &scope, step);
        set_timeout(lowering, reader, step, agent);
        let flow_body = Flow {
            name: subject.id,
            sort,
            origin,
            slots: slots.0,
            intake,
            init: Vec::new(),
            body: step,
            output: body.output,
            exports: body.exports,
            budget: agent.token_budget.map(budget),
        };
        lowering.builder.set_flow(flow, flow_body);
    }
    signature
}

/// A step that stands for something that is not run, and the warning that names it.
pub fn refused(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    subject: &Subject<'_, '_>,
    refusal: &Refusal,
) -> StepId {
    warn_refused(reader, refusal);
    let step = Refused { feature: (&*refusal.feature).into(), message: refusal.help.into() };
    let mut step = plain(StepKind::Refused(step), reader.at(refusal.span));
    step.label = subject.entry.then(|| subject.id.clone());
    lowering.builder.step(step)
}

/// A step whose agent reads secrets: refused before anything runs, rather than run with empty values. What the agent would
/// do stays in the plan.
fn without_secrets(lowering: &mut Lowering<'_>, scope: &Scope, step: StepId) -> StepId {
    let Some(place) = scope.secret else { return step };
    let refused = Refused { feature: "reading `secrets`".into(), message: NO_SECRETS.into() };
    let refused = lowering.builder.step(plain(StepKind::Refused(refused), place));
    lowering.builder.step(plain(StepKind::Sequence(vec![refused, step]), place))
}

/// The warning that names a refused feature.
pub fn warn_refused(reader: &Reader<'_>, refusal: &Refusal) {
    let message = format!("`{}` is not supported yet: a run that can reach it does not start", refusal.feature);
    reader.report(Diagnostic::warning("refused", reader.at(refusal.span), message).help(refusal.help));
}

fn set_timeout(lowering: &mut Lowering<'_>, reader: &Reader<'_>, step: StepId, agent: &Agent<'_>) {
    let at = agent.timeout_at.map(|at| reader.at(at));
    if let Some(step) = lowering.builder.step_mut(step) {
        (step.policy.timeout_ms, step.policy.timeout_at) = (agent.timeout_ms, at);
    }
}

/// Next to no model answers within a fifth of a second: who writes so few milliseconds meant seconds.
fn too_short(reader: &Reader<'_>, agent: &Agent<'_>) {
    let (Some(ms), Some(at)) = (agent.timeout_ms.filter(|ms| *ms <= 200), agent.timeout_at) else { return };
    let message = format!("`timeoutMs` is in milliseconds; hardly any model answers within {ms} ms");
    let meant = ms.saturating_mul(1000).to_string();
    let d =
        Diagnostic::warning("out-of-range", reader.at(at), message).help(format!("for {ms} seconds write `{meant}`"));
    reader.report(d.suggestion(format!("write `{meant}`"), reader.at(at), meant));
}

fn budget(tokens: u64) -> Budget {
    Budget {
        max_tokens: Some(tokens),
        max_duration_ms: None,
        max_calls: None,
        calls_at: None,
        on_exceeded: OnExceeded::Abort,
    }
}

/// An input property named like a namespace can never be read.
fn shadowed_inputs(reader: &Reader<'_>, inputs: &Inputs) {
    for property in inputs.properties.iter().filter(|p| NAMESPACES.contains(&&*p.name)) {
        let name = &property.name;
        let message = format!("the input `{name}` is hidden by the namespace `{name}`");
        reader.warning("no-effect", property.span, message);
    }
}
