//! The contract of content keys. `vectors.jsonl` contains, for a request of every kind, the input of its content key, and the key. It is
//! never changed, because journals and caches contain such keys.

use std::sync::Arc;

use trefoil_ir::{AnswerFormat, Guard, ModelParameters, OnTimeout, PiiAction, PiiEntity, SchemaId, ToolKind};
use trefoil_machine::content::request_content;
use trefoil_machine::request::{
    CommandRequest, Effects, HumanRequest, MessageRole, ModelMessage, ModelRequest, ModelToolCall, Request,
    ToolRequest, ToolSpec, ToolsRequest,
};
use trefoil_machine::{ContentKey, DueTime, RunMs, WorkMs};
use trefoil_template::{
    BuiltinFunction, ComparisonOperator, ConditionExpression, ConditionGrammar, Hole, HoleKind, HoleQuestion, Masked,
    MaskedPiece, Policy, Value,
};

/// One line of the file.
#[derive(serde::Serialize, serde::Deserialize)]
struct Vector {
    name: String,
    content: String,
    key: ContentKey,
}

#[test]
fn every_sort_of_request_has_the_key_that_it_always_had() {
    let known: Vec<Vector> =
        include_str!("vectors.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut new = Vec::new();
    for (name, request) in requests() {
        let content = String::from_utf8(request_content(&request)).unwrap();
        let now = Vector { name: name.to_owned(), key: ContentKey::from_request(&request), content };
        let line = serde_json::to_string(&now).unwrap();
        match known.iter().find(|vector| vector.name == name) {
            Some(then) => assert_eq!(line, serde_json::to_string(then).unwrap(), "the content of `{name}` changed"),
            None => new.push(line),
        }
    }
    assert!(new.is_empty(), "new requests; their lines for `vectors.jsonl` are\n{}\n", new.join("\n"));
}

#[test]
fn what_decides_the_answer_decides_the_key_and_nothing_else_does() {
    let key = |request: ModelRequest| ContentKey::from_request(&Request::Model(Box::new(request)));
    let plain = || model();
    let same = [
        ModelRequest { speaker: "somebody else".into(), ..plain() },
        ModelRequest { stream: true, provisional: true, ..plain() },
        // A guardrail checks an answer that is reused again.
        ModelRequest { guards: vec![Guard::Injection], ..plain() },
        ModelRequest { parameters: ModelParameters { timeout_ms: Some(5), ..plain().parameters }, ..plain() },
    ];
    for request in same {
        assert_eq!(key(request), key(plain()));
    }
    let said = |text: &str| vec![ModelMessage::new(MessageRole::User, text.into())];
    let others = [
        ModelRequest { provider: None, ..plain() },
        ModelRequest { model: "other".into(), ..plain() },
        ModelRequest { messages: said("x"), ..plain() },
        ModelRequest { messages: Vec::new(), ..plain() },
        ModelRequest { format: AnswerFormat::JsonOrText, ..plain() },
        ModelRequest { tools: vec![tool()], ..plain() },
        ModelRequest { schema: Some(("s".into(), Value::Bool(true))), ..plain() },
        ModelRequest { parameters: ModelParameters { top_k: Some(1), ..plain().parameters }, ..plain() },
    ];
    let mut keys: Vec<ContentKey> = others.into_iter().map(key).collect();
    keys.push(key(plain()));
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 9);
}

/// The name of a step is no part of what it does: in SirenSpec, an HTTP request and a Python function have the name of their node.
#[test]
fn the_name_of_a_step_is_no_part_of_its_effect() {
    let key = |request: Request| ContentKey::from_request(&request);
    let tool = |name: &str, kind: ToolKind, n: i64| {
        let arguments = [("n", Value::from(n))].into_iter().collect();
        key(Request::Tool(ToolRequest { name: name.into(), kind, arguments }))
    };
    for kind in [ToolKind::Http, ToolKind::Python] {
        assert_eq!(tool("a", kind.clone(), 1), tool("b", kind.clone(), 1));
        assert_ne!(tool("a", kind.clone(), 1), tool("a", kind, 2));
    }
    // The host of these knows them by their names.
    for kind in [ToolKind::Local, ToolKind::for_mcp_server("s")] {
        assert_ne!(tool("a", kind.clone(), 1), tool("b", kind, 1));
    }
    assert_ne!(tool("a", ToolKind::for_mcp_server("s"), 1), tool("a", ToolKind::for_mcp_server("other"), 1));
    let ask = |step: &str, prompt: &str| {
        key(Request::Human(HumanRequest {
            step: step.into(),
            prompt: prompt.into(),
            accepts: Vec::new(),
            choices: Vec::new(),
            refused: None,
            timeout_ms: None,
            on_timeout: OnTimeout::Fail,
            answer_by: None,
        }))
    };
    assert_eq!(ask("A", "Ship it?"), ask("B", "Ship it?"));
    assert_ne!(ask("A", "Ship it?"), ask("A", "Now?"));
}

/// A schema.
fn schema() -> Value {
    Value::parse(r#"{"type": "object", "required": ["a"]}"#).unwrap()
}

fn hole() -> Hole {
    Hole { default: Some("x".into()), lenient: true, quoted: 1, ..Hole::new(HoleKind::Env, "PLACE") }
}

fn masked() -> Value {
    let secret = Hole::new(HoleKind::Secret, "TOKEN");
    Masked { pieces: vec![MaskedPiece::Text("at ".into()), MaskedPiece::Hole(hole()), MaskedPiece::Hole(secret)] }
        .into_value()
}

fn model() -> ModelRequest {
    ModelRequest {
        speaker: "writer".into(),
        provider: Some("openai".into()),
        model: "gpt-5.4".into(),
        messages: vec![ModelMessage::new(MessageRole::User, "Write.".into())],
        parameters: ModelParameters::default(),
        format: AnswerFormat::Text,
        schema: None,
        guards: Vec::new(),
        stream: false,
        provisional: false,
        tools: Vec::new(),
    }
}

fn tool() -> ToolSpec {
    ToolSpec {
        name: "search".into(),
        description: "Looks things up.".into(),
        parameters: schema(),
        effects: Effects::ReadOnly,
    }
}

/// One request of every kind, minimal and with all optional fields.
fn requests() -> Vec<(&'static str, Request)> {
    let say = |role, content: Value| ModelMessage::new(role, content);
    let full = ModelRequest {
        messages: vec![
            say(MessageRole::System, "Be brief; \u{20ac} \"quoted\"\n".into()),
            say(MessageRole::User, masked()),
            say(MessageRole::Assistant, "{}".into()),
        ],
        parameters: ModelParameters {
            temperature: Some(0.7),
            top_p: Some(1.0),
            top_k: Some(40),
            max_tokens: Some(1000),
            presence_penalty: Some(-0.5),
            frequency_penalty: Some(1e-7),
            seed: Some(i64::MAX),
            stop: vec!["END".into()],
            provider_options: Some(
                [("z", Value::from(1)), ("a", u64::MAX.into()), ("$b", masked())].into_iter().collect(),
            ),
            timeout_ms: Some(30_000),
        },
        format: AnswerFormat::Json(SchemaId(0)),
        schema: Some(("answer".into(), schema())),
        guards: vec![
            Guard::Injection,
            Guard::Length { max_chars: 80, refuse: true },
            Guard::Pii {
                entities: vec![PiiEntity::Email, PiiEntity::Phone, PiiEntity::Ssn, PiiEntity::CreditCard],
                action: PiiAction::Redact,
                replacement: "[gone]".into(),
            },
            Guard::Schema(SchemaId(0)),
            Guard::TokenCap { max_tokens: 9000, warn: false },
        ],
        stream: true,
        provisional: true,
        ..model()
    };
    let alias = ModelRequest { provider: None, model: "smart".into(), format: AnswerFormat::JsonOrText, ..model() };
    let capped = ModelRequest { guards: vec![Guard::CostCap { max_micro: 500_000, warn: true }], ..model() };
    let calls = vec![
        ModelToolCall {
            id: "call_1".into(),
            name: "search".into(),
            arguments: [("q", Value::from("x"))].into_iter().collect(),
            sealed: None,
        },
        ModelToolCall { id: "call_2".into(), name: "search".into(), arguments: "{not json".into(), sealed: None },
    ];
    let answer =
        |id: &str, text: &str| ModelMessage { answers: Some(id.into()), ..say(MessageRole::Tool, text.into()) };
    let turns = vec![
        say(MessageRole::User, "Find it.".into()),
        ModelMessage { calls, ..say(MessageRole::Assistant, "Let me look.".into()) },
        answer("call_1", "found"),
        answer("call_2", "{\"error\": \"no\"}"),
    ];
    let talk = ModelRequest { messages: turns, tools: vec![tool()], ..model() };
    let described = vec![
        ToolsRequest { kind: ToolKind::Local, names: Some(vec!["search".into()]) },
        ToolsRequest { kind: ToolKind::for_mcp_server("files"), names: None },
    ];
    let call = |kind| {
        let arguments = [("q", masked()), ("n", 3.into())].into_iter().collect();
        Request::Tool(ToolRequest { name: "search".into(), kind, arguments })
    };
    let person = HumanRequest {
        step: "APPROVE".into(),
        prompt: "Ship it?".into(),
        accepts: vec!["yes".into(), "no".into()],
        choices: Vec::new(),
        refused: None,
        timeout_ms: Some(60_000),
        on_timeout: OnTimeout::Answer("no".into()),
        answer_by: None,
    };
    let again =
        HumanRequest { refused: Some("maybe".into()), timeout_ms: None, on_timeout: OnTimeout::Fail, ..person.clone() };
    let command = CommandRequest {
        script: "make \"${1}\"".into(),
        arguments: vec![masked(), 1.into()],
        env: vec![("TOKEN".into(), masked()), ("A".into(), "b".into())],
        workdir: Some("src".into()),
    };
    let bare = CommandRequest { script: "true".into(), arguments: Vec::new(), env: Vec::new(), workdir: None };
    let mut all = vec![
        ("model, bare", Request::Model(Box::new(model()))),
        ("model, with everything", Request::Model(Box::new(full))),
        ("model, an alias", Request::Model(Box::new(alias))),
        ("model, a cap on money", Request::Model(Box::new(capped))),
        ("model, with tools", Request::Model(Box::new(talk))),
        ("tools, described", Request::Describe(described)),
        ("tool, local", call(ToolKind::Local)),
        ("tool, http", call(ToolKind::Http)),
        ("tool, mcp", call(ToolKind::for_mcp_server("https://mcp.example/"))),
        ("tool, python", call(ToolKind::Python)),
        ("command", Request::Command(command)),
        ("command, bare", Request::Command(bare)),
        ("person", Request::Human(person)),
        ("person, asked again", Request::Human(again)),
        ("timer", Request::Timer { ms: 1500, due: DueTime::Run(RunMs(0)) }),
        ("timer, due", Request::Timer { ms: 1500, due: DueTime::Run(RunMs(61_500)) }),
        ("timer, a limit", Request::Timer { ms: 1500, due: DueTime::Work(WorkMs(61_500)) }),
    ];
    all.extend(questions().into_iter().map(|(name, question)| (name, Request::Decide(question))));
    all
}

/// Every kind of expression node.
fn questions() -> Vec<(&'static str, HoleQuestion)> {
    let lone = |hole| ConditionExpression::from_value(Masked::from_hole(hole).into_value());
    let env = || lone(hole());
    let literal = |value: Value| ConditionExpression::from_value(value);
    let boxed = |e: ConditionExpression| Box::new(e);
    let python = ConditionExpression::And(vec![
        ConditionExpression::Compare(
            vec![literal(1.into()), env(), literal(2.5.into()), literal(Value::Null)],
            vec![ComparisonOperator::Less, ComparisonOperator::LessEqual, ComparisonOperator::NotEqual],
        ),
        ConditionExpression::Or(vec![
            ConditionExpression::Not(boxed(env())),
            ConditionExpression::Compare(
                vec![env(), ConditionExpression::List(vec![env()])],
                vec![ComparisonOperator::NotIn],
            ),
        ]),
        ConditionExpression::Arithmetic(
            trefoil_template::ArithmeticOperator::Remainder,
            boxed(ConditionExpression::Negate(boxed(ConditionExpression::Call(BuiltinFunction::Int, vec![env()])))),
            boxed(literal(2.into())),
        ),
        ConditionExpression::Index(
            boxed(ConditionExpression::Member(boxed(env()), "m".into())),
            boxed(literal("k".into())),
        ),
    ]);
    let helper = ConditionExpression::Call(BuiltinFunction::FirstLine, vec![env()]);
    let with = |grammar, expression| HoleQuestion {
        expression: Arc::new(expression),
        policy: Policy::for_grammar(grammar),
        text: None,
        presence: false,
        schema: None,
    };
    let text = Some("env.PLACE == 'x'".into());
    vec![
        ("decision, python", HoleQuestion { text, ..with(ConditionGrammar::Python, python) }),
        ("decision, handlebars", with(ConditionGrammar::Handlebars, helper)),
        ("decision, braced", with(ConditionGrammar::Braced, env())),
        ("decision, presence", HoleQuestion { presence: true, ..with(ConditionGrammar::Braced, env()) }),
    ]
}
