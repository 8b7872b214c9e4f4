//! Models that call tools: turns, calls, and the messages to the model.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use expect_test::expect;
use serde_json::json as j;
use trefoil_ir::{
    Attempts, ConsensusRule, ConsensusStrategy, Conversation, Judge, Offer, Program, Source, StepId, StepKind,
    ToolCall, ToolCallRules, ToolKind, Validator, ValidatorKind, ValueExpression,
};
use trefoil_runtime::ports::{CallSite, Journal as _};
use trefoil_runtime::{
    Effects, EntryKind, EventKind, ModelAnswer, ModelError, ModelProvider, ModelRequest, ModelToolCall, RunOutcome,
    ToolError, ToolHost, ToolRequest, ToolSpec, Usage,
};
use trefoil_template::Value;

use crate::waiting::resume;
use crate::world::{World, block_on, json, status};
use testbed::build::{Build, nowhere};

/// Keys of turns, each with the texts of its messages.
type Asked = Vec<(String, Vec<String>)>;
type Say = dyn Fn(&str, &ModelRequest) -> Result<ModelAnswer, ModelError> + Send + Sync;

/// A model whose answer depends on key and request. It records its requests.
#[derive(Clone)]
struct Talker {
    say: Arc<Say>,
    asked: Arc<Mutex<Asked>>,
}

impl Talker {
    fn new(say: impl Fn(&str, &ModelRequest) -> Result<ModelAnswer, ModelError> + Send + Sync + 'static) -> Self {
        Self { say: Arc::new(say), asked: Arc::default() }
    }
    fn world(&self, tools: &Toolbox) -> World {
        let mut world = World::new(self.clone());
        world.ports.tools = Arc::new(tools.clone());
        world
    }
    /// The keys of its requests.
    fn keys(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(key, _)| key.clone()).collect()
    }
    /// The messages of the last call.
    fn last(&self) -> String {
        self.asked.lock().unwrap().last().map(|(_, messages)| messages.join("\n")).unwrap_or_default()
    }
}

#[async_trait]
impl ModelProvider for Talker {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let line = |m: &trefoil_runtime::ModelMessage| {
            let calls: Vec<_> =
                m.calls.iter().map(|c| format!(" {}:{}{}", c.id, c.name, c.arguments.to_text())).collect();
            let answers = m.answers.as_ref().map(|id| format!(" to {id}")).unwrap_or_default();
            format!("{:?}{answers}: {}{}", m.role, m.content.to_text(), calls.concat())
        };
        self.asked.lock().unwrap().push((at.key.to_string(), request.messages.iter().map(line).collect()));
        (self.say)(at.key.as_str(), request)
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "talker".to_owned()
    }
}

/// Tools that echo their arguments and count their calls.
#[derive(Clone, Default)]
struct Toolbox {
    called: Arc<Mutex<BTreeMap<String, u32>>>,
    idempotent: bool,
    listed: Vec<ToolSpec>,
    /// What the tools say about themselves; empty: nothing.
    says: &'static str,
    /// Tools that cannot be offered, and why.
    skips: Vec<(&'static str, &'static str)>,
}

impl Toolbox {
    fn called(&self) -> Vec<(String, u32)> {
        self.called.lock().unwrap().clone().into_iter().collect()
    }
}

#[async_trait]
impl ToolHost for Toolbox {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        if !self.says.is_empty() && !at.meter.report_tool_digest("files", &request.name, self.says) {
            return Err(ToolError::Failed("it has changed".to_owned()));
        }
        *self.called.lock().unwrap().entry(at.key.to_string()).or_default() += 1;
        match &*request.name {
            "broken" => Err(ToolError::Failed("out of order".to_owned())),
            "slow" => {
                tokio::task::yield_now().await;
                Ok("slow".into())
            }
            name => Ok([(name, request.arguments.clone())].into_iter().collect()),
        }
    }
    async fn list_tools(&self, at: CallSite<'_>, _kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        self.skips.iter().for_each(|(name, why)| at.meter.report_skipped_tool(name, (*why).to_owned()));
        Ok(self.listed.clone())
    }
    fn is_idempotent(&self, _request: &ToolRequest) -> bool {
        self.idempotent
    }
}

fn says(text: &str) -> Result<ModelAnswer, ModelError> {
    Ok(ModelAnswer::new(text, Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() }))
}

fn calls(text: &str, calls: &[(&str, &str, serde_json::Value)]) -> Result<ModelAnswer, ModelError> {
    let one = |(id, name, args): &(&str, &str, serde_json::Value)| {
        ModelToolCall::new(*id, *name, Value::from_json(args.clone()))
    };
    Ok(ModelAnswer { calls: calls.iter().map(one).collect(), ..says(text)? })
}

fn tool(b: &mut Build, name: &str, kind: ToolKind, arguments: ValueExpression) -> Offer {
    let call = ToolCall { name: name.into(), kind, arguments };
    let step = b.step(name, StepKind::Tool(Box::new(call)));
    offer(name, step)
}

fn offer(name: &str, step: StepId) -> Offer {
    Offer {
        name: name.into(),
        description: None,
        parameters: None,
        pinned: Vec::new(),
        member: None,
        all: false,
        step,
        origin: nowhere(),
    }
}

fn local(b: &mut Build, name: &str) -> Offer {
    let mut offer = tool(b, name, ToolKind::Local, ValueExpression::Read(Source::Result));
    offer.parameters = Some(b.schema(j!({"type": "object", "properties": {"n": {"type": "integer"}}})));
    offer
}

fn talk(b: &mut Build, offers: Vec<Offer>, max_turns: u32) -> Arc<Program> {
    guarded(b, offers, max_turns, None)
}

fn guarded(b: &mut Build, offers: Vec<Offer>, max_turns: u32, gate: Option<StepId>) -> Arc<Program> {
    ruled(b, offers, max_turns, gate, ToolCallRules::default())
}

fn ruled(
    b: &mut Build,
    offers: Vec<Offer>,
    max_turns: u32,
    gate: Option<StepId>,
    calls: ToolCallRules,
) -> Arc<Program> {
    let turn = b.model("", "{{input}}");
    let conversation = Conversation { turn, offers, gate, max_turns, max_turns_at: None, calls };
    let body = b.step("agent", StepKind::Conversation(Box::new(conversation)));
    let main = b.flow("main", body, None);
    std::mem::take(b).program(main)
}

/// Calls `names` in its first turn, and says that it is done in the second.
fn two_turns(names: &'static [&'static str]) -> Talker {
    Talker::new(move |key, _| {
        let all: Vec<_> = names.iter().enumerate().map(|(i, name)| (["a", "b", "c"][i], *name, j!({"n": i}))).collect();
        if key.starts_with("agent@1") { calls("Let me see.", &all) } else { says("done") }
    })
}

fn warnings(world: &World) -> Vec<String> {
    let warning = |kind| if let EventKind::Warning { message } = kind { Some(message) } else { None };
    world.kinds().into_iter().filter_map(warning).collect()
}

#[test]
fn what_came_of_the_calls_is_told_in_the_order_of_the_model() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "slow"), local(&mut b, "fast"), local(&mut b, "broken")];
    let program = talk(&mut b, offers, 10);
    let (talker, tools) = (two_turns(&["slow", "fast", "broken"]), Toolbox::default());
    let world = talker.world(&tools);
    let outcome = world.run(&program, "x");
    assert_eq!(json(&outcome.result.unwrap()), j!("done"));
    assert_eq!((outcome.calls, outcome.usage.total_tokens()), (2, 4));
    assert_eq!(talker.keys(), ["agent@1", "agent@2"]);
    expect![[r#"
        User: x
        Assistant: Let me see. a:slow{"n":0} b:fast{"n":1} c:broken{"n":2}
        Tool to a: slow
        Tool to b: {"fast":{"n":1}}
        Tool to c: {"error":"`broken` failed: out of order"}"#]]
    .assert_eq(&talker.last());
    let keys: Vec<_> = tools.called().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["agent@1[0]/slow", "agent@1[1]/fast", "agent@1[2]/broken"]);
}

#[test]
fn a_turn_is_stored_in_as_many_bytes_however_long_the_conversation_is() {
    const TURNS: u32 = 401;
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = talk(&mut b, offers, TURNS);
    let last = format!("agent@{TURNS}");
    let talker = Talker::new(move |key, _| match key == last {
        true => says("done"),
        false => calls("I look for it.", &[("a", "fast", j!({"n": 1}))]),
    });
    let world = talker.world(&Toolbox::default());
    assert!(world.run(&program, "x").result.is_ok());
    assert_eq!(talker.asked.lock().unwrap().last().map(|(_, messages)| messages.len()), Some(801));
    // The model call of a turn, the tool call, and their ends.
    let of_turn = |turn: u32| {
        let mine = |entry: &&trefoil_runtime::Entry| match &entry.kind {
            EntryKind::Scheduled { key, .. } | EntryKind::Completed { key, .. } => {
                key.iter_parts().any(|part| part == trefoil_machine::key::KeyPart::Pass(turn))
            }
            _ => false,
        };
        let entries = world.journal.entries("r1");
        let sizes: Vec<usize> = entries.iter().filter(mine).map(|e| serde_json::to_string(e).unwrap().len()).collect();
        assert_eq!(sizes.len(), 4);
        sizes.iter().sum::<usize>()
    };
    let [first, middle, last] = [10, 100, 400].map(of_turn);
    // The numbers of turns and entries get longer: at most two digits each, in four entries.
    assert!(first <= middle && middle <= last && last - first <= 4 * 4, "{first}, {middle}, {last} bytes");
}

#[test]
fn what_cannot_be_called_is_told_and_shown() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = talk(&mut b, offers, 10);
    let talker = Talker::new(|key, _| match key {
        "agent@1" => calls("", &[("a", "fats", j!({})), ("b", "fast", j!("{oops")), ("c", "fast", j!({"n": "x"}))]),
        _ => says("done"),
    });
    let tools = Toolbox::default();
    let world = talker.world(&tools);
    assert_eq!(json(&world.run(&program, "x").result.unwrap()), j!("done"));
    assert_eq!(tools.called(), []);
    expect![[r#"
        [
            "the model called `fats`: there is no such tool; there are: fast; this is reported to the model",
            "the model called `fast`: its arguments are not a JSON object; this is reported to the model",
            "the model called `fast`: its arguments do not fit: at `/n`: \"x\" is not of type \"integer\"; this is reported to the model",
        ]
    "#]]
    .assert_debug_eq(&warnings(&world));
}

#[test]
fn an_answer_without_the_needed_call_is_returned_once_and_then_fails() {
    let needed = || ToolCallRules { needed: true, ..ToolCallRules::default() };
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = ruled(&mut b, offers, 10, None, needed());
    let talker = Talker::new(|key, _| match key {
        "agent@1" => says("I am done."),
        "agent@2" => calls("Sorry.", &[("a", "fast", j!({"n": 1}))]),
        _ => says("done"),
    });
    let world = talker.world(&Toolbox::default());
    assert_eq!(json(&world.run(&program, "x").result.unwrap()), j!("done"));
    expect![[r#"
        User: x
        Assistant: I am done.
        User: You have not called any tool. This task requires a tool call: call a tool, then answer.
        Assistant: Sorry. a:fast{"n":1}
        Tool to a: {"fast":{"n":1}}"#]]
    .assert_eq(&talker.last());

    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = ruled(&mut b, offers, 10, None, needed());
    let talker = Talker::new(|_, _| says("I am done."));
    let error = talker.world(&Toolbox::default()).run(&program, "x").result.unwrap_err();
    assert_eq!((&*error.code, talker.keys()), ("TOOL_CALL_MISSING", vec!["agent@1".to_owned(), "agent@2".to_owned()]));

    // Nothing is offered, so nothing can be called.
    let program = ruled(&mut Build::new(), Vec::new(), 10, None, needed());
    let talker = Talker::new(|_, _| says("done"));
    assert_eq!(json(&talker.world(&Toolbox::default()).run(&program, "x").result.unwrap()), j!("done"));
}

#[test]
fn more_tool_calls_than_allowed_are_not_made() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = ruled(&mut b, offers, 10, None, ToolCallRules { most: Some(2), ..ToolCallRules::default() });
    let talker = Talker::new(|key, _| match key {
        "agent@1" => calls("", &[("a", "fast", j!({"n": 1}))]),
        "agent@2" => calls("", &[("a", "fast", j!({"n": 2})), ("b", "fast", j!({"n": 3}))]),
        _ => says("done"),
    });
    let tools = Toolbox::default();
    let error = talker.world(&tools).run(&program, "x").result.unwrap_err();
    assert_eq!((&*error.code, tools.called().len()), ("MAX_STEPS_EXCEEDED", 1));
}

#[test]
fn a_model_that_never_stops_is_stopped() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = talk(&mut b, offers, 3);
    let talker = Talker::new(|_, _| calls("", &[("a", "fast", j!({}))]));
    let tools = Toolbox::default();
    let error = talker.world(&tools).run(&program, "x").result.unwrap_err();
    assert_eq!(error.code, "MAX_STEPS_EXCEEDED");
    assert_eq!((talker.keys().len(), tools.called().len()), (3, 2));
}

#[test]
fn more_calls_in_a_turn_than_the_limit_are_not_made() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = talk(&mut b, offers, 3);
    let talker = Talker::new(|key, _| {
        let ids: Vec<String> = (0..40).map(|i| i.to_string()).collect();
        let all: Vec<_> = ids.iter().map(|id| (id.as_str(), "fast", j!({}))).collect();
        if key == "agent@1" { calls("", &all) } else { says("done") }
    });
    let tools = Toolbox::default();
    let world = talker.world(&tools);
    assert_eq!(json(&world.run(&program, "x").result.unwrap()), j!("done"));
    assert_eq!((tools.called().len(), warnings(&world).len()), (32, 8));
}

/// Resumes a run from the first entries of another one.
fn cut(world: &World, entries: &[trefoil_runtime::Entry], program: &Arc<Program>) -> RunOutcome {
    block_on(world.journal.append_entries("r1", entries, &[])).unwrap();
    resume(world, program)
}

#[test]
fn a_run_that_is_cut_off_anywhere_in_a_conversation_pays_for_nothing_twice() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "slow"), local(&mut b, "fast")];
    let program = talk(&mut b, offers, 10);
    let whole = two_turns(&["slow", "fast"]).world(&Toolbox::default());
    let wanted = whole.run(&program, "x").result;
    let entries = whole.journal.entries("r1");
    for at in 1..=entries.len() {
        let done = |key: &str| {
            let ended = |e: &trefoil_runtime::Entry| matches!(&e.kind, EntryKind::Completed { key: k, .. } | EntryKind::Failed { key: k, .. } if k.as_str() == key);
            entries[..at].iter().any(ended)
        };
        let (talker, tools) = (two_turns(&["slow", "fast"]), Toolbox { idempotent: true, ..Toolbox::default() });
        let outcome = cut(&talker.world(&tools), &entries[..at], &program);
        assert_eq!(outcome.result, wanted, "cut at {at}");
        let again = talker.keys().into_iter().chain(tools.called().into_iter().map(|(key, _)| key));
        assert_eq!(again.filter(|key| done(key)).collect::<Vec<_>>(), Vec::<String>::new(), "cut at {at}");
    }
}

#[test]
fn a_call_that_may_have_been_made_waits_for_a_decision() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = talk(&mut b, offers, 10);
    let whole = two_turns(&["fast"]).world(&Toolbox::default());
    whole.run(&program, "x").result.unwrap();
    let entries = whole.journal.entries("r1");
    let begun = |e: &trefoil_runtime::Entry| matches!(&e.kind, EntryKind::Scheduled { sort, .. } if sort == "tool");
    let at = entries.iter().position(begun).unwrap() + 1;
    let (talker, tools) = (two_turns(&["fast"]), Toolbox::default());
    let outcome = cut(&talker.world(&tools), &entries[..at], &program);
    assert_eq!(outcome.waiting.iter().map(|w| w.key.as_str()).collect::<Vec<_>>(), ["agent@1[0]/fast"]);
    assert_eq!((talker.keys().len(), tools.called().len()), (0, 0));
}

#[test]
fn a_turn_that_fails_is_tried_again_without_the_turns_before_it() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = talk(&mut b, offers, 10);
    let talker = Talker::new(|key, _| match key {
        "agent@1" => calls("", &[("a", "fast", j!({}))]),
        "agent@2" => Err(status(503)),
        _ => says("done"),
    });
    let tools = Toolbox::default();
    assert_eq!(json(&talker.world(&tools).run(&program, "x").result.unwrap()), j!("done"));
    assert_eq!(talker.keys(), ["agent@1", "agent@2", "agent@2!2"]);
    assert_eq!(tools.called(), [("agent@1[0]/fast".to_owned(), 1)]);
}

#[test]
fn a_run_that_failed_in_a_turn_goes_on_from_that_turn() {
    let mut b = Build::new();
    let offers = vec![local(&mut b, "fast")];
    let program = talk(&mut b, offers, 10);
    let fails = Arc::new(Mutex::new(true));
    let failing = fails.clone();
    let talker = Talker::new(move |key, _| match key {
        "agent@1" => calls("", &[("a", "fast", j!({}))]),
        _ if *failing.lock().unwrap() => Err(status(400)),
        _ => says("done"),
    });
    let tools = Toolbox::default();
    let world = talker.world(&tools);
    assert_eq!(world.run(&program, "x").result.unwrap_err().code, "MODEL_ERROR");
    *fails.lock().unwrap() = false;
    assert_eq!(json(&resume(&world, &program).result.unwrap()), j!("done"));
    assert_eq!(talker.keys(), ["agent@1", "agent@2", "agent@2"]);
    assert_eq!(tools.called(), [("agent@1[0]/fast".to_owned(), 1)]);
}

#[test]
fn tools_describe_themselves_and_pinned_parameters_are_hidden() {
    let spec = |name: &str| ToolSpec {
        name: name.into(),
        description: format!("Does {name}.").into(),
        parameters: Value::from_json(
            j!({"type": "object", "properties": {"path": {}, "text": {}}, "required": ["path", "text"], "additionalProperties": false}),
        ),
        effects: Effects::Writes,
    };
    let tools = Toolbox { listed: vec![spec("read"), spec("write.all")], ..Toolbox::default() };
    let mut b = Build::new();
    let files = || ToolKind::for_mcp_server("files");
    let given = || ValueExpression::Read(Source::Result);
    let pinned = ValueExpression::Object(vec![("path".into(), ValueExpression::Const("/tmp".into()))]);
    let mut read = tool(&mut b, "read", files(), ValueExpression::Merge(vec![given(), pinned]));
    (read.name, read.pinned) = ("mcp__files__get".into(), vec!["path".into()]);
    let mut all = tool(&mut b, "", files(), given());
    (all.name, all.all) = ("mcp__files__".into(), true);
    let program = talk(&mut b, vec![read, all], 10);
    let offered = Arc::new(Mutex::new(Vec::new()));
    let seen = offered.clone();
    let talker = Talker::new(move |key, request| match key {
        "agent@1" => {
            let line = |t: &ToolSpec| format!("{} {} {}", t.name, t.description, t.parameters.to_text());
            *seen.lock().unwrap() = request.tools.iter().map(line).collect();
            calls(
                "",
                &[
                    ("a", "mcp__files__get", j!({"text": "x"})),
                    ("b", "mcp__files__write_all", j!({"path": "p", "text": "y"})),
                    ("c", "mcp__files__get", j!({"text": "x", "path": "/etc"})),
                ],
            )
        }
        _ => says("done"),
    });
    let world = talker.world(&tools);
    assert_eq!(json(&world.run(&program, "x").result.unwrap()), j!("done"));
    expect![[r#"
        [
            "mcp__files__get Does read. {\"type\":\"object\",\"properties\":{\"text\":{}},\"required\":[\"text\"],\"additionalProperties\":false}",
            "mcp__files__read Does read. {\"type\":\"object\",\"properties\":{\"path\":{},\"text\":{}},\"required\":[\"path\",\"text\"],\"additionalProperties\":false}",
            "mcp__files__write_all Does write.all. {\"type\":\"object\",\"properties\":{\"path\":{},\"text\":{}},\"required\":[\"path\",\"text\"],\"additionalProperties\":false}",
        ]
    "#]]
    .assert_debug_eq(&*offered.lock().unwrap());
    expect![[r#"
        User: x
        Assistant:  a:mcp__files__get{"text":"x"} b:mcp__files__write_all{"path":"p","text":"y"} c:mcp__files__get{"text":"x","path":"/etc"}
        Tool to a: {"read":{"text":"x","path":"/tmp"}}
        Tool to b: {"write.all":{"path":"p","text":"y"}}
        Tool to c: {"error":"its arguments do not fit: Additional properties are not allowed ('path' was unexpected)"}"#]]
    .assert_eq(&talker.last());
}

/// An agent that offers one tool of a server with a pinned parameter.
fn pinning(name: &str, value: Value) -> Arc<Program> {
    let mut b = Build::new();
    let pinned = ValueExpression::Object(vec![(name.into(), ValueExpression::Const(value))]);
    let arguments = ValueExpression::Merge(vec![ValueExpression::Read(Source::Result), pinned]);
    let mut read = tool(&mut b, "read", ToolKind::for_mcp_server("files"), arguments);
    read.pinned = vec![name.into()];
    talk(&mut b, vec![read], 10)
}

#[test]
fn a_pin_that_cannot_be_used_fails_before_the_model_is_asked() {
    let parameters = j!({"type": "object", "properties": {"path": {}, "text": {}}, "required": ["path"]});
    let listed = vec![ToolSpec { parameters: Value::from_json(parameters), ..ToolSpec::without_description("read") }];
    let tools = Toolbox { listed, ..Toolbox::default() };
    let failed = |program: &Arc<Program>| {
        let talker = two_turns(&["read"]);
        let outcome = talker.world(&tools).run(program, "x");
        (outcome.result.map_err(|error| error.to_string()), talker.keys().len())
    };
    let misspelt =
        "TOOL_ERROR: `read` cannot be offered with this pin: it has no parameter `paht`; did you mean `path`?";
    assert_eq!(failed(&pinning("paht", "/tmp".into())), (Err(misspelt.to_owned()), 0));
    let empty = "TOOL_ERROR: `read` cannot be called: its pinned parameter `path` has no value";
    assert_eq!(failed(&pinning("path", Value::Null)), (Err(empty.to_owned()), 0));
    // A parameter that is not required may be without a value.
    assert_eq!(failed(&pinning("text", Value::Null)).1, 2);
    assert_eq!(failed(&pinning("path", "/tmp".into())).1, 2);
}

#[test]
fn a_pin_of_an_address_without_a_value_fails_before_the_model_is_asked() {
    let program = |address: &str| {
        let mut b = Build::new();
        let pinned = ValueExpression::Object(vec![("city".into(), ValueExpression::Const(Value::Null))]);
        let params = ValueExpression::Merge(vec![ValueExpression::Read(Source::Result), pinned]);
        let address = ValueExpression::Template(b.text(address));
        let arguments = ValueExpression::Object(vec![("url".into(), address), ("params".into(), params)]);
        let mut weather = tool(&mut b, "weather", ToolKind::Http, arguments);
        weather.parameters = Some(b.schema(j!({"type": "object"})));
        talk(&mut b, vec![weather], 10)
    };
    let failed = |address: &str| {
        let talker = two_turns(&["weather"]);
        let outcome = talker.world(&Toolbox::default()).run(&program(address), "x");
        (outcome.result.map_err(|error| error.to_string()), talker.keys().len())
    };
    let empty = "TOOL_ERROR: `weather` cannot be called: its pinned parameter `city` has no value";
    assert_eq!(failed("https://x.example/{city}"), (Err(empty.to_owned()), 0));
    assert_eq!(failed("https://x.example/?city={city?}").1, 2);
}

#[test]
fn a_resumed_run_knows_what_its_tools_said_of_themselves() {
    let mut b = Build::new();
    let mut call = |label: &str| {
        let arguments = ValueExpression::Object(Vec::new());
        let call = ToolCall { name: "read".into(), kind: ToolKind::for_mcp_server("files"), arguments };
        b.step(label, StepKind::Tool(Box::new(call)))
    };
    let steps = [call("first"), call("second")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let program = std::mem::take(&mut b).program(main);
    let tools = |says| Toolbox { says, idempotent: true, ..Toolbox::default() };
    let whole = World::echo();
    let run = |world: &mut World, tools: Toolbox| world.ports.tools = Arc::new(tools);
    let mut world = whole;
    run(&mut world, tools("one"));
    assert!(world.run(&program, "x").result.is_ok());
    let entries = world.journal.entries("r1");
    let told = entries.iter().filter_map(|e| match &e.kind {
        EntryKind::Completed { about, .. } => Some(about.tools.len()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [1, 0]);
    let done = |e: &trefoil_runtime::Entry| matches!(&e.kind, EntryKind::Completed { .. });
    let at = entries.iter().position(done).unwrap() + 1;
    for (says, goes_on) in [("one", true), ("two", false)] {
        let mut world = World::echo();
        run(&mut world, tools(says));
        let outcome = cut(&world, &entries[..at], &program);
        assert_eq!(outcome.result.is_ok(), goes_on, "{:?}", outcome.result);
    }
}

#[test]
fn a_tool_that_cannot_be_offered_is_no_matter_unless_it_is_named() {
    let skips = vec![("wipe", "`files` describes its tool `wipe` incorrectly")];
    let tools = Toolbox { listed: vec![ToolSpec::without_description("read")], skips, ..Toolbox::default() };
    let offering = |name: &str, all| {
        let mut b = Build::new();
        let offer = tool(&mut b, name, ToolKind::for_mcp_server("files"), ValueExpression::Read(Source::Result));
        talk(&mut b, vec![Offer { all, ..offer }], 10)
    };
    for (name, all) in [("", true), ("read", false)] {
        let world = two_turns(&["read"]).world(&tools);
        assert!(world.run(&offering(name, all), "x").result.is_ok());
        let told = warnings(&world);
        let expected = all.then(|| "`files` describes its tool `wipe` incorrectly; the tool is not offered".to_owned());
        assert_eq!(told, Vec::from_iter(expected));
    }
    let outcome = two_turns(&[]).world(&tools).run(&offering("wipe", false), "x");
    expect!["TOOL_ERROR: `files` failed: `files` describes its tool `wipe` incorrectly"]
        .assert_eq(&outcome.result.unwrap_err().to_string());
}

#[test]
fn a_call_of_a_whole_server_is_shown_by_the_name_that_the_model_used() {
    let tools = Toolbox { listed: vec![ToolSpec::without_description("read")], ..Toolbox::default() };
    let mut b = Build::new();
    let mut all = tool(&mut b, "", ToolKind::for_mcp_server("files"), ValueExpression::Read(Source::Result));
    (all.name, all.all) = ("mcp__files__".into(), true);
    b.at(all.step).label = Some("mcp__files".into());
    let program = talk(&mut b, vec![all], 10);
    let world = two_turns(&["mcp__files__read"]).world(&tools);
    assert!(world.run(&program, "x").result.is_ok());
    let labels = world.kinds().into_iter().filter_map(|kind| match kind {
        EventKind::StepStarted { label, kind: "tool" } => Some(label.to_string()),
        _ => None,
    });
    assert_eq!(labels.collect::<Vec<_>>(), ["mcp__files__read"]);
    assert_eq!(tools.called(), [("agent@1[0]/mcp__files".to_owned(), 1)]);
}

#[test]
fn an_agent_is_a_tool() {
    let mut b = Build::new();
    let say = b.model("", "{{input}}");
    let helper = b.flow("helper", say, None);
    let call = trefoil_ir::SubflowCall {
        callee: trefoil_ir::FlowCallee::Flow(helper),
        input: Some(ValueExpression::Read(Source::Result)),
        exports: None,
        span: None,
    };
    let step = b.step("invoke_helper", StepKind::Call(Box::new(call)));
    let mut offer = offer("invoke_helper", step);
    offer.parameters = Some(b.schema(j!({"type": "object", "required": ["input"]})));
    offer.member = Some("input".into());
    let program = talk(&mut b, vec![offer], 10);
    let talker = Talker::new(|key, request| match key {
        "agent@1" => calls("", &[("a", "invoke_helper", j!({"input": "who?"}))]),
        "agent@2" => says("done"),
        _ => says(&format!("you asked {}", request.messages[0].content.to_text())),
    });
    let outcome = talker.world(&Toolbox::default()).run(&program, "x");
    assert_eq!(json(&outcome.result.unwrap()), j!("done"));
    assert_eq!(talker.keys(), ["agent@1", "agent@1[0]/invoke_helper", "agent@2"]);
    assert!(talker.last().ends_with("Tool to a: you asked who?"), "{}", talker.last());
}

/// A judge that sees each call before it is made.
fn gate(b: &mut Build) -> StepId {
    let say = b.model("", "{{input}}");
    let judge = b.flow("judge", say, None);
    let judges = vec![Judge {
        name: "judge".into(),
        flow: judge,
        input: ValueExpression::AsText(Box::new(ValueExpression::Read(Source::Result))),
        weight: 1.0,
        timeout_ms: None,
        timeout_at: None,
    }];
    let consensus = ConsensusRule {
        strategy: ConsensusStrategy::WeightedAverage,
        threshold: 0.7,
        min_judges: 1,
        n: None,
        agreement_factor: 0.7,
        confidence_factor: 0.3,
    };
    let validator = Validator {
        kind: ValidatorKind::Judges { judges, consensus },
        min_score: 0.5,
        min_confidence: 0.0,
        origin: nowhere(),
        name: "semantic".into(),
    };
    let attempts = Attempts {
        body: b.step("", StepKind::PASSED_CALL),
        max: 1,
        validators: vec![validator],
        iteration: b.slot("iteration"),
        previous_error: b.slot("error"),
        retry_failures: false,
    };
    b.step("(gate)", StepKind::Attempts(attempts))
}

#[test]
fn a_call_that_a_judge_rejects_is_not_made_and_the_model_is_told_why() {
    let talker = Talker::new(|key, request| match key {
        "agent@1" => calls("Let me see.", &[("a", "look", j!({"n": 1})), ("b", "wipe", j!({"n": 2}))]),
        "agent@2" => says("done"),
        _ if request.messages.iter().any(|m| m.content.to_text().contains("wipe")) => {
            says(r#"{"score": 0.1, "reasoning": "too dangerous"}"#)
        }
        _ => says(r#"{"score": 0.9}"#),
    });
    let program = || {
        let mut b = Build::new();
        let offers = vec![local(&mut b, "look"), local(&mut b, "wipe")];
        let gate = gate(&mut b);
        guarded(&mut b, offers, 10, Some(gate))
    };
    assert_eq!(trefoil_ir::validation::validate_program(&program()), [] as [String; 0]);
    let tools = Toolbox::default();
    let world = talker.world(&tools);
    let outcome = world.run(&program(), "x");
    assert_eq!(json(&outcome.result.unwrap()), j!("done"));
    assert_eq!(tools.called(), [("agent@1[0]/look".to_owned(), 1)]);
    let mut keys = talker.keys();
    keys.sort();
    assert_eq!(keys, ["agent@1", "agent@1[0]/(gate)#1/judge", "agent@1[1]/(gate)#1/judge", "agent@2"]);
    expect![[r#"
        User: x
        Assistant: Let me see. a:look{"n":1} b:wipe{"n":2}
        Tool to a: {"look":{"n":1}}
        Tool to b: {"error":"`semantic` did not pass: score 0.1 is below 0.5: too dangerous"}"#]]
    .assert_eq(&talker.last());
    let verdicts = world.kinds().into_iter().filter_map(|kind| match kind {
        EventKind::Verdict(verdict) => Some(verdict.to_string()),
        _ => None,
    });
    let mut verdicts: Vec<String> = verdicts.collect();
    verdicts.sort();
    expect![[r#"
        semantic passed, score 0.9
        semantic refused: score 0.1 is below 0.5: too dangerous"#]]
    .assert_eq(&verdicts.join("\n"));
    let entries = world.journal.entries("r1");
    for kept in 1..entries.len() {
        let tools = Toolbox { idempotent: true, ..Toolbox::default() };
        let outcome = cut(&talker.world(&tools), &entries[..kept], &program());
        assert_eq!(outcome.result.map(|v| json(&v)), Ok(j!("done")), "cut after {kept} entries");
        assert!(tools.called().iter().all(|(key, _)| key == "agent@1[0]/look"), "{:?}", tools.called());
    }
}
