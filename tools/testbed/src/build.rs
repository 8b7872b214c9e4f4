//! Builds programs for tests in a form similar to a manifest. Names in `{{...}}` are slots of the current flow.

use std::sync::Arc;

use trefoil_ir::{
    AnswerFormat, BoundCondition, BoundTemplate, BranchArm, FanOutItems, FlowCallee, FlowDefinition, FlowId, ForEach,
    GraphEdge, GraphNode, IndexVec, Intake, ModelCall, ModelChoice, ModelParameters, NodeId, OnItemFailure,
    ParallelSteps, Program, ProgramParts, ProgramSchema, Retry, RetryBackoff, RetryOn, SchemaId, Slot, SlotId, Source,
    Step, StepGraph, StepId, StepKind, StepLoop, StepPolicy, SubflowCall, ValueExpression,
};
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::{Condition, Policy, ReferenceBinding, Template, Value};

pub fn nowhere() -> Location {
    Location::new(FileId(0), Span::new(0, 0))
}

/// A program being built, and the slots of its current flow.
pub struct Build {
    pub flows: IndexVec<FlowId, Option<FlowDefinition>>,
    pub steps: IndexVec<StepId, Step>,
    pub schemas: IndexVec<SchemaId, ProgramSchema>,
    pub policy: Policy,
    pub slots: Vec<Arc<str>>,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            flows: IndexVec::default(),
            steps: IndexVec::default(),
            schemas: IndexVec::default(),
            policy: Policy::AGNTZ,
            slots: vec!["input".into()],
        }
    }
}

impl Build {
    pub fn new() -> Self {
        Self::default()
    }

    /// The slot with this name, created if it is new. `input` always exists.
    pub fn slot(&mut self, name: &str) -> SlotId {
        let at = self.slots.iter().position(|s| **s == *name).unwrap_or_else(|| {
            self.slots.push(name.into());
            self.slots.len() - 1
        });
        SlotId(at as u32)
    }

    fn source(&mut self, root: &str) -> (Source, u16) {
        match root {
            "env" => (Source::Environment, 1),
            "secrets" => (Source::Secrets, 1),
            "result" => (Source::Result, 1),
            "failure" => (Source::Failure, 1),
            "run" => (Source::RunId, 1),
            name => (Source::Slot(self.slot(name)), 1),
        }
    }

    pub fn text(&mut self, text: &str) -> BoundTemplate {
        let policy = self.policy;
        let mut template = Template::parse(text, &policy).expect("the template is well formed");
        let mut sources = Vec::new();
        let mut spans = Vec::new();
        template.bind_references(|r| {
            let (source, skip) = self.source(&r.path[0].name);
            sources.push(source);
            spans.push(Span::new(r.span.start, r.span.end));
            ReferenceBinding { source: sources.len() as u32 - 1, skip }
        });
        BoundTemplate {
            template,
            sources,
            origin: nowhere(),
            spans,
            locals: Vec::new(),
            literals: Vec::new(),
            written: Vec::new(),
        }
    }

    pub fn cond(&mut self, text: &str) -> BoundCondition {
        let policy = self.policy;
        let mut condition = Condition::parse(text, &policy).expect("the condition is well formed");
        let mut sources = Vec::new();
        condition.bind_references(|r| {
            let (source, skip) = self.source(&r.path[0].name);
            sources.push(source);
            ReferenceBinding { source: sources.len() as u32 - 1, skip }
        });
        BoundCondition {
            spans: vec![nowhere().span; condition.references().len()],
            condition,
            sources,
            origin: nowhere(),
            text: text.into(),
            written: Vec::new(),
        }
    }

    /// A typed value: a lone placeholder keeps its type.
    pub fn value(&mut self, text: &str) -> ValueExpression {
        ValueExpression::Typed(self.text(text))
    }

    pub fn step(&mut self, label: &str, kind: StepKind) -> StepId {
        let label = (!label.is_empty()).then(|| label.into());
        self.steps.push(Step {
            kind,
            label,
            origin: nowhere(),
            when: None,
            out: None,
            shape: None,
            policy: StepPolicy::default(),
        })
    }

    pub fn at(&mut self, id: StepId) -> &mut Step {
        &mut self.steps[id]
    }

    pub fn out(&mut self, id: StepId, slot: &str) -> StepId {
        let slot = self.slot(slot);
        self.at(id).out = Some(slot);
        id
    }

    pub fn when(&mut self, id: StepId, cond: &str) -> StepId {
        let cond = self.cond(cond);
        self.at(id).when = Some(cond);
        id
    }

    /// A model call whose result is stored in the slot of its label.
    pub fn model(&mut self, label: &str, user: &str) -> StepId {
        let call = self.model_call(label, user);
        let id = self.step(label, StepKind::Model(Box::new(call)));
        if label.is_empty() { id } else { self.out(id, label) }
    }

    pub fn model_call(&mut self, speaker: &str, user: &str) -> ModelCall {
        ModelCall {
            speaker: speaker.into(),
            model: ModelChoice { provider: None, name: "test".into(), origin: nowhere() },
            system: None,
            examples: Vec::new(),
            user: ValueExpression::Template(self.text(user)),
            parameters: ModelParameters::default(),
            places: Vec::new(),
            format: AnswerFormat::Text,
            guards: Vec::new(),
            stream: true,
        }
    }

    /// A model call whose answer matches a schema.
    pub fn model_with(&mut self, label: &str, schema: serde_json::Value) -> StepId {
        let schema = self.schema(schema);
        let id = self.model(label, "{{input}}");
        self.call_of(id).format = AnswerFormat::Json(schema);
        id
    }

    /// The call of a model step.
    pub fn call_of(&mut self, id: StepId) -> &mut ModelCall {
        match &mut self.at(id).kind {
            StepKind::Model(call) => call,
            other => panic!("not a model step: {other:?}"),
        }
    }

    /// A step that returns its label.
    pub fn mark(&mut self, label: &str) -> StepId {
        self.step(label, StepKind::Compute(ValueExpression::Const(label.into())))
    }

    pub fn compute(&mut self, label: &str, value: &str) -> StepId {
        let value = self.value(value);
        let id = self.step(label, StepKind::Compute(value));
        if label.is_empty() { id } else { self.out(id, label) }
    }

    pub fn wait(&mut self, label: &str, ms: u64) -> StepId {
        self.step(label, StepKind::Wait { ms })
    }

    pub fn sequence(&mut self, label: &str, steps: &[StepId]) -> StepId {
        self.step(label, StepKind::Sequence(steps.to_vec()))
    }

    pub fn parallel(&mut self, label: &str, branches: &[StepId], on_failure: OnItemFailure) -> StepId {
        let kind = StepKind::Parallel(ParallelSteps { branches: branches.to_vec(), concurrency: None, on_failure });
        self.step(label, kind)
    }

    pub fn branch(&mut self, label: &str, arms: &[(&str, StepId)], otherwise: Option<StepId>) -> StepId {
        let arms = arms.iter().map(|(when, step)| BranchArm { when: self.cond(when), step: *step }).collect();
        self.step(label, StepKind::Branch { arms, otherwise })
    }

    pub fn repeat(&mut self, label: &str, body: StepId, until: &str, max: u32) -> StepId {
        let until = self.cond(until);
        self.step(label, StepKind::Loop(Box::new(StepLoop { body, until, max })))
    }

    /// A fan-out over a list; the body reads `item`, `index` and `total`, which must be slots 1 to 3 of its flow.
    pub fn for_each(&mut self, label: &str, items: &str, body: FlowId, on_failure: OnItemFailure) -> StepId {
        let items = FanOutItems::List(self.value(items));
        let kind = StepKind::ForEach(Box::new(ForEach {
            items,
            body,
            item: Some(SlotId(1)),
            index: SlotId(2),
            total: SlotId(3),
            captures: Vec::new(),
            concurrency: None,
            timeout_ms: None,
            on_failure,
            failed: Value::Null,
        }));
        let id = self.step(label, kind);
        if label.is_empty() { id } else { self.out(id, label) }
    }

    pub fn call(&mut self, label: &str, flow: FlowId, input: &str) -> StepId {
        let input = Some(self.value(input));
        let id = self.step(
            label,
            StepKind::Call(Box::new(SubflowCall { callee: FlowCallee::Flow(flow), input, exports: None, span: None })),
        );
        if label.is_empty() { id } else { self.out(id, label) }
    }

    pub fn graph(&mut self, label: &str, nodes: Vec<GraphNode>) -> StepId {
        self.step(label, StepKind::Graph(StepGraph { nodes: nodes.into() }))
    }

    pub fn edge(&mut self, from: u32, when: &str) -> GraphEdge {
        let when = (!when.is_empty()).then(|| self.cond(when));
        GraphEdge { from: NodeId(from), when, carry: None, origin: nowhere() }
    }

    pub fn schema(&mut self, json: serde_json::Value) -> SchemaId {
        self.schemas.push(ProgramSchema { name: "answer".into(), json: Value::from_json(json), origin: nowhere() })
    }

    /// Starts the body of a fan-out: its slots are `input`, `item`, `index`, `total`.
    pub fn begin_item(&mut self) {
        for name in ["item", "index", "total"] {
            self.slot(name);
        }
    }

    /// Ends the current flow; the next one starts with new slots.
    pub fn flow(&mut self, name: &str, body: StepId, output: Option<&str>) -> FlowId {
        let output = output.map(|o| self.value(o));
        let slots = std::mem::replace(&mut self.slots, vec!["input".into()]);
        self.flows.push(Some(FlowDefinition {
            name: name.into(),
            sort: "pipeline",
            origin: nowhere(),
            slots: slots.into_iter().map(Slot::new).collect(),
            intake: intake(),
            init: Vec::new(),
            body,
            output,
            exports: Vec::new(),
            budget: None,
        }))
    }

    pub fn flow_mut(&mut self, id: FlowId) -> &mut FlowDefinition {
        self.flows[id].as_mut().expect("the flow is built")
    }

    pub fn program(self, entry: FlowId) -> Arc<Program> {
        let flows: IndexVec<FlowId, FlowDefinition> =
            self.flows.into_iter().map(|f| f.expect("every flow is built")).collect();
        let parts = ProgramParts {
            name: flows[entry].name.clone(),
            flows,
            steps: self.steps,
            schemas: self.schemas,
            entry,
            hash: 7,
            missing_agents: Vec::new(),
            client_tools: Vec::new(),
        };
        Arc::new(Program::new(parts).expect("the program is valid"))
    }
}

/// A node without predecessors.
pub fn graph_node(step: StepId) -> GraphNode {
    GraphNode { step, incoming: vec![], after: vec![], fallback_of: vec![], fallback: None }
}

pub fn retry(max_attempts: u32, on: &[RetryOn]) -> Retry {
    Retry {
        max_attempts,
        backoff: RetryBackoff::Constant,
        base_delay_ms: 100,
        max_delay_ms: 1000,
        jitter: false,
        on: on.to_vec(),
    }
}

pub fn intake() -> Intake {
    Intake { slot: SlotId(0), wrap: None, fields: Vec::new(), closed: false, tolerated: &[], schema: None, raw: None }
}
