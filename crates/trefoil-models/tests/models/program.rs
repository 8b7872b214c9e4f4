//! Minimal programs with one flow and one labelled step.

use trefoil_ir::{
    AnswerFormat, FlowDefinition, FlowId, IndexVec, Intake, ModelCall, ModelChoice, ModelParameters, Program,
    ProgramParts, Slot, SlotId, Step, StepId, StepKind, StepPolicy, ToolCall, ToolKind, ValueExpression,
};
use trefoil_syntax::{FileId, Location, Span};
use trefoil_template::Value;

const NOWHERE: Location = Location::new(FileId(0), Span::new(0, 0));

/// A model step `draft` of the agent `writer`.
pub fn one_call() -> Program {
    program(StepKind::Model(Box::new(ModelCall {
        speaker: "writer".into(),
        model: ModelChoice { provider: None, name: "smart".into(), origin: NOWHERE },
        system: None,
        examples: Vec::new(),
        user: ValueExpression::Const(Value::Null),
        parameters: ModelParameters::default(),
        places: Vec::new(),
        format: AnswerFormat::Text,
        guards: Vec::new(),
        stream: false,
    })))
}

/// A tool step `draft` of the tool `search`.
pub fn one_tool() -> Program {
    let arguments = ValueExpression::Const(Value::Null);
    program(StepKind::Tool(Box::new(ToolCall { name: "search".into(), kind: ToolKind::Local, arguments })))
}

fn program(kind: StepKind) -> Program {
    let step = Step {
        kind,
        label: Some("draft".into()),
        origin: NOWHERE,
        when: None,
        out: None,
        shape: None,
        policy: StepPolicy::default(),
    };
    let slot = SlotId(0);
    let flow = FlowDefinition {
        name: "main".into(),
        sort: "agent",
        origin: NOWHERE,
        slots: vec![Slot::new("input")].into(),
        intake: Intake { slot, wrap: None, fields: Vec::new(), closed: false, tolerated: &[], schema: None, raw: None },
        init: Vec::new(),
        body: StepId(0),
        output: None,
        exports: Vec::new(),
        budget: None,
    };
    let parts = ProgramParts {
        name: "main".into(),
        flows: vec![flow].into(),
        steps: vec![step].into(),
        schemas: IndexVec::default(),
        entry: FlowId(0),
        hash: 0,
        missing_agents: Vec::new(),
        client_tools: Vec::new(),
    };
    Program::new(parts).unwrap()
}
