//! Running with one's own model, tools, people and watchers.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use trefoil::machine::machine::Prepared;
use trefoil::runtime::ports::{CollectEvents, FnModel};
use trefoil::runtime::{EventKind, Key, ModelRequest, Role, ToolError, ToolHost, ToolRequest};
use trefoil::template::Value;
use trefoil::{AnswersFrom, Engine};

use crate::Folder;

const PIPELINE: &str = "id: main\nkind: sequential\ninputSchema: { city: string }\nsteps:\n  - ref: weather\n    input: { city: \"{{city}}\" }\n  \
                        - ref: writer\n    input: { degrees: \"{{weather.degrees}}\" }\n";
const WEATHER: &str = "id: weather\nkind: tool\ninputSchema: { city: string }\n\
                       tool: { kind: local, name: forecast, params: { city: \"{{city}}\" } }\n";
const WRITER: &str = "id: writer\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninputSchema: { degrees: number }\n\
                      instruction: You write.\nprompt: \"It has {{degrees}} degrees\"\n";

fn folder() -> Folder {
    Folder::with(&[("main.yaml", PIPELINE), ("weather.yaml", WEATHER), ("writer.yaml", WRITER)])
}

/// One tool, and what it was asked.
#[derive(Default)]
struct Forecast(Mutex<Vec<Value>>);

#[async_trait]
impl ToolHost for Forecast {
    fn offers(&self, name: &str) -> bool {
        name == "forecast"
    }
    async fn call(&self, _key: &Key, request: &ToolRequest) -> Result<Value, ToolError> {
        self.0.lock().unwrap().push(request.arguments.clone());
        Ok([("degrees", Value::from(21i64))].into_iter().collect())
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn ones_own_model_and_tools_answer() {
    let folder = folder();
    let loaded = folder.load("#main");
    let (tool, events) = (Arc::new(Forecast::default()), Arc::new(CollectEvents::default()));
    let echo = FnModel(|_: &Key, request: &ModelRequest| {
        let user = request.messages.iter().find(|m| m.role == Role::User).unwrap();
        Ok(format!("<{}>", user.content.to_text()))
    });
    let engine = Engine::builder().provider(Arc::new(echo)).tools(tool.clone()).events(events.clone()).seed(1).build();
    let input: Value = [("city", Value::from("Bergen"))].into_iter().collect();
    let outcome = block_on(engine.run(&loaded, Some(input.clone()))).unwrap();
    assert_eq!(outcome.result.unwrap(), Value::from("<It has 21 degrees>"));
    assert_eq!(*tool.0.lock().unwrap(), [input]);
    let labels: Vec<String> = events
        .seen()
        .iter()
        .filter_map(|e| match &e.kind {
            EventKind::StepStarted { label, .. } => Some(label.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(labels, ["weather", "writer"]);
}

#[test]
fn everything_that_is_missing_is_said_at_once_and_nothing_is_called() {
    let folder = Folder::with(&[
        ("main.yaml", "id: main\nkind: sequential\nsteps:\n  - ref: weather\n    input: { city: x }\n  - ref: pic\n"),
        ("weather.yaml", WEATHER),
        ("pic.yaml", "id: pic\nkind: image\nmodel: { provider: openai, name: i }\nprompt: a tree\n"),
    ]);
    let loaded = folder.load("#main");
    let model = FnModel(|_: &Key, _: &ModelRequest| panic!("nothing is to be called"));
    let engine = Engine::builder().provider(Arc::new(model)).answer("nobody", "x").build();
    let not = block_on(engine.run(&loaded, None)).unwrap_err();
    let rules: Vec<&str> = not.reasons.iter().map(|d| d.rule).collect();
    assert_eq!(rules, ["missing-tool", "refused", "unknown-answer"]);
    assert!(not.text(&loaded).contains("weather.yaml:"), "{}", not.text(&loaded));
}

#[test]
fn a_wrong_input_is_refused_with_its_place() {
    let folder = folder();
    let loaded = folder.load("#main");
    let engine = Engine::builder().tools(Arc::new(Forecast::default())).model("embedded".parse().unwrap()).build();
    let ready = engine.ready(&loaded).unwrap();
    assert_eq!(ready.answers_from, AnswersFrom::Embedded);
    let wrong: Value = [("city", Value::from(3i64)), ("zork", Value::Null)].into_iter().collect();
    let not = ready.check_input(Some(&wrong)).unwrap_err();
    assert_eq!(not.reasons.len(), 2, "all that is wrong, at once");
    assert!(not.text(&loaded).contains("main.yaml:3:"), "{}", not.text(&loaded));
    ready.check_input(None).unwrap();
}

#[test]
fn one_engine_runs_one_program_many_times() {
    let folder = folder();
    let loaded = folder.load("#main");
    let engine = Engine::builder().tools(Arc::new(Forecast::default())).model("embedded".parse().unwrap()).build();
    let outcomes = block_on(async {
        let runs = (0..20).map(|_| engine.run(&loaded, Some([("city", Value::from("x"))].into_iter().collect())));
        futures::future::join_all(runs).await
    });
    let first = outcomes[0].as_ref().unwrap().result.clone().unwrap();
    assert!(outcomes.iter().all(|o| o.as_ref().unwrap().result.as_ref() == Ok(&first)));
    // Programs are plain data: they can be prepared once and shared.
    let _: Arc<Prepared> = Prepared::new(Arc::new(loaded.program));
}
