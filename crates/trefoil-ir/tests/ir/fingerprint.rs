//! A fingerprint depends on everything that can change what a run does, and on nothing else.

use std::sync::Arc;

use expect_test::expect;
use testbed::build::{Build, graph_node, nowhere, retry};
use trefoil_ir::expr::WeightedVerdict;
use trefoil_ir::printer::canonical_text;
use trefoil_ir::types::ValueType;
use trefoil_ir::{
    AnswerFormat, Attempts, BindingFault, Budget, CommandCall, ComposedPart, ConsensusRule, ConsensusStrategy,
    FanOutItems, FlowCallee, FlowDefinition, FlowExport, FlowId, FlowInputField, Guard, HumanCall, JsonType, Judge,
    MatchedOutcome, ModelCallExample, NodeId, OnExceeded, OnItemFailure, OnStepFailure, OnTimeout, PiiAction,
    PiiEntity, Program, ProgramParts, RetryBackoff, RetryOn, SchemaId, SlotId, Source, StateId, StateMachine,
    StateTransition, Step, StepId, StepKind, SubflowCall, ToolCall, ToolKind, UnsupportedFeature, Validator,
    ValidatorKind, ValueExpression, WorkflowState,
};
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::{MissingCause, Policy, Value};

/// A program with a step of every kind and a value in every field. It need not make sense.
fn everything() -> Program {
    let mut b = Build::new();
    assert_eq!(b.mark("spare"), SPARE);
    b.begin_item();
    let body = b.mark("inner");
    let inner = b.flow("inner", body, None);

    let mut steps = Vec::new();
    let model = b.model("ask", "say {{input.x}}");
    let call = b.call_of(model);
    call.system = Some(ValueExpression::Const("be brief".into()));
    call.examples = vec![ModelCallExample { input: "1".into(), output: "2".into() }];
    call.model.provider = Some("openai".into());
    call.guards = vec![
        Guard::Length { max_chars: 9, refuse: false },
        Guard::TokenCap { max_tokens: 9, warn: false },
        Guard::Pii { entities: vec![PiiEntity::Email], action: PiiAction::Redact, replacement: "X".into() },
    ];
    call.parameters.temperature = Some(0.5);
    b.at(model).policy.retry = Some(retry(2, &[RetryOn::Network]));
    b.at(model).policy.timeout_ms = Some(5);
    b.at(model).policy.on_failure = OnStepFailure::Use(Box::new(ValueExpression::Const(1i64.into())));
    b.at(model).shape = Some(ValueExpression::Read(Source::Result));
    steps.push(b.when(model, "{{input.x}} == 1"));
    let arguments = ValueExpression::Object(vec![("a".into(), ValueExpression::Read(Source::Slot(SlotId(0))))]);
    let tool = ToolCall { name: "tool".into(), kind: ToolKind::for_mcp_server("s"), arguments };
    steps.push(b.step("tool", StepKind::Tool(Box::new(tool))));
    let command = CommandCall {
        script: "echo \"${1}\"".into(),
        arguments: vec![ValueExpression::Const("a".into())],
        env: vec![("E".into(), ValueExpression::Const("e".into()))],
        workdir: Some(ValueExpression::Const("/".into())),
    };
    steps.push(b.step("command", StepKind::Command(Box::new(command))));
    let human = HumanCall {
        prompt: ValueExpression::Const("?".into()),
        timeout_ms: Some(1),
        on_timeout: OnTimeout::Answer("no".into()),
        answer_at: None,
    };
    steps.push(b.step("human", StepKind::Human(Box::new(human))));
    steps.push(b.wait("wait", 3));
    steps.push(b.compute("value", "{{input}}"));
    let branches = [b.mark("p"), b.mark("q")];
    steps.push(b.parallel("parallel", &branches, OnItemFailure::Abort));
    let (arm, other) = (b.mark("arm"), b.mark("other"));
    steps.push(b.branch("branch", &[("{{input.x}} == 2", arm)], Some(other)));
    let repeated = b.mark("repeated");
    steps.push(b.repeat("loop", repeated, "{{input.x}} == 3", 4));
    let each = b.for_each("each", "{{input.list}}", inner, OnItemFailure::Continue);
    if let StepKind::ForEach(each) = &mut b.at(each).kind {
        each.captures = vec![(SlotId(1), Source::Slot(SlotId(0)))];
    }
    steps.push(each);
    let mut nodes: Vec<_> = ["a", "b", "c", "d"].map(|name| graph_node(b.mark(name))).into();
    nodes[1].incoming = vec![b.edge(0, "{{input.x}} == 4")];
    nodes[1].incoming[0].carry = Some((SlotId(0), Source::RunId));
    nodes[1].fallback = Some(NodeId(2));
    nodes[2].fallback_of = vec![NodeId(1)];
    nodes[2].after = vec![NodeId(0)];
    steps.push(b.graph("graph", nodes));
    let transition = StateTransition {
        takes: MatchedOutcome::Success,
        when: Some(b.cond("{{input.x}} == 5")),
        target: StateId(1),
        target_at: nowhere(),
        feedback: Some(b.text("more {{input.y}}")),
        origin: nowhere(),
        text: "score_above 0.8".into(),
    };
    let state = WorkflowState {
        name: "S".into(),
        step: b.mark("S"),
        failed: Some(ValueExpression::Read(Source::Failure)),
        max_visits: 2,
        max_visits_at: None,
        transitions: vec![transition],
        ends_unmatched: false,
        fails_when: Some(b.cond("{{input.x}} == 6")),
    };
    let last = WorkflowState { name: "T".into(), step: b.mark("T"), transitions: vec![], ..state.clone() };
    steps.push(b.step(
        "machine",
        StepKind::StateMachine(StateMachine {
            states: vec![state, last].into(),
            initial: StateId(0),
            max_entries: 7,
            max_entries_at: None,
            feedback: Some(SlotId(0)),
            previous_error: Some(SlotId(0)),
            visit: Some(SlotId(0)),
        }),
    ));
    let consensus = ConsensusRule {
        strategy: ConsensusStrategy::Majority,
        threshold: 0.5,
        min_judges: 1,
        n: None,
        agreement_factor: 0.5,
        confidence_factor: 0.5,
    };
    let judge = Judge {
        name: "j".into(),
        flow: inner,
        input: ValueExpression::Read(Source::Result),
        weight: 1.0,
        timeout_ms: Some(1),
        timeout_at: None,
    };
    let validator = |kind, name: &str| Validator {
        kind,
        min_score: 0.5,
        min_confidence: 0.5,
        origin: nowhere(),
        name: name.into(),
    };
    let schema = b.schema(serde_json::json!({ "type": "string" }));
    b.schema(serde_json::json!({ "type": "number" }));
    let attempted = b.mark("attempted");
    steps.push(b.step(
        "attempts",
        StepKind::Attempts(Attempts {
            body: attempted,
            max: 2,
            validators: vec![
                validator(ValidatorKind::ExitCode { expected: 0 }, "exit"),
                validator(ValidatorKind::JsonSchema(schema), "json"),
                validator(ValidatorKind::Regex { pattern: "a".into(), stderr: false }, "regex"),
                validator(ValidatorKind::Judges { judges: vec![judge], consensus: consensus.clone() }, "semantic"),
            ],
            iteration: SlotId(0),
            previous_error: SlotId(0),
            retry_failures: false,
        }),
    ));
    let called = b.call("call", inner, "{{input}}");
    if let StepKind::Call(call) = &mut b.at(called).kind {
        call.exports = Some(SlotId(0));
    }
    steps.push(called);
    let callee = FlowCallee::Named { name: b.text("{{input.who}}"), flows: vec![("inner".into(), inner)] };
    steps.push(
        b.step("named", StepKind::Call(Box::new(SubflowCall { callee, input: None, exports: None, span: None }))),
    );
    let refused = UnsupportedFeature { feature: "f".into(), message: "m".into(), ..UnsupportedFeature::default() };
    steps.push(b.step("refused", StepKind::Refused(refused)));
    let ballot = WeightedVerdict { by: "a".into(), value: ValueExpression::Const(1i64.into()), weight: 1.0 };
    let slot = || Source::Slot(SlotId(0));
    let text = b.text("{{input}}");
    let expressions = [
        ValueExpression::Typed(text),
        ValueExpression::Read(Source::Member(SlotId(0), vec!["m".into()])),
        ValueExpression::Read(Source::Layered { top: SlotId(0), path: vec!["out".into()], under: SlotId(1) }),
        ValueExpression::Read(Source::Either(Box::new(slot()), Box::new(Source::missing_segment(1)))),
        ValueExpression::Read(Source::Compose {
            seed: Value::Null,
            parts: vec![ComposedPart { at: vec!["p".into()], slot: SlotId(0), member: vec!["m".into()] }],
        }),
        ValueExpression::Read(Source::Spent(vec![SlotId(0)])),
        ValueExpression::List(vec![ValueExpression::Read(Source::Environment), ValueExpression::Read(Source::Secrets)]),
        ValueExpression::Join {
            parts: vec![slot()],
            separator: ",".into(),
            otherwise: Box::new(ValueExpression::Const("none".into())),
        },
        ValueExpression::If {
            source: slot(),
            then: Box::new(ValueExpression::Const(1i64.into())),
            otherwise: Box::new(ValueExpression::List(vec![])),
        },
        ValueExpression::Coerce(
            Box::new(ValueExpression::Lines(Box::new(ValueExpression::Read(slot())))),
            JsonType::Integer,
        ),
        ValueExpression::Consensus { verdicts: vec![ballot], consensus },
    ];
    steps.extend(expressions.map(|value| b.step("", StepKind::Compute(value))));

    let body = b.sequence("", &steps);
    let main = b.flow("main", body, Some("{{input}}"));
    let flow = b.flow_mut(main);
    flow.init = vec![(SlotId(0), ValueExpression::Const(1i64.into()))];
    flow.exports =
        vec![FlowExport { key: "k".into(), slot: SlotId(0), member: vec!["m".into()], inner: Some(SlotId(0)) }];
    flow.budget = Some(Budget {
        max_tokens: Some(1),
        max_duration_ms: Some(1),
        max_calls: Some(1),
        calls_at: None,
        max_cost_micro: Some(1),
        on_exceeded: OnExceeded::Abort,
    });
    flow.intake.fields = vec![FlowInputField {
        name: "x".into(),
        schema: Value::Null,
        default: Some(1i64.into()),
        usual: None,
        nullable: false,
        optional: false,
        origin: nowhere(),
    }];
    flow.intake.wrap = Some("message".into());
    flow.intake.raw = Some((SlotId(0), Some("userQuery".into())));
    Arc::unwrap_or_clone(b.program(main))
}

/// A step without a place, which a change may use.
const SPARE: StepId = StepId(0);

type Change = fn(&mut ProgramParts);

/// Applies a change to every step of a kind.
macro_rules! of {
    ($variant:ident, $inner:ident => $change:expr) => {
        of!(StepKind::$variant($inner) => $change)
    };
    ($pattern:pat => $change:expr) => {
        |program: &mut ProgramParts| {
            for step in &mut program.steps {
                if let $pattern = &mut step.kind {
                    $change;
                }
            }
        }
    };
}

/// Applies a change to the validator at an index.
macro_rules! validator {
    ($index:expr, $pattern:pat => $change:expr) => {
        of!(Attempts, it => if let $pattern = &mut it.validators[$index].kind { $change })
    };
}

/// Applies a change to every computed value that matches.
macro_rules! value {
    ($pattern:pat => $change:expr) => {
        of!(Compute, it => if let $pattern = it { $change })
    };
}

/// Applies a change to the flow `main`.
macro_rules! main {
    ($flow:ident => $change:expr) => {
        |program: &mut ProgramParts| {
            let $flow = &mut program.flows[FlowId(1)];
            $change;
        }
    };
}

/// One more flow, with a body of its own.
fn add_flow(program: &mut ProgramParts) {
    let copied = program.flows[FlowId(0)].clone();
    let body = empty_step(program);
    program.flows.push(FlowDefinition { body, ..copied });
}

fn empty_step(program: &mut ProgramParts) -> StepId {
    let empty = Step { kind: StepKind::Sequence(Vec::new()), ..program.steps[SPARE].clone() };
    program.steps.push(empty)
}

fn changed(before: &Program, what: &str, change: Change) -> Program {
    let mut parts = before.clone().into_parts();
    change(&mut parts);
    let changed = Program::new(parts);
    assert!(changed.is_ok(), "{what}: {changed:?}");
    changed.unwrap()
}

fn text(text: &str) -> trefoil_ir::BoundTemplate {
    Build::new().text(text)
}

fn cond(text: &str) -> trefoil_ir::BoundCondition {
    Build::new().cond(text)
}

/// An equivalent condition with another spelling.
fn respelled(cond: &mut trefoil_ir::BoundCondition) {
    cond.text = format!("{} ", cond.text).into();
}

/// One change for each field that affects a run.
const CHANGES: &[(&str, Change)] = &[
    ("program: name", |p| p.name = "other".into()),
    ("program: entry", |p| p.entry = FlowId(0)),
    ("program: missing agents", |p| p.missing_agents = vec![("a".into(), nowhere())]),
    ("program: flows", add_flow),
    ("schema: name", |p| p.schemas[SchemaId(0)].name = "other".into()),
    ("schema: json", |p| p.schemas[SchemaId(0)].json = true.into()),
    ("flow: name", main!(f => f.name = "other".into())),
    ("flow: sort", main!(f => f.sort = "agent")),
    ("flow: slots", main!(f => { f.slots.push(trefoil_ir::Slot::new("more")); })),
    ("flow: init slot", main!(f => f.init[0].0 = SlotId(1))),
    ("flow: init value", main!(f => f.init[0].1 = ValueExpression::Const(2i64.into()))),
    ("flow: output", main!(f => f.output = None)),
    ("flow: body", |p| {
        p.flows[FlowId(0)].body = empty_step(p);
    }),
    ("export: key", main!(f => f.exports[0].key = "other".into())),
    ("export: slot", main!(f => f.exports[0].slot = SlotId(1))),
    ("export: member", main!(f => f.exports[0].member = vec!["m.n".into()])),
    ("export: inner", main!(f => f.exports[0].inner = None)),
    ("budget: tokens", main!(f => f.budget.as_mut().unwrap().max_tokens = None)),
    ("budget: duration", main!(f => f.budget.as_mut().unwrap().max_duration_ms = Some(2))),
    ("budget: calls", main!(f => f.budget.as_mut().unwrap().max_calls = Some(2))),
    ("budget: cost", main!(f => f.budget.as_mut().unwrap().max_cost_micro = Some(2))),
    ("budget: then", main!(f => f.budget.as_mut().unwrap().on_exceeded = OnExceeded::Warn)),
    ("intake: slot", main!(f => f.intake.slot = SlotId(1))),
    ("intake: wrap", main!(f => f.intake.wrap = Some("other".into()))),
    ("intake: closed", main!(f => f.intake.closed = true)),
    ("intake: tolerated", main!(f => f.intake.tolerated = &["intent"])),
    ("intake: schema", main!(f => f.intake.schema = Some(SchemaId(0)))),
    ("intake: raw slot", main!(f => f.intake.raw = Some((SlotId(1), Some("userQuery".into()))))),
    ("intake: raw key", main!(f => f.intake.raw = Some((SlotId(0), None)))),
    ("field: name", main!(f => f.intake.fields[0].name = "other".into())),
    ("field: schema", main!(f => f.intake.fields[0].schema = true.into())),
    ("field: default", main!(f => f.intake.fields[0].default = None)),
    ("field: nullable", main!(f => f.intake.fields[0].nullable = true)),
    ("field: optional", main!(f => f.intake.fields[0].optional = true)),
    ("step: label", |p| p.steps[StepId(1)].label = None),
    ("step: when", |p| p.steps[StepId(2)].when = None),
    ("step: when, other words", |p| respelled(p.steps[StepId(2)].when.as_mut().unwrap())),
    ("step: when, other meaning", |p| {
        p.steps[StepId(2)].when.as_mut().unwrap().condition = cond("{{input.x}} != 1").condition
    }),
    ("step: when, other source", |p| p.steps[StepId(2)].when.as_mut().unwrap().sources = vec![Source::RunId]),
    ("step: out", |p| p.steps[StepId(2)].out = None),
    ("step: shape", |p| p.steps[StepId(2)].shape = None),
    ("policy: timeout", |p| p.steps[StepId(2)].policy.timeout_ms = Some(6)),
    ("policy: on failure", |p| p.steps[StepId(2)].policy.on_failure = OnStepFailure::Skip),
    ("retry: attempts", |p| p.steps[StepId(2)].policy.retry.as_mut().unwrap().max_attempts = 3),
    ("retry: backoff", |p| p.steps[StepId(2)].policy.retry.as_mut().unwrap().backoff = RetryBackoff::Linear),
    ("retry: delay", |p| p.steps[StepId(2)].policy.retry.as_mut().unwrap().base_delay_ms = 1),
    ("retry: longest delay", |p| p.steps[StepId(2)].policy.retry.as_mut().unwrap().max_delay_ms = 1),
    ("retry: jitter", |p| p.steps[StepId(2)].policy.retry.as_mut().unwrap().jitter = true),
    ("retry: on", |p| p.steps[StepId(2)].policy.retry.as_mut().unwrap().on = vec![RetryOn::Timeout]),
    ("model: speaker", of!(Model, it => it.speaker = "other".into())),
    ("model: provider", of!(Model, it => it.model.provider = None)),
    ("model: name", of!(Model, it => it.model.name = "other".into())),
    ("model: system", of!(Model, it => it.system = None)),
    ("model: examples", of!(Model, it => it.examples[0].output = "3".into())),
    ("model: user", of!(Model, it => it.user = ValueExpression::Template(text("say {{input.y}}")))),
    ("model: user, one space", of!(Model, it => it.user = ValueExpression::Template(text("say  {{input.x}}")))),
    ("model: format", of!(Model, it => it.format = AnswerFormat::JsonOrText)),
    ("model: schema", of!(Model, it => it.format = AnswerFormat::Json(SchemaId(0)))),
    ("model: stream", of!(Model, it => it.stream = false)),
    ("model: temperature", of!(Model, it => it.parameters.temperature = Some(0.25))),
    ("model: top_p", of!(Model, it => it.parameters.top_p = Some(0.25))),
    ("model: top_k", of!(Model, it => it.parameters.top_k = Some(1))),
    ("model: max_tokens", of!(Model, it => it.parameters.max_tokens = Some(1))),
    ("model: presence_penalty", of!(Model, it => it.parameters.presence_penalty = Some(1.0))),
    ("model: frequency_penalty", of!(Model, it => it.parameters.frequency_penalty = Some(1.0))),
    ("model: seed", of!(Model, it => it.parameters.seed = Some(1))),
    ("model: stop", of!(Model, it => it.parameters.stop = vec!["a".into()])),
    ("model: two stops for one", of!(Model, it => it.parameters.stop = vec!["a`, `b".into()])),
    ("model: provider_options", of!(Model, it => it.parameters.provider_options = Some(Value::Null))),
    ("model: timeout", of!(Model, it => it.parameters.timeout_ms = Some(1))),
    ("guard: characters", of!(Model, it => it.guards[0] = Guard::Length { max_chars: 8, refuse: false })),
    ("guard: refuses", of!(Model, it => it.guards[0] = Guard::Length { max_chars: 9, refuse: true })),
    ("guard: tokens", of!(Model, it => it.guards[1] = Guard::TokenCap { max_tokens: 8, warn: false })),
    ("guard: cost", of!(Model, it => it.guards[1] = Guard::CostCap { max_micro: 9, warn: false })),
    ("guard: warns", of!(Model, it => it.guards[1] = Guard::TokenCap { max_tokens: 9, warn: true })),
    ("guard: schema", of!(Model, it => it.guards[1] = Guard::Schema(SchemaId(0)))),
    ("guard: none", of!(Model, it => it.guards[1] = Guard::Injection)),
    ("guard: entities", of!(Model, it => if let Guard::Pii { entities, .. } = &mut it.guards[2] { entities.clear() })),
    (
        "guard: action",
        of!(Model, it => if let Guard::Pii { action, .. } = &mut it.guards[2] { *action = PiiAction::Flag }),
    ),
    (
        "guard: replacement",
        of!(Model, it => if let Guard::Pii { replacement, .. } = &mut it.guards[2] { *replacement = "x".into() }),
    ),
    ("tool: name", of!(Tool, it => it.name = "other".into())),
    ("tool: kind", of!(Tool, it => it.kind = ToolKind::Http)),
    ("tool: server", of!(Tool, it => it.kind = ToolKind::for_mcp_server("t"))),
    ("tool: arguments", of!(Tool, it => it.arguments = ValueExpression::Object(vec![]))),
    ("command: script", of!(Command, it => it.script = "echo \"${1}\" ".into())),
    ("command: arguments", of!(Command, it => it.arguments.clear())),
    ("command: variable", of!(Command, it => it.env[0].0 = "F".into())),
    ("command: its value", of!(Command, it => it.env[0].1 = ValueExpression::Const("f".into()))),
    ("command: workdir", of!(Command, it => it.workdir = None)),
    ("human: prompt", of!(Human, it => it.prompt = ValueExpression::Const("!".into()))),
    ("human: timeout", of!(Human, it => it.timeout_ms = Some(2))),
    ("human: on timeout", of!(Human, it => it.on_timeout = OnTimeout::Fail)),
    ("human: answer", of!(Human, it => it.on_timeout = OnTimeout::Answer("No".into()))),
    ("wait", of!(StepKind::Wait { ms } => *ms = 4)),
    ("sequence", of!(Sequence, it => it.swap(0, 1))),
    ("parallel: branches", of!(Parallel, it => it.branches.swap(0, 1))),
    ("parallel: width", of!(Parallel, it => it.concurrency = Some(1))),
    ("parallel: on failure", of!(Parallel, it => it.on_failure = OnItemFailure::Continue)),
    ("branch: condition", of!(StepKind::Branch { arms, .. } => arms[0].when = cond("{{input.x}} == 7"))),
    ("branch: step", of!(StepKind::Branch { arms, .. } => arms[0].step = SPARE)),
    ("branch: else", of!(StepKind::Branch { otherwise, .. } => *otherwise = None)),
    ("loop: body", of!(Loop, it => it.body = SPARE)),
    ("loop: until", of!(Loop, it => it.until = cond("{{input.x}} == 7"))),
    ("loop: max", of!(Loop, it => it.max = 5)),
    ("each: items", of!(ForEach, it => it.items = FanOutItems::Count(ValueExpression::Const(1i64.into()), 2))),
    ("each: body", of!(ForEach, it => it.body = FlowId(1))),
    ("each: item", of!(ForEach, it => it.item = None)),
    ("each: index", of!(ForEach, it => it.index = SlotId(1))),
    ("each: total", of!(ForEach, it => it.total = SlotId(1))),
    ("each: captured slot", of!(ForEach, it => it.captures[0].0 = SlotId(2))),
    ("each: captured source", of!(ForEach, it => it.captures[0].1 = Source::RunId)),
    ("each: width", of!(ForEach, it => it.concurrency = Some(1))),
    ("each: timeout", of!(ForEach, it => it.timeout_ms = Some(1))),
    ("each: on failure", of!(ForEach, it => it.on_failure = OnItemFailure::Abort)),
    ("each: failed", of!(ForEach, it => it.failed = true.into())),
    ("node: step", of!(Graph, it => it.nodes[NodeId(0)].step = SPARE)),
    ("node: after", of!(Graph, it => it.nodes[NodeId(2)].after.clear())),
    ("node: fallback of", of!(Graph, it => it.nodes[NodeId(2)].fallback_of.push(NodeId(0)))),
    ("node: fallback", of!(Graph, it => it.nodes[NodeId(1)].fallback = None)),
    ("edge: from", of!(Graph, it => it.nodes[NodeId(1)].incoming[0].from = NodeId(3))),
    ("edge: when", of!(Graph, it => it.nodes[NodeId(1)].incoming[0].when = None)),
    ("edge: carry", of!(Graph, it => it.nodes[NodeId(1)].incoming[0].carry = None)),
    ("machine: initial", of!(StateMachine, it => it.initial = StateId(1))),
    ("machine: entries", of!(StateMachine, it => it.max_entries = 8)),
    ("machine: feedback", of!(StateMachine, it => it.feedback = None)),
    ("machine: previous error", of!(StateMachine, it => it.previous_error = None)),
    ("machine: visit", of!(StateMachine, it => it.visit = None)),
    ("state: name", of!(StateMachine, it => it.states[StateId(0)].name = "U".into())),
    ("state: step", of!(StateMachine, it => it.states[StateId(0)].step = SPARE)),
    ("state: failed", of!(StateMachine, it => it.states[StateId(0)].failed = None)),
    ("state: visits", of!(StateMachine, it => it.states[StateId(0)].max_visits = 3)),
    ("state: transitions", of!(StateMachine, it => it.states[StateId(0)].transitions.clear())),
    ("state: ends unmatched", of!(StateMachine, it => it.states[StateId(0)].ends_unmatched = true)),
    ("state: fails when", of!(StateMachine, it => it.states[StateId(0)].fails_when = None)),
    ("transition: takes", of!(StateMachine, it => it.states[StateId(0)].transitions[0].takes = MatchedOutcome::Both)),
    ("transition: when", of!(StateMachine, it => it.states[StateId(0)].transitions[0].when = None)),
    ("transition: target", of!(StateMachine, it => it.states[StateId(0)].transitions[0].target = StateId(0))),
    (
        "transition: feedback",
        of!(StateMachine, it => it.states[StateId(0)].transitions[0].feedback = Some(text("less"))),
    ),
    ("transition: text", of!(StateMachine, it => it.states[StateId(0)].transitions[0].text = "always".into())),
    ("attempts: body", of!(Attempts, it => it.body = SPARE)),
    ("attempts: max", of!(Attempts, it => it.max = 3)),
    ("attempts: validators", of!(Attempts, it => it.validators.swap(0, 1))),
    ("attempts: iteration", of!(Attempts, it => it.iteration = SlotId(1))),
    ("attempts: previous error", of!(Attempts, it => it.previous_error = SlotId(1))),
    ("attempts: failures", of!(Attempts, it => it.retry_failures = true)),
    ("validator: score", of!(Attempts, it => it.validators[0].min_score = 0.25)),
    ("validator: confidence", of!(Attempts, it => it.validators[0].min_confidence = 0.25)),
    ("validator: name", of!(Attempts, it => it.validators[0].name = "other".into())),
    ("validator: exit code", validator!(0, ValidatorKind::ExitCode { expected } => *expected = 1)),
    ("validator: schema", validator!(1, ValidatorKind::JsonSchema(schema) => *schema = SchemaId(1))),
    ("validator: pattern", validator!(2, ValidatorKind::Regex { pattern, .. } => *pattern = "b".into())),
    ("validator: stream", validator!(2, ValidatorKind::Regex { stderr, .. } => *stderr = true)),
    ("judge: name", validator!(3, ValidatorKind::Judges { judges, .. } => judges[0].name = "k".into())),
    ("judge: flow", validator!(3, ValidatorKind::Judges { judges, .. } => judges[0].flow = FlowId(1))),
    (
        "judge: input",
        validator!(3, ValidatorKind::Judges { judges, .. } => judges[0].input = ValueExpression::List(vec![])),
    ),
    ("judge: weight", validator!(3, ValidatorKind::Judges { judges, .. } => judges[0].weight = 2.0)),
    ("judge: timeout", validator!(3, ValidatorKind::Judges { judges, .. } => judges[0].timeout_ms = None)),
    ("judges: consensus", validator!(3, ValidatorKind::Judges { consensus, .. } => consensus.threshold = 0.25)),
    ("call: callee", of!(Call, it => if let FlowCallee::Flow(flow) = &mut it.callee { *flow = FlowId(1) })),
    ("call: name", of!(Call, it => if let FlowCallee::Named { name, .. } = &mut it.callee { *name = text("a") })),
    (
        "call: choice",
        of!(Call, it => if let FlowCallee::Named { flows, .. } = &mut it.callee { flows[0].0 = "other".into() }),
    ),
    (
        "call: chosen",
        of!(Call, it => if let FlowCallee::Named { flows, .. } = &mut it.callee { flows[0].1 = FlowId(1) }),
    ),
    ("call: input", of!(Call, it => it.input = Some(ValueExpression::List(vec![])))),
    ("call: exports", of!(Call, it => it.exports = Some(SlotId(1)))),
    ("refused: feature", of!(Refused, it => it.feature = "other".into())),
    ("refused: message", of!(Refused, it => it.message = "other".into())),
    ("value: typed", value!(ValueExpression::Typed(it) => *it = text("{{input}} "))),
    (
        "value: rules of its language",
        value!(ValueExpression::Typed(it) => {
            it.template = trefoil_template::Template::parse("{{input}}", &Policy::SIRENSPEC).unwrap();
            it.template.bind_references(|_| trefoil_template::ReferenceBinding { source: 0, skip: 1 });
        }),
    ),
    ("value: kind", value!(ValueExpression::Coerce(_, to) => *to = JsonType::Number)),
    (
        "value: function",
        value!(ValueExpression::Coerce(it, _) => **it = ValueExpression::AsText(Box::new(ValueExpression::List(vec![])))),
    ),
    ("value: order", value!(ValueExpression::List(it) => it.reverse())),
    ("value: then", value!(ValueExpression::If { then, .. } => **then = ValueExpression::List(vec![]))),
    ("value: else", value!(ValueExpression::If { otherwise, .. } => **otherwise = ValueExpression::Merge(vec![]))),
    ("value: test", value!(ValueExpression::If { source, .. } => *source = Source::RunId)),
    ("value: parts", value!(ValueExpression::Join { parts, .. } => parts.clear())),
    ("value: separator", value!(ValueExpression::Join { separator, .. } => *separator = ", ".into())),
    (
        "value: nothing",
        value!(ValueExpression::Join { otherwise, .. } => **otherwise = ValueExpression::Concat(vec![])),
    ),
    ("ballot: by", value!(ValueExpression::Consensus { verdicts, .. } => verdicts[0].by = "b".into())),
    (
        "ballot: value",
        value!(ValueExpression::Consensus { verdicts, .. } => verdicts[0].value = ValueExpression::List(vec![])),
    ),
    ("ballot: weight", value!(ValueExpression::Consensus { verdicts, .. } => verdicts[0].weight = 2.0)),
    (
        "consensus: strategy",
        value!(ValueExpression::Consensus { consensus, .. } => consensus.strategy = ConsensusStrategy::Unanimous),
    ),
    ("consensus: threshold", value!(ValueExpression::Consensus { consensus, .. } => consensus.threshold = 0.25)),
    ("consensus: judges", value!(ValueExpression::Consensus { consensus, .. } => consensus.min_judges = 2)),
    ("consensus: n", value!(ValueExpression::Consensus { consensus, .. } => consensus.n = Some(1))),
    ("consensus: agreement", value!(ValueExpression::Consensus { consensus, .. } => consensus.agreement_factor = 0.25)),
    (
        "consensus: confidence",
        value!(ValueExpression::Consensus { consensus, .. } => consensus.confidence_factor = 0.25),
    ),
    ("source: member", value!(ValueExpression::Read(Source::Member(_, path)) => *path = vec!["n".into()])),
    ("source: a point in a name", value!(ValueExpression::Read(Source::Member(_, path)) => *path = vec!["m.n".into()])),
    ("source: top", value!(ValueExpression::Read(Source::Layered { top, .. }) => *top = SlotId(2))),
    ("source: path", value!(ValueExpression::Read(Source::Layered { path, .. }) => path.clear())),
    ("source: under", value!(ValueExpression::Read(Source::Layered { under, .. }) => *under = SlotId(2))),
    ("source: first", value!(ValueExpression::Read(Source::Either(first, _)) => **first = Source::Secrets)),
    (
        "source: why missing",
        value!(ValueExpression::Read(Source::Either(_, it)) => **it = Source::Missing(MissingCause::OutsideLoop, BindingFault::Unsaid)),
    ),
    ("source: seed", value!(ValueExpression::Read(Source::Compose { seed, .. }) => *seed = true.into())),
    ("source: part's place", value!(ValueExpression::Read(Source::Compose { parts, .. }) => parts[0].at.clear())),
    ("source: part's slot", value!(ValueExpression::Read(Source::Compose { parts, .. }) => parts[0].slot = SlotId(1))),
    ("source: part's member", value!(ValueExpression::Read(Source::Compose { parts, .. }) => parts[0].member.clear())),
    ("source: spent", value!(ValueExpression::Read(Source::Spent(slots)) => slots.clear())),
];

#[test]
fn everything_that_can_change_a_run_changes_the_fingerprint() {
    let before = everything();
    let mut prints: Vec<(&str, String)> = vec![("nothing", canonical_text(&before))];
    for (what, change) in CHANGES {
        let after = changed(&before, what, *change);
        let print = canonical_text(&after);
        let same = prints.iter().find(|(_, known)| *known == print);
        assert!(same.is_none(), "`{what}` reads like `{}`", same.map_or("", |(what, _)| what));
        assert_ne!(after.fingerprint(), before.fingerprint(), "{what}");
        prints.push((what, print));
    }
}

/// One change for each field that only matters to checks, editors and people.
const WORDS: &[(&str, Change)] = &[
    ("hash of the sources", |p| p.hash += 1),
    ("places", |p| {
        let elsewhere = Location::new(FileId(3), Span::new(4, 5));
        p.schemas[SchemaId(0)].origin = elsewhere;
        p.steps.iter_mut().for_each(|step| step.origin = elsewhere);
        p.flows.iter_mut().for_each(|flow| flow.origin = elsewhere);
        p.flows[FlowId(1)].intake.fields[0].origin = elsewhere;
        p.flows[FlowId(1)].budget.as_mut().unwrap().calls_at = Some(elsewhere);
        p.steps[StepId(2)].policy.timeout_at = Some(elsewhere);
        p.steps[StepId(2)].when.as_mut().unwrap().origin = elsewhere;
        p.steps[StepId(2)].when.as_mut().unwrap().spans = vec![elsewhere.span];
    }),
    (
        "places of a call",
        of!(Model, it => {
            it.places = vec![("temperature", nowhere())];
            it.model.origin = Location::new(FileId(3), Span::new(4, 5));
        }),
    ),
    ("names of slots", |p| p.flows.iter_mut().flat_map(|f| &mut f.slots).for_each(|slot| slot.name = "other".into())),
    ("where a slot is written", |p| p.flows[FlowId(1)].slots[SlotId(0)].writes = vec!["output".into()]),
    ("the type of a default", main!(f => f.intake.fields[0].usual = Some((ValueType::NULL, nowhere())))),
    ("spaces in a placeholder", of!(Model, it => it.user = ValueExpression::Template(text("say {{ input.x }}")))),
];

#[test]
fn places_and_words_for_people_do_not() {
    let before = everything();
    for (what, change) in WORDS {
        let after = changed(&before, what, *change);
        assert_eq!(canonical_text(&after), canonical_text(&before), "{what}");
        assert_eq!(after.fingerprint(), before.fingerprint(), "{what}");
    }
}

/// If this changes, the printed form or the semantics has changed, and results stored under the old fingerprint cannot
/// be used any more.
#[test]
fn the_fingerprint_of_a_program_stays_as_it_is() {
    let mut b = Build::new();
    let steps = [b.model("a", "say {{input}}"), b.compute("b", "{{a}}")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    expect![[r#"
        418e97b704f3b2f4454a5ee6f4fa4ebacfdd3656cbde388cbb578859f2b16d3a
        program `main` entry flow 0

        flow 0 pipeline `main`
          slots $0 $1 $2
          input $0
          body
            sequence
              `a` model test as `a` -> $1
                user text undefined empty null empty conditions braced "say " {reference 0} reference from 0 skip 1 "input" [$0]
              `b` compute typed undefined empty null empty conditions braced single {reference 0} reference from 0 skip 1 "a" [$1] -> $2
    "#]].assert_eq(&format!("{}\n{}", program.fingerprint(), canonical_text(&program)));
}
