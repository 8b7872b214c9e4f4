//! One agent to one flow.

use trefoil_ir::{Budget, Export, Expr, Flow, OnExceeded, Refused, StepId, StepKind};
use trefoil_syntax::Location;

use super::{Lowering, intake, llm, pipeline, tool};
use crate::agntz::bind::BoundAgent;
use crate::agntz::lint::unresolved::NO_SECRETS;
use crate::agntz::manifest::{Kind, Refusal};
use crate::build::plain;

/// What a kind of agent makes of its flow.
pub struct Body {
    /// What it does; none: a reported error stands in the way.
    pub step: Option<StepId>,
    /// Its result, where it is not the step's.
    pub output: Option<Expr>,
    /// Inner results.
    pub exports: Vec<Export>,
}

impl Body {
    /// A body whose result is the step's.
    pub fn of(step: Option<StepId>) -> Self {
        Self { step, output: None, exports: Vec::new() }
    }
}

impl Lowering<'_, '_> {
    /// Lowers an agent, and those that it calls before it.
    pub(super) fn agent(&mut self, bound: &BoundAgent<'_>) {
        let agent = &bound.agent;
        let (body, sort) = match &agent.kind {
            Kind::Llm(llm) => (llm::lower(self, bound, llm), "agent"),
            Kind::Tool(tool) => (tool::lower(self, bound, tool), "agent"),
            Kind::Sequential(p) => (pipeline::sequential(self, bound, p), "pipeline"),
            Kind::Parallel(p) => (pipeline::parallel(self, bound, p), "pipeline"),
            Kind::Hosted(hosted) => (Body::of(Some(refused(self, bound, &hosted.refusal))), "agent"),
            Kind::Unknown => (Body::of(None), "agent"),
        };
        let intake = intake::intake(self, bound);
        let Some(step) = body.step else { return };
        let step = self.without_secrets(bound, step);
        if let Some(step) = self.builder.step_mut(step) {
            let at = agent.timeout_at.map(|at| Location::new(bound.at.file, at));
            (step.policy.timeout_ms, step.policy.timeout_at) = (agent.timeout_ms, at);
        }
        let flow = Flow {
            name: bound.id.clone(),
            sort,
            origin: bound.origin,
            slots: bound.slots.clone(),
            intake,
            init: Vec::new(),
            body: step,
            output: body.output,
            exports: body.exports,
            budget: agent.token_budget.map(budget),
        };
        self.builder.set_flow(bound.signature.flow, flow);
    }

    /// A step whose agent reads secrets: refused before anything runs, rather than run with empty values. What the agent
    /// would do stays in the plan.
    fn without_secrets(&mut self, bound: &BoundAgent<'_>, step: StepId) -> StepId {
        let Some(place) = bound.texts.secret else { return step };
        let refused = Refused { feature: "reading `secrets`".into(), message: NO_SECRETS.into() };
        let refused = self.builder.step(plain(StepKind::Refused(refused), place));
        self.builder.step(plain(StepKind::Sequence(vec![refused, step]), place))
    }
}

/// A step that stands for something that is not run.
pub fn refused(lowering: &mut Lowering<'_, '_>, bound: &BoundAgent<'_>, refusal: &Refusal) -> StepId {
    let step = Refused { feature: (&*refusal.feature).into(), message: refusal.help.into() };
    let mut step = plain(StepKind::Refused(step), Location::new(bound.at.file, refusal.span));
    step.label = bound.entry.then(|| bound.id.clone());
    lowering.builder.step(step)
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
