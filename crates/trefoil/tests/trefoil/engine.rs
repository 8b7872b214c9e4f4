//! Runs with custom models, tools, people and watchers, and every way in which a run does not start or fails.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use serde_json::json;
use trefoil::models::Registry;
use trefoil::ports::{
    CallSite, CollectEvents, FnModel, MapSecrets, MemoryJournal, MessageRole, ModelError, ModelErrorKind, ModelRequest,
    ToolError, ToolHost, ToolKind, ToolRequest,
};
use trefoil::{AnswersFrom, Engine, Error, EventKind, Flow, FoundErrors, Key, Run, RunFailure, Value};

const PIPELINE: &str = "id: main\nkind: sequential\ninputSchema: { city: string }\nsteps:\n  - ref: weather\n    input: { city: \"{{city}}\" }\n  \
                        - ref: writer\n    input: { degrees: \"{{weather.degrees}}\" }\n";
const WEATHER: &str = "id: weather\nkind: tool\ninputSchema: { city: string }\n\
                       tool: { kind: local, name: forecast, params: { city: \"{{city}}\" } }\n";
const WRITER: &str = "id: writer\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninputSchema: { degrees: number }\n\
                      instruction: You write.\nprompt: \"It has {{degrees}} degrees\"\n";
const SHAPED: &str = "id: shaped\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: You rate.\nprompt: Rate it.\n\
                      outputSchema: { score: integer }\n";

fn pipeline() -> Flow {
    Flow::from_files("#main", [("main.yaml", PIPELINE), ("weather.yaml", WEATHER), ("writer.yaml", WRITER)]).unwrap()
}

fn weather() -> Flow {
    Flow::from_text("weather.yaml", WEATHER).unwrap()
}

#[derive(serde::Deserialize)]
struct Place {
    city: String,
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn not_started(run: trefoil::Result<Run>) -> FoundErrors {
    match run {
        Err(Error::NotStarted(found)) => found,
        Err(other) => panic!("{other}"),
        Ok(run) => panic!("{run:?} was started"),
    }
}

fn failure(output: trefoil::Result<serde_json::Value>) -> RunFailure {
    match output {
        Err(Error::Failed(failure)) => *failure,
        Err(other) => panic!("{other}"),
        Ok(output) => panic!("it ended with {output}"),
    }
}

fn rules(found: &FoundErrors) -> Vec<&'static str> {
    found.found_diagnostics().iter().map(|d| d.rule).collect()
}

/// A model that returns its request, between `<` and `>`.
fn echo() -> impl trefoil::ports::ModelProvider {
    FnModel(|_: &Key, request: &ModelRequest| {
        let user = request.messages.iter().find(|m| m.role == MessageRole::User).unwrap();
        Ok(format!("<{}>", user.content.to_text()))
    })
}

#[test]
fn advice_for_a_program_that_embeds_the_library_names_its_methods() {
    let tool = |kind: &str| format!("id: a\nkind: tool\ntool: {{ {kind} }}\n");
    let command = "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: { name: w, version: \"1.0.0\" }\nspec:\n  initial_state: A\n  \
                   states:\n    A: { kind: System, command: \"true\" }\n";
    let human = command.replace("kind: System, command: \"true\"", "kind: Human, prompt: \"Open it?\"");
    let python = "version: \"0.1\"\nagents: {}\nnodes:\n  t: { type: tool, tool: python, config: { module: os, function: getpid, args: {} }, output_key: d }\n\
                  edges: []\ninput: { message: hi }\n";
    let mut met = 0;
    for (text, method) in [
        (tool("kind: local, name: f, params: {}"), "Engine::tool"),
        (tool("kind: http, name: f, url: \"https://example.com/\""), "register a tool"),
        (tool("kind: mcp, server: files, name: f, params: {}"), "Engine::tools"),
        (command.to_owned(), "Engine::commands"),
        (human, "Engine::humans"),
        (python.to_owned(), "Engine::python"),
    ] {
        let flow = Flow::from_text("a.yaml", &text).unwrap();
        for engine in [Engine::new().provider(echo()), Engine::new().model("embedded")] {
            let found = not_started(engine.start_run(&flow, json!({ "task": "x" })));
            let said = found.to_string();
            assert!(said.contains(method), "{method}: {said}");
            assert!(!said.contains("trefoil.toml") && !said.contains(" `--") && !said.contains("terminal"), "{said}");
            met += 1;
        }
    }
    assert_eq!(met, 12);
}

#[test]
fn closures_are_tools_and_the_output_is_a_type_of_ones_own() {
    #[derive(serde::Serialize)]
    struct Weather {
        degrees: i32,
    }
    let engine = Engine::new().provider(echo()).tool("forecast", async |at: Place| {
        assert_eq!(at.city, "Bergen");
        Ok(Weather { degrees: 21 })
    });
    block_on(async {
        let text: String =
            engine.start_run(&pipeline(), json!({ "city": "Bergen" })).unwrap().wait_output().await.unwrap();
        assert_eq!(text, "<It has 21 degrees>");
        let input = std::collections::BTreeMap::from([("city", "Bergen")]);
        let seen: serde_json::Value = engine.start_run(&weather(), input).unwrap().wait_output().await.unwrap();
        assert_eq!(seen, json!({ "degrees": 21 }));
    });
}

#[test]
fn what_a_tool_says_is_in_the_failure_with_step_and_place() {
    #[derive(serde::Deserialize)]
    struct Wrong {
        #[allow(dead_code, reason = "is never there")]
        town: String,
    }
    let fails = |engine: Engine| {
        block_on(async { failure(engine.start_run(&weather(), json!({ "city": "x" })).unwrap().wait_output().await) })
    };
    let own = fails(Engine::new().tool("forecast", async |_: Place| Err::<(), _>("no such city".into())));
    assert_eq!(
        (own.error_code(), own.error_message(), own.step_key()),
        ("TOOL_ERROR", "`forecast` failed: no such city", Some("weather"))
    );
    assert_eq!(own.step_location().unwrap(), "weather.yaml:4:1");
    assert_eq!(own.run_outcome().calls, 0);
    let text = Error::Failed(Box::new(own)).to_string();
    assert!(text.starts_with("the run failed\n\n"), "{text}");
    assert!(
        text.contains("TOOL_ERROR in `weather`: `forecast` failed: no such city")
            && text.contains("tool: { kind: local"),
        "{text}"
    );
    let parsed = fails(Engine::new().tool("forecast", async |at: Place| Ok(at.city.parse::<u32>()?)));
    assert_eq!(parsed.error_message(), "`forecast` failed: invalid digit found in string", "`?` takes any error");
    let late = fails(Engine::new().tool("forecast", async |_: Place| Err::<(), _>(ToolError::Timeout.into())));
    assert_eq!(late.error_code(), "TOOL_TIMEOUT");
    let unfit = fails(Engine::new().tool("forecast", async |_: Wrong| Ok(())));
    expect_test::expect!["`forecast` failed: invalid arguments: missing field `town`"].assert_eq(unfit.error_message());
    let no_json = async |_: Place| Ok(std::collections::BTreeMap::from([(vec![1], 2)]));
    expect_test::expect!["`forecast` failed: the result cannot be written as JSON: key must be a string"]
        .assert_eq(fails(Engine::new().tool("forecast", no_json)).error_message());
}

/// A tool that records its arguments.
#[derive(Default)]
struct Forecast(Mutex<Vec<Value>>);

#[async_trait]
impl ToolHost for Forecast {
    fn offers_tool(&self, name: &str, _kind: &ToolKind) -> bool {
        name == "forecast"
    }
    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        self.0.lock().unwrap().push(request.arguments.clone());
        Ok([("degrees", Value::from(1i64))].into_iter().collect())
    }
}

#[test]
fn ports_can_be_kept_by_whoever_hands_them_over() {
    let (tools, events) = (Arc::new(Forecast::default()), Arc::new(CollectEvents::new()));
    let engine = Engine::new().tools(tools.clone()).events(events.clone());
    let start = async |engine: &Engine| engine.start_run(&weather(), json!({ "city": "Bergen" })).unwrap();
    block_on(async { start(&engine).await.wait_outcome().await }).result.unwrap();
    assert_eq!(tools.0.lock().unwrap().len(), 1);
    assert!(
        events.collected_events().iter().any(|e| matches!(&e.kind, EventKind::EffectStarted { effect: "tool", .. }))
    );
    // Closures come first; the host is used only for other names.
    let engine = engine.tool("other", async |(): ()| Ok(0)).tool("forecast", async |_: Place| Ok(2));
    let output: i64 = block_on(async { start(&engine).await.wait_output().await.unwrap() });
    assert_eq!((output, tools.0.lock().unwrap().len()), (2, 1));
}

#[test]
fn events_come_in_order_with_stable_names_and_places() {
    let (flow, engine) =
        (pipeline(), Engine::new().provider(echo()).tool("forecast", async |_: Place| Ok(json!({ "degrees": 3 }))));
    block_on(async {
        let mut run = engine.start_run(&flow, json!({ "city": "Bergen" })).unwrap();
        let mut events = Vec::new();
        while let Some(event) = run.next_event().await {
            events.push(event);
        }
        assert!(events.iter().all(|e| *e.run == *run.id()) && run.flow().name() == "main");
        let numbered = events.iter().filter(|event| event.kind.name() != "text_delta");
        assert!((0..).zip(numbered).all(|(number, event)| event.seq == number), "without gaps");
        let names: Vec<&str> = events.iter().map(|e| e.kind.name()).collect();
        let tool = ["run_started", "step_started", "effect_started", "effect_finished", "step_finished"];
        let model = ["step_started", "model_started", "text_delta", "model_finished", "step_finished", "run_finished"];
        assert_eq!(names, [&tool[..], &model[..]].concat());
        assert_eq!(events[1].to_string(), "step_started weather: agent");
        let json = flow.event_json(&events[1]);
        assert_eq!(
            (&json["event"], &json["file"], &json["line"]),
            (&json!("step_started"), &json!("main.yaml"), &json!(5))
        );
        assert!(run.next_event().await.is_none(), "and so it stays");
        assert_eq!(run.wait_output::<String>().await.unwrap(), "<It has 3 degrees>", "reading events loses nothing");
    });
}

#[test]
fn the_outcome_tells_what_a_run_has_cost() {
    let engine = Engine::new().provider(echo()).tool("forecast", async |_: Place| Ok(json!({ "degrees": 3 })));
    let outcome =
        block_on(async { engine.start_run(&pipeline(), json!({ "city": "Bergen" })).unwrap().wait_outcome().await });
    assert_eq!((outcome.calls, outcome.usage.output_tokens), (1, 4));
    assert_eq!(outcome.result.unwrap().to_json(), json!("<It has 3 degrees>"));
}

/// Records that it was dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// An engine with a tool that never returns; whether the tool was started, and whether it was stopped.
fn stuck() -> (Engine, Arc<tokio::sync::Notify>, Arc<AtomicBool>) {
    let (begun, dropped) = (Arc::new(tokio::sync::Notify::new()), Arc::new(AtomicBool::new(false)));
    let (begin, stop) = (begun.clone(), dropped.clone());
    let engine = Engine::new().tool("forecast", move |_: Place| {
        let (begin, guard) = (begin.clone(), Dropped(stop.clone()));
        async move {
            begin.notify_one();
            std::future::pending::<()>().await;
            drop(guard);
            Ok(())
        }
    });
    (engine, begun, dropped)
}

#[test]
fn a_cancelled_run_ends_with_its_code() {
    block_on(async {
        let (engine, begun, dropped) = stuck();
        let run = engine.start_run(&weather(), json!({ "city": "x" })).unwrap();
        begun.notified().await;
        run.request_cancel();
        let failed = failure(run.wait_output().await);
        assert_eq!((failed.error_code(), dropped.load(Ordering::SeqCst)), ("CANCELLED", true));
        // The same from another task, while the outcome is awaited.
        let (engine, begun, _) = stuck();
        let run = engine.start_run(&weather(), json!({ "city": "x" })).unwrap();
        let canceller = run.cancel_switch();
        let (outcome, ()) = futures::join!(run.wait_outcome(), async {
            begun.notified().await;
            canceller.cancel_runs();
        });
        assert_eq!(outcome.result.unwrap_err().code, "CANCELLED");
    });
}

#[test]
fn dropping_the_handle_stops_the_run() {
    block_on(async {
        let (engine, begun, dropped) = stuck();
        let run = engine.start_run(&weather(), json!({ "city": "x" })).unwrap();
        begun.notified().await;
        assert!(!dropped.load(Ordering::SeqCst));
        drop(run);
        for _ in 0..1000 {
            if dropped.load(Ordering::SeqCst) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the tool goes on");
    });
}

#[test]
fn a_run_goes_on_while_nobody_looks() {
    block_on(async {
        let done = Arc::new(tokio::sync::Notify::new());
        let tell = done.clone();
        let engine = Engine::new().tool("forecast", move |_: Place| {
            tell.notify_one();
            async { Ok(1) }
        });
        let run = engine.start_run(&weather(), json!({ "city": "x" })).unwrap();
        done.notified().await;
        assert_eq!(run.wait_output::<i64>().await.unwrap(), 1);
    });
}

#[test]
#[should_panic(expected = "the tool has a bug")]
fn a_panic_of_a_tool_is_not_swallowed() {
    async fn bug(_: Place) -> Result<(), trefoil::BoxError> {
        panic!("the tool has a bug")
    }
    block_on(async {
        Engine::new().tool("forecast", bug).start_run(&weather(), json!({ "city": "x" })).unwrap().wait_outcome().await
    });
}

#[test]
fn everything_that_is_missing_is_said_at_once_and_nothing_is_called() {
    let flow = Flow::from_files(
        "#main",
        [
            (
                "main.yaml",
                "id: main\nkind: sequential\nsteps:\n  - ref: weather\n    input: { city: x }\n  - ref: pic\n",
            ),
            ("weather.yaml", WEATHER),
            ("pic.yaml", "id: pic\nkind: image\nmodel: { provider: openai, name: i }\nprompt: a tree\n"),
        ],
    )
    .unwrap();
    let model = FnModel(|_: &Key, _: &ModelRequest| panic!("nothing is to be called"));
    let found =
        not_started(block_on(async { Engine::new().provider(model).answer("nobody", "x").start_run(&flow, ()) }));
    assert_eq!(rules(&found), ["missing-tool", "refused", "unknown-answer"]);
    let text = Error::NotStarted(found).to_string();
    assert!(text.contains("weather.yaml:4:1"), "{text}");
}

#[test]
fn a_model_that_cannot_be_asked_keeps_a_run_from_starting() {
    let flow = Flow::from_text("writer.yaml", WRITER).unwrap();
    let start = |engine: Engine| block_on(async { engine.start_run(&flow, json!({ "degrees": 1 })) });
    let nothing = || Engine::new().registry(Registry::new(std::iter::empty::<(String, String)>()));
    for (engine, rule) in [
        (nothing(), "missing-model"),
        (nothing().model("gpt"), "missing-model"),
        (nothing().model("scripted=/no/such/file.yaml"), "invalid-script"),
        (nothing().model("x=openai:y"), "missing-model"),
    ] {
        let found = not_started(start(engine));
        assert!(rules(&found).contains(&rule), "{found}");
    }
    let found = not_started(start(nothing().model("gpt")));
    assert!(found.to_string().contains("`gpt` is not a model"), "{found}");
}

#[test]
fn an_input_that_does_not_fit_is_refused_with_its_place() {
    let engine = Engine::new().tool("forecast", async |_: Place| Ok(1));
    let start = |input: serde_json::Value| block_on(async { engine.start_run(&weather(), input) });
    let found = not_started(start(json!({ "city": 3, "zork": null })));
    assert_eq!(rules(&found), ["input-invalid", "input-invalid"], "all that is wrong, at once");
    assert!(found.to_string().contains("weather.yaml:3:"), "{found}");
    assert!(start(serde_json::Value::Null).is_ok(), "no input is an input");
}

#[test]
fn what_is_wrong_with_the_call_itself_has_its_own_kinds() {
    let engine = Engine::new().tool("forecast", async |_: Place| Ok(1));
    let no_json = std::collections::BTreeMap::from([(vec![1], 2)]);
    let error = block_on(async { engine.start_run(&weather(), no_json).unwrap_err() });
    assert!(matches!(error, Error::Input(_)) && error.to_string().contains("key must be a string"), "{error}");
    let error = engine.start_run(&weather(), ()).unwrap_err();
    assert!(matches!(error, Error::NoRuntime), "{error}");
    assert!(error.to_string().contains("no tokio runtime"), "{error}");
}

#[test]
fn an_output_of_another_type_is_not_lost() {
    let engine = Engine::new().tool("forecast", async |_: Place| Ok("warm"));
    let error =
        block_on(async { engine.start_run(&weather(), json!({ "city": "x" })).unwrap().wait_output::<u32>().await });
    let error = error.unwrap_err();
    assert!(error.to_string().contains("expected u32"), "{error}");
    let Error::Output { output, .. } = error else { panic!("{error}") };
    assert_eq!(output, json!("warm"));
}

#[test]
fn a_model_error_is_a_failure_with_its_cost() {
    let model = FnModel(|_: &Key, _: &ModelRequest| Err(ModelError::new(ModelErrorKind::Status(400), "bad request")));
    let flow = Flow::from_text("writer.yaml", WRITER).unwrap();
    let engine = Engine::new().provider(model);
    let failed =
        failure(block_on(async { engine.start_run(&flow, json!({ "degrees": 1 })).unwrap().wait_output().await }));
    assert_eq!((failed.error_code(), failed.run_outcome().calls), ("MODEL_ERROR", 1));
    assert!(failed.to_string().contains("(status 400)"), "{failed}");
    // What `main` prints when it returns the error, and what users of `dyn Error` get.
    let error: Box<dyn std::error::Error + Send + Sync> = Error::Failed(Box::new(failed)).into();
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn one_engine_runs_flows_many_times_and_compiles_their_schemas_once() {
    // A schema that takes long to compile: it must not be compiled in every run.
    let calls = Arc::new(AtomicU32::new(0));
    let count = calls.clone();
    let model = FnModel(move |_: &Key, _: &ModelRequest| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok("{\"score\": 3}".to_owned())
    });
    let (flow, engine) = (Flow::from_text("shaped.yaml", SHAPED).unwrap(), Engine::new().provider(model));
    let outputs: Vec<serde_json::Value> = block_on(async {
        let runs = (0..20).map(|_| async { engine.start_run(&flow, ()).unwrap().wait_output().await.unwrap() });
        futures::future::join_all(runs).await
    });
    assert!(outputs.iter().all(|output| *output == json!({ "score": 3 })));
    assert_eq!(calls.load(Ordering::Relaxed), 20);
}

#[test]
fn a_seed_makes_runs_repeatable_and_their_ids_differ() {
    let flow = Flow::from_text("shaped.yaml", SHAPED).unwrap();
    let run = |engine: &Engine| {
        let outcome = block_on(async { engine.start_run(&flow, ()).unwrap().wait_outcome().await });
        (outcome.run.to_string(), outcome.result.unwrap().to_json())
    };
    let seeded = || Engine::new().model("embedded").random_seed(7);
    let (one, other) = (seeded(), seeded());
    let (first, second) = (run(&one), run(&one));
    assert_eq!(first, run(&other));
    assert!(first.0 != second.0 && first.1 == second.1, "two runs of one engine are two runs");
}

#[test]
fn a_journal_is_kept_where_one_is_given() {
    let journal = Arc::new(MemoryJournal::new());
    let engine = Engine::new().tool("forecast", async |_: Place| Ok(1)).journal(journal.clone()).random_seed(1);
    let ids: Vec<String> = block_on(async {
        let runs = (0..2).map(|_| engine.start_run(&weather(), json!({ "city": "x" })).unwrap());
        let outcomes = futures::future::join_all(runs.map(|run| run.wait_outcome())).await;
        outcomes.into_iter().map(|outcome| outcome.result.map(|_| outcome.run.to_string()).unwrap()).collect()
    });
    let mut kept = journal.run_ids();
    kept.sort();
    let mut ids = ids;
    ids.sort();
    assert_eq!(kept, ids);
}

#[test]
fn what_is_masked_reaches_tools_and_nobody_who_watches() {
    #[derive(serde::Deserialize)]
    struct Token {
        token: String,
    }
    let text = "id: a\nkind: tool\ntool: { kind: local, name: f, params: { token: \"{{env.KEY}}\" } }\n";
    let flow = Flow::from_text("a.yaml", text).unwrap();
    let engine = Engine::new().secrets(MapSecrets::new().with_variable("KEY", "correct-horse-battery"));
    let engine = engine.tool("f", async |given: Token| {
        let known = given.token == "correct-horse-battery";
        Err::<(), _>(format!("known: {known}, {}", given.token).into())
    });
    block_on(async {
        let mut run = engine.start_run(&flow, ()).unwrap();
        while let Some(event) = run.next_event().await {
            assert!(!format!("{event} {}", flow.event_json(&event)).contains("correct-horse"), "{event}");
        }
        let failed = failure(run.wait_output().await);
        assert_eq!(failed.error_message(), "`f` failed: known: true, ***");
    });
}

#[test]
fn a_run_is_a_stream_of_its_events_and_keeps_its_output() {
    let engine = Engine::new().provider(echo()).tool("forecast", async |_: Place| Ok(json!({ "degrees": 21 })));
    block_on(async {
        let mut run = engine.start_run(&pipeline(), json!({ "city": "Bergen" })).unwrap();
        let ended = run.by_ref().filter_map(|event| {
            let ended = matches!(event.kind, EventKind::StepFinished { .. });
            std::future::ready(ended.then(|| event.key.as_ref().map(|key| key.0.to_string())).flatten())
        });
        assert_eq!(ended.collect::<Vec<_>>().await, ["weather", "writer"]);
        assert!(run.next().await.is_none(), "the stream has ended");
        assert_eq!(run.wait_output::<String>().await.unwrap(), "<It has 21 degrees>");
    });
}

#[test]
fn whether_an_input_is_accepted_is_known_without_a_run() {
    let called = Arc::new(AtomicBool::new(false));
    let calls = called.clone();
    let engine = Engine::new().tool("forecast", move |_: Place| {
        calls.store(true, Ordering::Relaxed);
        async { Ok(1) }
    });
    let ready = engine.prepare_run(&weather()).unwrap();
    ready.check_input(json!({ "city": "Bergen" })).unwrap();
    let Err(Error::NotStarted(found)) = ready.check_input(json!({ "city": 7 })) else { panic!("7 is not a city") };
    assert_eq!(rules(&found), ["input-invalid"]);
    assert!(!called.load(Ordering::Relaxed));
}

#[test]
fn whether_a_flow_could_start_is_known_without_starting_it() {
    let engine = Engine::new().model("embedded").tool("forecast", async |_: Place| Ok(1));
    assert_eq!(*engine.prepare_run(&pipeline()).unwrap().answers_from(), AnswersFrom::Embedded);
    let Err(Error::NotStarted(found)) = Engine::new().model("embedded").prepare_run(&pipeline()) else {
        panic!("no tool")
    };
    assert_eq!(rules(&found), ["missing-tool"]);
}

#[test]
fn a_question_is_answered_beforehand_or_keeps_a_run_from_starting() {
    let ask = "version: '0.1'\nnodes:\n  ask: { type: human, prompt: 'Go on?', writes: output.answer }\n";
    let flow = Flow::from_text("ask.yaml", ask).unwrap();
    let found = not_started(block_on(async { Engine::new().start_run(&flow, ()) }));
    assert_eq!(rules(&found), ["nobody-to-ask"]);
    let engine = Engine::new().answer("ask", "yes");
    let output: serde_json::Value =
        block_on(async { engine.start_run(&flow, "hello").unwrap().wait_output().await.unwrap() });
    assert_eq!(output["answer"], "yes", "{output}");
}
