//! A server in this process, and requests to it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use trefoil_host::Runs;
use trefoil_host::catalog::{CatalogNotice, CatalogSource, CatalogWatch, FlowCatalog};
use trefoil_host::engine::Engine;
use trefoil_host::service::{LocalRuns, RunFeeds};
use trefoil_host::worker::WorkerEngines;
use trefoil_project::load::{CheckOptions, LoadOptions};
use trefoil_project::secrets::SecretVault;
use trefoil_project::settings::Settings;
use trefoil_project::target::LoadTarget;
use trefoil_server::{
    AllowedOrigins, AppState, ClientToolBoard, EditorSlots, KeyRights, KeyRing, KeyScope, KeyScopes, PhaseSwitch,
    RequestLog, RequestRecord, RunRecord, ServerMetrics, ServerState, ServingOptions, ServingPhase, StoredManifests,
    UsageGate, build_router, serve_connections, serving_phases,
};
use trefoil_store::{Owner, Record, RunFilter, SqliteStore, Status, Store, StoreLimits, StoreOptions};

use crate::described_api::DescribedApi;

/// How long something may take that happens soon.
const SOON: Duration = Duration::from_secs(20);
/// The most bytes of a request.
pub const BODY_LIMIT: usize = 1 << 20;

/// A server, until it is dropped.
pub struct TestServer {
    /// Where it is: `http://127.0.0.1:PORT`.
    pub url: String,
    /// What its handlers share.
    pub state: AppState,
    client: reqwest::Client,
    stop: PhaseSwitch,
    /// The operations of the API that have succeeded: `GET /api/v1/runs/{run}`.
    succeeded: Mutex<BTreeSet<String>>,
    _folder: tempfile::TempDir,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
    /// The body.
    pub text: String,
}

impl Reply {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
    /// A header.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
    /// The data of the frames of a stream.
    pub fn frames(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
    }
}

struct Silent;

impl CatalogWatch for Silent {
    fn take_notice(&self, _notice: CatalogNotice<'_>) {}
}

impl RequestLog for Silent {
    fn write_record(&self, _record: &RequestRecord) {}
    fn write_run(&self, _record: &RunRecord) {}
}

/// The flows for tests with the clients of others, and what their models answer.
pub fn shared_flows() -> (PathBuf, PathBuf) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    (tests.join("flows"), tests.join("clients/answers.yaml"))
}

impl TestServer {
    /// Serves the flows in `tests/flows`.
    pub async fn start() -> Self {
        let (flows, script) = shared_flows();
        Self::start_with(&flows, &script).await
    }

    /// Serves the flows in `tests/flows` to clients with a key.
    pub async fn start_with_keys() -> Self {
        let (flows, script) = shared_flows();
        Self::serve_flows(&flows, &script, true, false).await
    }

    /// Makes a key with these scopes, for these flows; none: all. Returns what a client sends.
    pub async fn add_key(&self, scopes: &[KeyScope], flows: &[&str]) -> String {
        let flows = flows.iter().map(|flow| (*flow).to_owned()).collect();
        let rights = KeyRights { scopes: KeyScopes(scopes.to_vec()), flows, ..KeyRights::default() };
        let (key, _) = self.state.keys.add_key("test", rights).await.unwrap();
        format!("Bearer {key}")
    }

    /// Serves other flows.
    pub async fn start_with(flows: &Path, script: &Path) -> Self {
        Self::serve_flows(flows, script, false, false).await
    }

    /// Serves the flows of a folder, which may be edited.
    pub async fn start_editable(flows: &Path, needs_key: bool) -> Self {
        let (_, script) = shared_flows();
        Self::serve_flows(flows, &script, needs_key, true).await
    }

    async fn serve_flows(flows: &Path, script: &Path, needs_key: bool, writes_files: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap());
        let owner = Owner::of_process(store.clone());
        let (holder, script) = (owner.clone(), format!("scripted={}", script.display()));
        let engine = move |settings: &Settings| {
            Engine::new().settings(settings.clone()).model(script.as_str()).with_owner(holder.clone())
        };
        let plain = engine(&Settings::default());
        let engines = WorkerEngines { of_project: plain.clone(), own: plain, folder: flows.to_owned() };
        let source = CatalogSource {
            targets: vec![LoadTarget { path: flows.to_owned(), id: None }],
            options: LoadOptions { checks: Some(CheckOptions::default()), ..LoadOptions::default() },
            no_config: true,
            with_called: true,
            engine: Box::new(engine),
            watch: Arc::new(Silent),
        };
        let catalog = Arc::new(FlowCatalog::load_flows(source).unwrap());
        let runs = Runs::new(store);
        let local = LocalRuns::new(RunFeeds::new(runs.clone()), 100);
        let (stop, phase) = serving_phases();
        let state: AppState = Arc::new(ServerState {
            keys: KeyRing::new(runs.store().clone()),
            gate: UsageGate::new(runs.store().clone(), Arc::new(StoreLimits::new(owner.clone()))),
            vault: Some(SecretVault::in_folder(folder.path())),
            manifests: StoredManifests::default(),
            editors: EditorSlots::default(),
            client_tools: ClientToolBoard::default(),
            catalog,
            runs,
            local,
            owner,
            engines,
            options: ServingOptions {
                needs_key,
                origins: AllowedOrigins { hosts: Some(Vec::new()), origins: Vec::new() },
                body_limit: BODY_LIMIT,
                body_timeout: Duration::from_secs(5),
                writes_files,
            },
            metrics: ServerMetrics::default(),
            log: Arc::new(Silent),
            phase: phase.clone(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve_connections(listener, None, build_router(state.clone()), phase));
        Self { url, state, client: new_client(), stop, succeeded: Mutex::default(), _folder: folder }
    }

    /// Sends a request. An answer of the API must be as its description says.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        let (client, request) = request.build_split();
        let request = request.unwrap();
        let (method, path) = (request.method().to_string(), request.url().path().to_owned());
        let response = client.execute(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let reply = Reply { status, headers, text: response.text().await.unwrap() };
        match DescribedApi::get().check_reply(&method, &path, &reply) {
            Ok(Some(operation)) if status < 400 => drop(self.succeeded.lock().unwrap().insert(operation)),
            Ok(_) => {}
            Err(why) => panic!("{method} {path} {status}: {why}\n{}", reply.text),
        }
        reply
    }

    /// The operations of the API that have succeeded so far: `GET /api/v1/runs/{run}`.
    pub fn succeeded_operations(&self) -> BTreeSet<String> {
        self.succeeded.lock().unwrap().clone()
    }

    /// Sends a request without a body to the API.
    pub async fn api(&self, method: &str, path: &str) -> Reply {
        self.send(self.request(method, &format!("/api/v1{path}"))).await
    }

    /// Sends a request with a body to the API.
    pub async fn post_api(&self, path: &str, body: &Json) -> Reply {
        self.send(self.post(&format!("/api/v1{path}"), body)).await
    }

    /// Sends a request with a body and an idempotency key to the API.
    pub async fn post_keyed(&self, path: &str, key: &str, body: &Json) -> Reply {
        let request = self.post(&format!("/api/v1{path}"), body);
        self.send(request.header("idempotency-key", key)).await
    }

    /// Starts a run, waits for what comes of it, and returns its id.
    pub async fn run_flow(&self, flow: &str, input: Json) -> String {
        let body = json!({ "flow": flow, "input": input, "wait_seconds": 20 });
        let reply = self.post_api("/runs", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()["run"].as_str().unwrap().to_owned()
    }

    /// A request with this method.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method.parse().unwrap(), format!("{}{path}", self.url))
    }

    /// A request with a JSON body.
    pub fn post(&self, path: &str, body: &Json) -> reqwest::RequestBuilder {
        self.request("POST", path).header("content-type", "application/json").body(body.to_string())
    }

    /// Asks a flow with the API of OpenAI.
    pub async fn chat(&self, body: &Json) -> Reply {
        self.send(self.post("/v1/chat/completions", body)).await
    }

    /// The runs of a flow, newest first.
    pub async fn runs_of(&self, flow: &str) -> Vec<Record> {
        let filter = RunFilter { flow: Some(flow.to_owned()), ..RunFilter::default() };
        self.state.store().list_runs(&filter, None, 1_000).await.unwrap().runs
    }

    /// How many runs there are.
    pub async fn run_count(&self) -> usize {
        self.state.store().list_runs(&RunFilter::default(), None, 1_000).await.unwrap().runs.len()
    }

    /// Waits for the first run of a flow.
    pub async fn first_run(&self, flow: &str) -> String {
        let until = tokio::time::Instant::now() + SOON;
        loop {
            if let Some(record) = self.runs_of(flow).await.first() {
                return record.run.clone();
            }
            assert!(tokio::time::Instant::now() < until, "no run of {flow} started");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until a run has this status.
    pub async fn wait_status(&self, run: &str, status: Status) {
        let until = tokio::time::Instant::now() + SOON;
        loop {
            let record = self.state.store().record(run).await.unwrap();
            if record.status == status {
                return;
            }
            assert!(tokio::time::Instant::now() < until, "the run is {}, not {status}", record.status);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Tells the server how far to come with stopping.
    pub fn enter_phase(&self, phase: ServingPhase) {
        self.stop.enter_phase(phase);
    }

    /// Tells the server to stop.
    pub fn stop(&self) {
        self.stop.enter_phase(ServingPhase::Closing);
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A client with connections of its own.
pub fn new_client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A chat with one message of the user.
pub fn ask(model: &str, text: &str) -> Json {
    json!({ "model": model, "messages": [{ "role": "user", "content": text }] })
}
