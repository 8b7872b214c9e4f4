//! Swarms: agents that answer at the same time, then a synthesis or the list of what they said. A node of its own, or
//! what a factory does for every item.

use std::sync::Arc;

use trefoil_ir::{Expr, OnItemFailure, Parallel, Part, Position, SlotId, Source, Step, StepId, StepKind, StepPolicy};
use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;
use trefoil_template::Value;

use super::flow::{Made, Workflow};
use super::node::Lowered;
use super::scope::{Reading, Scope};
use super::texts;
use crate::sirenspec::manifest::{Member, Swrm, Synthesis};

/// Lowers a swrm node: `{output, agents: {ID: {output}}}`.
pub fn lower(flow: &Workflow<'_, '_>, made: &mut Made<'_>, at: usize, swrm: &Swrm<'_>) -> Option<Lowered> {
    let members = flow.names.nodes.get(at).map(|n| n.members.clone())?;
    let scope = Scope::new(flow, Reading::Node(at));
    let kind = steps(flow, made, &scope, &members, swrm);
    let mut lowered = Lowered::new(kind);
    let parts = members.into_iter().map(|(id, slot)| Part { at: vec![id], slot, member: Vec::new() }).collect();
    lowered.shape = Some(Expr::Object(vec![
        ("output".into(), Expr::Read(Source::Result)),
        ("agents".into(), Expr::Read(Source::Compose { seed: Value::Object(Arc::default()), parts })),
    ]));
    Some(lowered)
}

/// Says of agents that their answers go nowhere: a synthesis is sent its prompt and nothing else (decision S5).
fn unread(scope: &Scope<'_, '_, '_>, swrm: &Swrm<'_>, synthesis: &Synthesis<'_>) {
    let (flow, Reading::Node(me)) = (scope.flow, scope.who) else { return };
    let Some(prompt) = synthesis.prompt else { return };
    let silent =
        |text: &Text| swrm.members.iter().filter(|m| !names_agent(&text.value, &swrm.members, &m.id.value)).count();
    if silent(prompt) == 0 {
        return;
    }
    // Of a swarm that is a node others can read the answers too.
    let mut texts = vec![prompt];
    if scope.body.is_none() {
        let nodes = flow.manifest.nodes.iter().flat_map(|node| texts::of_node(flow.manifest, node));
        let all = nodes.chain(flow.manifest.edges.iter().filter_map(|edge| edge.when));
        texts.extend(all.filter(|text| text.value.contains("agents")));
    }
    for member in &swrm.members {
        let id = &member.id.value;
        if texts.iter().any(|text| names_agent(&text.value, &swrm.members, id)) {
            continue;
        }
        let path = format!("{}.agents.{id}.output", scope.id(me));
        let message = format!("the answer of `{id}` has no effect: nothing reads `{path}`");
        let d = Diagnostic::warning("no-effect", flow.reader.at(member.id.span), message);
        let d = d.label(flow.reader.at(prompt.span), "the synthesis is sent this and nothing else");
        flow.reader.report(d.help(format!("write `{{{{ {path} }}}}` into the prompt of the synthesis")));
    }
}

/// Whether a text may read the answer of an agent: it has a path through the agent's id, or to all `agents`, or to one that
/// there is not, which may be a slip for this one. Rather yes than no.
fn names_agent(text: &str, members: &[Member<'_>], id: &str) -> bool {
    // No path can be told to be or not to be through such a one.
    if id.contains('.') {
        return true;
    }
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.split(|c| !word(c)).map(|path| path.trim_matches('.')).filter(|path| path.contains('.')).any(|path| {
        let behind = path.split_once("agents").map(|(_, rest)| rest.trim_start_matches('.').split('.').next());
        let behind = behind.map(|name| name.unwrap_or_default());
        path.split('.').any(|segment| segment == id)
            || behind.is_some_and(|name| !members.iter().any(|m| *m.id.value == *name))
    })
}

/// The agents' steps and what sums them up; the result is the swarm's output.
pub fn steps(
    flow: &Workflow<'_, '_>,
    made: &mut Made<'_>,
    scope: &Scope<'_, '_, '_>,
    members: &[(Arc<str>, SlotId)],
    swrm: &Swrm<'_>,
) -> StepKind {
    let branches: Vec<StepId> = swrm
        .members
        .iter()
        .zip(members)
        .map(|(member, (_, slot))| {
            let id = &member.id.value;
            let kind = call(flow, made, scope, id.clone(), &member.call);
            made.builder.step(Step {
                kind,
                label: Some(id.clone()),
                origin: flow.reader.at(member.id.span),
                when: None,
                out: Some(*slot),
                shape: Some(Expr::Object(vec![("output".into(), Expr::Read(Source::Result))])),
                policy: StepPolicy::default(),
            })
        })
        .collect();
    let origin = swrm.members.first().map_or_else(Default::default, |m| m.id.span);
    let parallel = Parallel { branches, concurrency: swrm.concurrency, on_failure: swrm.on_failure };
    let parallel = made.builder.step(crate::build::plain(StepKind::Parallel(parallel), flow.reader.at(origin)));
    if let Some(synthesis) = &swrm.synthesis {
        unread(scope, swrm, synthesis);
    }
    let last = match &swrm.synthesis {
        Some(synthesis) => {
            let scope = Scope {
                own: members,
                partial: swrm.on_failure == OnItemFailure::Continue,
                flow: scope.flow,
                who: scope.who,
                body: scope.body,
                decides: None,
            };
            let taken = members.iter().any(|(id, _)| &**id == "synthesis");
            let name: Arc<str> = if taken { "(synthesis)".into() } else { "synthesis".into() };
            let kind = call(flow, made, &scope, name.clone(), synthesis);
            let mut step = crate::build::plain(kind, flow.reader.at(synthesis.origin));
            step.label = Some(name);
            step
        }
        None => crate::build::plain(StepKind::Compute(list(members)), flow.reader.at(origin)),
    };
    let last = made.builder.step(last);
    StepKind::Sequence(vec![parallel, last])
}

/// A prompt as a user message without a system message (decision S5).
fn call(
    flow: &Workflow<'_, '_>,
    made: &mut Made<'_>,
    scope: &Scope<'_, '_, '_>,
    speaker: Arc<str>,
    call: &Synthesis<'_>,
) -> StepKind {
    let user = flow.text_or(scope, Position::User, call.prompt);
    let guards = flow.guards(made, call.guardrails.as_ref());
    StepKind::Model(Box::new(flow.call(speaker, call.model.as_ref(), user, guards)))
}

/// The agents' texts in order; empty text for one that failed.
fn list(members: &[(Arc<str>, SlotId)]) -> Expr {
    let text = |slot: SlotId| {
        let source = Source::Member(slot, vec!["output".into()]);
        let then = Box::new(Expr::Read(source.clone()));
        Expr::If { source, then, otherwise: Box::new(Expr::Const(Value::from(""))) }
    };
    Expr::List(members.iter().map(|(_, slot)| text(*slot)).collect())
}
