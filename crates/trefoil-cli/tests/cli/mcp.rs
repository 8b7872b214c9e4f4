//! `trefoil mcp` and a real client: that of the SDK, in both generations of the protocol.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, JsonObject, ProgressNotificationParam, ProtocolVersion, Request,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, NotificationContext, PeerRequestOptions, RequestContext, RunningService,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::process::Child;

use crate::world::Folder;

const SCRIPT: &str = "answers:\n  writer: A verse.\n  sleeper: { text: late, delay_ms: 600000 }\n  broken: { error: { status: 400, message: no such model } }\n";
const WRITER: &str = "id: writer\nkind: llm\ndescription: Writes verse\nmodel: { provider: openai, name: gpt-x }\ninstruction: Write.\ninputSchema:\n  topic: string\n  lines: { type: integer, default: 4 }\n";
const ASKS: &str = "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: \"Ship {{ inputs.message }}?\", writes: working.said }\n  say: { type: agent, agent: writer, writes: output.text }\nagents:\n  writer: { model: \"openai:gpt-x\", system: \"{{ ok.output }}\" }\nedges: [{ from: ok, to: say }]\ninput: { message: it }\n";

fn agent(id: &str) -> String {
    format!("id: {id}\nkind: llm\nmodel: {{ provider: openai, name: gpt-x }}\ninstruction: Go.\n")
}

pub fn flows() -> Folder {
    let folder = Folder::new();
    folder.write("flows/writer.yaml", WRITER).write("flows/asks.yaml", ASKS).write("script.yaml", SCRIPT);
    folder.write("flows/sleeper.yaml", agent("sleeper")).write("flows/broken.yaml", agent("broken"));
    // Another flow uses it, so it is not offered as a separate tool.
    folder.write("flows/inner.yaml", agent("inner"));
    folder.write("flows/outer.yaml", "id: outer\nkind: sequential\nsteps:\n  - ref: inner\n");
    folder
}

/// A user of a client: answers questions and records notifications.
#[derive(Clone)]
pub struct Person {
    pub action: ElicitationAction,
    /// Whether the client can show forms.
    pub can: bool,
    /// Shows the form for this long before the answer.
    pub slow: Duration,
    /// Whether showing the form fails.
    pub fails: bool,
    pub asked: Arc<Mutex<Vec<String>>>,
    pub told: Arc<Mutex<Vec<(f64, String)>>>,
    /// The number of questions that were taken back.
    pub taken_back: Arc<Mutex<usize>>,
}

impl Person {
    pub fn new(action: ElicitationAction) -> Self {
        let (asked, told, taken_back) = Default::default();
        Self { action, can: true, slow: Duration::ZERO, fails: false, asked, told, taken_back }
    }
}

impl ClientHandler for Person {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return Err(ErrorData::invalid_params("a form was expected", None));
        };
        let schema = serde_json::to_value(requested_schema).unwrap();
        self.asked.lock().unwrap().push(format!("{message} {}", schema["properties"]["answer"]["title"]));
        tokio::select! {
            () = tokio::time::sleep(self.slow) => {}
            () = context.ct.cancelled() => *self.taken_back.lock().unwrap() += 1,
        }
        if self.fails {
            return Err(ErrorData::internal_error("the form cannot be shown", None));
        }
        Ok(ElicitResult::new(self.action.clone()).with_content(json!({ "answer": "yes" })))
    }
    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.told.lock().unwrap().push((params.progress, params.message.unwrap_or_default()));
    }
    fn get_info(&self) -> ClientConfig {
        let can = match self.can {
            true => ClientCapabilities::builder().enable_elicitation().build(),
            false => ClientCapabilities::default(),
        };
        ClientConfig::new(can, Implementation::new("tests", "1"))
    }
}

pub struct Connected {
    pub person: Person,
    pub running: RunningService<RoleClient, Person>,
    pub process: Child,
}

/// The older generation and the current one.
pub fn generations() -> [ClientLifecycleMode; 2] {
    [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    ]
}

pub async fn connect(folder: &Folder, generation: ClientLifecycleMode, action: ElicitationAction) -> Connected {
    connected(folder, generation, Person::new(action)).await
}

async fn connected(folder: &Folder, generation: ClientLifecycleMode, person: Person) -> Connected {
    served(command(folder), generation, person).await
}

pub fn command(folder: &Folder) -> std::process::Command {
    let mut command = folder.command(&["mcp", "flows", "--model", "scripted=script.yaml", "--store", "runs.db"]);
    command.env_remove("TREFOIL_EPHEMERAL").stderr(Stdio::null());
    command
}

pub async fn served(mut command: std::process::Command, generation: ClientLifecycleMode, person: Person) -> Connected {
    command.stdin(Stdio::piped());
    let mut process = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
    let (read, write) = (process.stdout.take().unwrap(), process.stdin.take().unwrap());
    let transport = AsyncRwTransport::new_client(read, write);
    let running = person.clone().serve_with_lifecycle(transport, generation).await.unwrap();
    Connected { person, running, process }
}

impl Connected {
    pub async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let arguments: JsonObject = serde_json::from_value(arguments).unwrap();
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let called = tokio::time::timeout(Duration::from_secs(60), self.running.call_tool(params));
        called.await.unwrap().unwrap()
    }
    /// The client disconnects.
    pub async fn leave(mut self) -> Option<i32> {
        let _ = self.running.cancel().await;
        let ended = tokio::time::timeout(Duration::from_secs(60), self.process.wait());
        ended.await.unwrap().unwrap().code()
    }
}

pub fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|part| Some(part.as_text()?.text.clone())).collect()
}

pub fn status(folder: &Folder, run: &str) -> String {
    let mut command = folder.command(&["runs", "show", run, "--output", "json", "--store", "runs.db"]);
    command.env_remove("TREFOIL_EPHEMERAL");
    let shown = crate::world::finish(command);
    shown.json()["status"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn flows_are_listed_with_what_they_take_and_called() {
    let folder = flows();
    for generation in generations() {
        let client = connect(&folder, generation, ElicitationAction::Accept).await;
        let tools = client.running.list_all_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["asks", "broken", "outer", "sleeper", "writer"]);
        let writer = tools.iter().find(|tool| tool.name == "writer").unwrap();
        assert_eq!(writer.description.as_deref(), Some("Writes verse"));
        let schema = Value::Object((*writer.input_schema).clone());
        assert_eq!(schema["properties"]["lines"]["default"], 4, "{schema}");
        assert_eq!(schema["type"], "object");

        let said = client.call("writer", json!({ "topic": "otters" })).await;
        assert_eq!((text(&said), said.is_error), ("A verse.".to_owned(), Some(false)));
        let run = said.meta.unwrap()["trefoil/run"].as_str().unwrap().to_owned();
        assert_eq!(status(&folder, &run), "completed");

        let wrong = client.call("writer", json!({ "topic": 5 })).await;
        assert_eq!(wrong.is_error, Some(true));
        assert!(text(&wrong).contains("input-invalid"), "{}", text(&wrong));
        let failed = client.call("broken", json!({ "input": "x" })).await;
        assert!(failed.is_error == Some(true) && text(&failed).contains("MODEL_ERROR"), "{}", text(&failed));
        assert!(text(&failed).contains("broken.yaml:1"), "{}", text(&failed));
        let unknown = client.running.call_tool(CallToolRequestParams::new("nothing")).await;
        assert!(unknown.unwrap_err().to_string().contains("unknown tool `nothing`"));
        assert_eq!(client.leave().await, Some(0));
    }
}

#[tokio::test]
async fn a_flow_that_takes_a_text_takes_nothing_else() {
    let folder = flows();
    folder.write("flows/echo.yaml", agent("echo"));
    folder.write("script.yaml", format!("{SCRIPT}  echo: A reply.\n"));
    for generation in generations() {
        let client = connect(&folder, generation, ElicitationAction::Accept).await;
        for (arguments, why) in [
            (json!({ "inputx": "hi" }), "did you mean `input`?"),
            (json!({}), "the input `input` is missing"),
            (json!({ "input": 123, "extra": 1 }), "unknown input `extra`"),
            (json!({ "input": { "a": 1 } }), "the input `input` must be text, but it is an object"),
        ] {
            let said = client.call("echo", arguments).await;
            assert_eq!(said.is_error, Some(true), "{}", text(&said));
            for part in ["input-invalid", why, "echo.yaml:1"] {
                assert!(text(&said).contains(part), "`{part}` is not in\n{}", text(&said));
            }
            assert!(said.meta.is_none(), "no run was started");
        }
        let none = client.running.call_tool(CallToolRequestParams::new("echo")).await.unwrap();
        assert_eq!((none.is_error, none.meta.is_none()), (Some(true), true), "{}", text(&none));
        assert_eq!(text(&client.call("echo", json!({ "input": "hi" })).await), "A reply.");
        client.leave().await;
    }
}

#[tokio::test]
async fn a_question_of_a_flow_is_asked_where_the_client_is() {
    let folder = flows();
    for generation in generations() {
        let client = connect(&folder, generation, ElicitationAction::Accept).await;
        let said = client.call("asks", json!({ "message": "the release" })).await;
        assert_eq!(said.structured_content, Some(json!({ "text": "A verse." })), "{}", text(&said));
        assert_eq!(*client.person.asked.lock().unwrap(), ["Ship the release? \"ok\""]);
        client.leave().await;
    }
}

#[tokio::test]
async fn where_a_client_cannot_ask_the_question_is_kept() {
    let folder = flows();
    for generation in generations() {
        let person = Person { can: false, ..Person::new(ElicitationAction::Accept) };
        let client = connected(&folder, generation, person).await;
        let said = client.call("asks", json!({})).await;
        assert_eq!(said.is_error, Some(true));
        let run = said.meta.as_ref().unwrap()["trefoil/run"].as_str().unwrap().to_owned();
        assert!(text(&said).contains(&format!("trefoil runs answer {run}")), "{}", text(&said));
        assert_eq!(status(&folder, &run), "waiting");
        client.leave().await;
    }
}

#[tokio::test]
async fn a_client_that_wants_to_know_is_told_how_far_a_run_is() {
    let folder = flows();
    let step = agent("writer").replace('\n', "\n      ");
    let looped =
        "id: looped\nkind: sequential\nuntil: \"{{writer}} != x\"\nmaxIterations: 2\nsteps:\n  - agent:\n      ";
    folder.write("flows/looped.yaml", format!("{looped}{}\n", step.trim_end()));
    let client = connect(&folder, ClientLifecycleMode::Initialize, ElicitationAction::Accept).await;
    // The labels of steps, also in a pass of a loop.
    for (flow, texts) in [
        ("asks", &["ok started", "ok ended", "say started", "say ended"][..]),
        ("looped", &["writer started", "writer ended"]),
    ] {
        client.call(flow, json!({})).await;
        let told = std::mem::take(&mut *client.person.told.lock().unwrap());
        assert!(told.windows(2).all(|two| two[0].0 < two[1].0), "{told:?}");
        assert_eq!(told.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), texts);
    }
}

#[tokio::test]
async fn a_call_that_is_taken_back_stops_its_run() {
    let folder = flows();
    let client = connect(&folder, ClientLifecycleMode::Initialize, ElicitationAction::Accept).await;
    let arguments: JsonObject = serde_json::from_value(json!({ "input": "x" })).unwrap();
    let params = CallToolRequestParams::new("sleeper").with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(Request::new(params));
    let call = client.running.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    begun(&client).await;
    call.cancel(Some("enough".to_owned())).await.unwrap();
    let run = only_run(&folder, "cancelled").await;
    assert_eq!(status(&folder, &run), "cancelled");
    // The server continues.
    assert_eq!(text(&client.call("writer", json!({ "topic": "x" })).await), "A verse.");
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_a_run_that_can_be_resumed() {
    let folder = flows();
    let client = connect(&folder, ClientLifecycleMode::Initialize, ElicitationAction::Accept).await;
    let arguments: JsonObject = serde_json::from_value(json!({ "input": "x" })).unwrap();
    let params = CallToolRequestParams::new("sleeper").with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(Request::new(params));
    let _call = client.running.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    begun(&client).await;
    assert_eq!(client.leave().await, Some(0));
    only_run(&folder, "interrupted").await;
}

/// Waits until a run has started a step.
pub async fn begun(client: &Connected) {
    while client.person.told.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The only run, once it has this status.
pub async fn only_run(folder: &Folder, wanted: &str) -> String {
    let began = std::time::Instant::now();
    loop {
        let mut command = folder.command(&["runs", "list", "--output", "json", "--store", "runs.db"]);
        command.env_remove("TREFOIL_EPHEMERAL");
        let listed = crate::world::finish(command).json();
        let all = listed["runs"].as_array().cloned().unwrap_or_default();
        if let [one] = all.as_slice()
            && one["status"] == wanted
        {
            return one["run"].as_str().unwrap().to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{listed}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn without_flows_there_is_nothing_to_serve() {
    let folder = Folder::new();
    folder.write("flows/wrong.yaml", "id: wrong\nkind: llm\ninstruction: Go.\n");
    folder.trefoil(&["mcp", "flows"]).silent(2);
    folder.trefoil(&["mcp", "nowhere"]).silent(2);
}
