//! Lowers one agent to one flow.

use trefoil_ir::{Budget, FlowDefinition, OnExceeded};
use trefoil_syntax::Location;

use super::body::{AgntzFlowBody, refused_step};
use super::{AgntzLowering, intake, llm, pipeline, tool};
use crate::agntz::binding::BoundAgent;
use crate::agntz::manifest::AgntzAgentKind;

impl AgntzLowering<'_, '_> {
    /// Lowers an agent, after the agents that it calls.
    pub(super) fn lower_agent(&mut self, bound: &BoundAgent<'_>) {
        let agent = &bound.agent;
        let (body, sort) = match &agent.kind {
            AgntzAgentKind::Llm(llm) => (llm::lower_llm(self, bound, llm), "agent"),
            AgntzAgentKind::Tool(tool) => (tool::lower_tool(self, bound, tool), "agent"),
            AgntzAgentKind::Sequential(p) => (pipeline::lower_sequential(self, bound, p), "pipeline"),
            AgntzAgentKind::Parallel(p) => (pipeline::lower_parallel(self, bound, p), "pipeline"),
            AgntzAgentKind::Hosted(hosted) => {
                (AgntzFlowBody::from_step(Some(refused_step(self, bound, &hosted.refusal))), "agent")
            }
            AgntzAgentKind::Unknown => (AgntzFlowBody::from_step(None), "agent"),
        };
        let intake = intake::build_intake(self, bound);
        let Some(step) = body.step else { return };
        if let Some(step) = self.builder.step_mut(step) {
            let at = agent.timeout_at.map(|at| Location::new(bound.at.file, at));
            (step.policy.timeout_ms, step.policy.timeout_at) = (agent.timeout_ms, at);
        }
        let flow = FlowDefinition {
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
