//! Lowers one agent to one flow.

use trefoil_ir::{Budget, Flow, OnExceeded};
use trefoil_syntax::Location;

use super::body::{Body, refused};
use super::{Lowering, intake, llm, pipeline, tool};
use crate::agntz::bind::BoundAgent;
use crate::agntz::manifest::Kind;

impl Lowering<'_, '_> {
    /// Lowers an agent, after the agents that it calls.
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
}

fn budget(tokens: u64) -> Budget {
    Budget {
        max_tokens: Some(tokens),
        max_duration_ms: None,
        max_calls: None,
        calls_at: None,
        max_cost_micro: None,
        on_exceeded: OnExceeded::Abort,
    }
}
