//! How long each thing in a run may take, and the parts that are given more time than what contains them.

use trefoil_ir::walk::children_of;
use trefoil_ir::{FlowId, Program, StepId, StepKind};
use trefoil_syntax::Location;
use trefoil_syntax::hash::HashSet;

use super::shell::find_waits;

/// Something with a time limit, or that takes some time.
#[derive(Debug, Clone)]
pub struct TimedPart {
    /// What it is, for messages.
    pub what: String,
    /// The time in milliseconds.
    pub ms: u64,
    /// Whether it takes all of that time, and not at most.
    pub exact: bool,
    /// Where the time is declared; `None`: it is a default.
    pub at: Option<Location>,
    /// Where the thing itself is declared.
    pub origin: Location,
    /// The flow that runs in it.
    flow: Option<FlowId>,
}

/// A step with its flow.
type FlowStep = (FlowId, StepId);

/// Everything with a time limit in these steps that contains parts with more time, and these parts, the longest first.
pub fn find_exceeded_limits(program: &Program, steps: &[FlowStep]) -> Vec<(TimedPart, Vec<TimedPart>)> {
    let mut found = Vec::new();
    for place in steps {
        let (parts, inner) = inner_parts(program, *place);
        for part in &parts {
            let Some(flow) = part.flow else { continue };
            let body = (flow, program.flows[flow].body);
            found.push((part.clone(), longer(program, part.ms, Vec::new(), vec![body])));
        }
        if let Some(whole) = limit(program, *place) {
            let longer = longer(program, whole.ms, parts, inner);
            found.push((whole, longer));
        }
    }
    found.retain(|(_, longer)| !longer.is_empty());
    found
}

/// The declared times in these parts and steps that are longer. What is in a part with a shorter limit is limited by that.
fn longer(program: &Program, ms: u64, mut parts: Vec<TimedPart>, mut steps: Vec<FlowStep>) -> Vec<TimedPart> {
    let (mut found, mut seen) = (Vec::new(), HashSet::default());
    loop {
        for part in parts.drain(..) {
            if part.ms <= ms {
                continue;
            }
            if part.at.is_some() {
                found.push(part);
            } else if let Some(flow) = part.flow {
                steps.push((flow, program.flows[flow].body));
            }
        }
        let Some(place) = steps.pop() else { break };
        if !seen.insert(place) {
            continue;
        }
        match limit(program, place) {
            Some(limit) if limit.ms <= ms => continue,
            // A caller may give less time than an agent allows for all that it does.
            Some(limit) if limit.at.is_some() && !is_total(program, place) => parts.push(limit),
            _ => {
                let (more, inner) = inner_parts(program, place);
                parts.extend(more);
                steps.extend(inner);
            }
        }
    }
    found.sort_by_key(|part| std::cmp::Reverse(part.ms));
    found
}

/// Whether the limit of a step is that of a whole flow with several steps.
fn is_total(program: &Program, (flow, id): FlowStep) -> bool {
    let several = |kind: &StepKind| matches!(kind, StepKind::Attempts(_) | StepKind::Sequence(_));
    program.flows[flow].body == id && several(&program.steps[id].kind)
}

/// The time limit of a step itself.
fn limit(program: &Program, (flow, id): FlowStep) -> Option<TimedPart> {
    let step = &program.steps[id];
    let ms = step.policy.timeout_ms?;
    let name = step.label.as_ref().unwrap_or(&program.flows[flow].name);
    let (at, origin) = (step.policy.timeout_at, step.origin);
    let what = match &step.kind {
        StepKind::Model(_) | StepKind::Conversation(_) => format!("an answer of `{name}`"),
        _ => format!("`{name}`"),
    };
    Some(TimedPart { what, ms, exact: false, at, origin, flow: None })
}

/// The parts of a step that are no steps, and the steps in it.
fn inner_parts(program: &Program, (flow, id): FlowStep) -> (Vec<TimedPart>, Vec<FlowStep>) {
    let step = &program.steps[id];
    let name = step.label.as_ref().unwrap_or(&program.flows[flow].name);
    let timed = |what: String, ms, at| TimedPart { what, ms, exact: false, at, origin: step.origin, flow: None };
    let mut steps: Vec<FlowStep> = children_of(step).into_iter().map(|child| (flow, child)).collect();
    let mut parts = Vec::new();
    match &step.kind {
        StepKind::Model(call) => {
            if let Some(ms) = call.parameters.timeout_ms {
                let at = call.places.iter().find(|(name, _)| *name == "timeout_ms").map(|(_, at)| *at);
                parts.push(timed(format!("a model call of `{name}`"), ms, at));
            }
        }
        // A person is given the default time as well.
        StepKind::Human(call) => {
            if let Some(ms) = call.timeout_ms {
                let at = step.policy.timeout_at.unwrap_or(step.origin);
                parts.push(timed(format!("the answer to `{name}`"), ms, Some(at)));
            }
        }
        StepKind::Wait { ms } => {
            parts.push(TimedPart { exact: true, ..timed(format!("`{name}`"), *ms, Some(step.origin)) });
        }
        StepKind::Command(call) => {
            for (words, ms, exact) in find_waits(&call.script) {
                parts.push(TimedPart { exact, ..timed(format!("`{words}`"), ms, Some(step.origin)) });
            }
        }
        StepKind::Refused(refused) => {
            for (name, ms, at) in &refused.limits {
                parts.push(timed(format!("`{name}`"), *ms, Some(*at)));
            }
        }
        StepKind::ForEach(each) => {
            if let Some(ms) = each.timeout_ms {
                let at = if step.policy.timeout_ms.is_none() { step.policy.timeout_at } else { None };
                let item = timed(format!("an item of `{name}`"), ms, at);
                parts.push(TimedPart { flow: Some(each.body), ..item });
            }
        }
        StepKind::Attempts(attempts) => {
            for judge in attempts.all_judges() {
                let Some(ms) = judge.timeout_ms else { continue };
                let part = timed(format!("the judge `{}`", judge.name), ms, judge.timeout_at);
                parts.push(TimedPart { flow: Some(judge.flow), ..part });
            }
        }
        StepKind::Call(call) => {
            for flow in call.callee.possible_flows() {
                steps.push((flow, program.flows[flow].body));
            }
        }
        _ => {}
    }
    (parts, steps)
}
