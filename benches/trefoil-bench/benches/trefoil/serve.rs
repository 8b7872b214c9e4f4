//! The server: what starting, watching and listing runs over HTTP takes, beside a bare handler of the same HTTP library. Server
//! and clients share this process, so the clients' work counts as well, on both sides.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use trefoil_host::Runs;
use trefoil_host::catalog::{CatalogNotice, CatalogSource, CatalogWatch, FlowCatalog};
use trefoil_host::engine::Engine;
use trefoil_host::service::{LocalRuns, RunFeeds};
use trefoil_host::worker::{RunWorker, StopRequests, WorkerEngines, WorkerEvent, WorkerLimits, WorkerWatch};
use trefoil_project::load::LoadOptions;
use trefoil_project::target::LoadTarget;
use trefoil_server::{
    AllowedOrigins, ClientToolBoard, EditorSlots, KeyRing, PhaseSwitch, RequestLog, RequestRecord, RunRecord,
    ServerMetrics, ServerState, ServingOptions, ServingPhase, StoredManifests, UsageGate, build_router,
    serve_connections, serving_phases,
};
use trefoil_store::{Owner, SqliteStore, StoreLimits, StoreOptions};

use super::durable::{resident, threads};
use super::{lists, single};
use crate::race::{Race, Standing};
use crate::table;

/// Set for a process that serves waiting runs and prints their memory use.
pub const WAITING: &str = "TREFOIL_BENCH_SERVED_WAITING";

/// Connections that start runs at the same time.
const CONNECTIONS: usize = 64;
/// Requests of each of them.
const REQUESTS: usize = 20;
/// Requests of which the times are sorted.
const TIMED: usize = 500;
/// Watchers of one run.
const WATCHERS: usize = 1_000;
/// Runs in the store whose lists are timed.
const LISTED: u64 = 100_000;
/// Runs that wait for a person.
const WAITERS: usize = 10_000;

const FLOWS: [(&str, &str); 2] = [
    (
        "steps.yaml",
        "id: steps\nkind: sequential\nsteps:\n  - agent: { id: one, kind: llm, model: { provider: openai, name: m }, \
         instruction: Work. }\n    input: { text: \"{{userQuery}}\" }\n",
    ),
    (
        "asks.yaml",
        "version: \"0.1\"\nagents:\n  writer: { model: \"openai:m\", system: \"Write.\" }\nnodes:\n  approve:\n    type: \
         human\n    prompt: \"Now?\"\n    writes: output.approved\n  publish: { agent: writer, writes: output.published }\nedges:\n  \
         - { from: approve, to: publish }\ninput:\n  message: \"go\"\n",
    ),
];

pub fn races(out: &mut Vec<Standing>) {
    let place = tempfile::tempdir().unwrap();
    let served = Served::open(place.path(), true);
    out.push(served.throughput());
    out.push(served.start_times());
    out.push(served.first_events());
    out.push(served.watched());
    drop(served);
    let place = tempfile::tempdir().unwrap();
    out.push(Served::open(place.path(), false).listed());
    out.extend(memory());
}

/// Says nothing, and is never told to stop.
struct Silent;

impl RequestLog for Silent {
    fn write_record(&self, _: &RequestRecord) {}
    fn write_run(&self, _: &RunRecord) {}
}

impl CatalogWatch for Silent {
    fn take_notice(&self, notice: CatalogNotice<'_>) {
        if let CatalogNotice::Findings(findings, _) = notice {
            eprintln!("{findings:?}");
        }
    }
}

impl WorkerWatch for Silent {
    fn take_event(&self, _: WorkerEvent<'_>) {}
}

impl StopRequests for Silent {
    async fn next_request(&mut self) {
        std::future::pending().await
    }
}

/// A server, and a bare handler beside it.
struct Served {
    runtime: Runtime,
    store: Arc<SqliteStore>,
    address: SocketAddr,
    bare: SocketAddr,
    stop: PhaseSwitch,
}

impl Served {
    /// `works`: whether runs that wait are continued.
    fn open(place: &Path, works: bool) -> Self {
        raise_file_limit();
        let folder = place.join("flows");
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in FLOWS {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let runtime = threads();
        let store = Arc::new(SqliteStore::open(place.join("runs.db"), StoreOptions::default()).unwrap());
        let (stop, phase) = serving_phases();
        let (address, bare) = runtime.block_on(async {
            let owner = Owner::of_process(store.clone());
            let engine = Engine::new().model("embedded").with_owner(owner.clone());
            let engines = WorkerEngines { of_project: engine.clone(), own: engine.clone(), folder: folder.clone() };
            let catalog = FlowCatalog::load_flows(CatalogSource {
                targets: vec![LoadTarget { path: folder, id: None }],
                options: LoadOptions::default(),
                with_called: true,
                no_config: true,
                engine: Box::new(move |_| engine.clone()),
                watch: Arc::new(Silent),
            });
            let runs = Runs::new(store.clone());
            let state = Arc::new(ServerState {
                manifests: StoredManifests::default(),
                editors: EditorSlots::default(),
                client_tools: ClientToolBoard::default(),
                catalog: Arc::new(catalog.unwrap()),
                local: LocalRuns::new(RunFeeds::new(runs.clone()), 20_000),
                runs,
                owner: owner.clone(),
                engines: engines.clone(),
                options: ServingOptions {
                    needs_key: false,
                    origins: AllowedOrigins { hosts: Some(Vec::new()), origins: Vec::new() },
                    body_limit: 8 << 20,
                    body_timeout: Duration::from_secs(60),
                    writes_files: false,
                },
                keys: KeyRing::new(store.clone()),
                gate: UsageGate::new(store.clone(), Arc::new(StoreLimits::new(owner.clone()))),
                vault: None,
                metrics: ServerMetrics::default(),
                log: Arc::new(Silent),
                phase: phase.clone(),
            });
            if works {
                let limits = WorkerLimits {
                    concurrency: 1_000,
                    per_flow: None,
                    once: false,
                    outlasts_store: true,
                    drain: Duration::from_secs(1),
                };
                let worker = RunWorker::new(owner, engines, limits, Arc::new(Silent));
                tokio::spawn(worker.run_until_stopped(Silent));
            }
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(serve_connections(listener, None, build_router(state), phase.clone()));
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let bare = listener.local_addr().unwrap();
            tokio::spawn(serve_connections(listener, None, bare_router(), phase));
            (address, bare)
        });
        Self { runtime, store, address, bare, stop }
    }

    fn throughput(&self) -> Standing {
        let connect = |to| self.runtime.block_on(connect_all(to, CONNECTIONS));
        let (mut of_bare, mut of_server) = (connect(self.bare), connect(self.address));
        let race = Race::new(format!("serve, {CONNECTIONS} connections"), "request", CONNECTIONS * REQUESTS)
            .lane("a bare handler", || self.runtime.block_on(start_on_all(&mut of_bare)))
            .lane("a run is started and on the disk", || self.runtime.block_on(start_on_all(&mut of_server)));
        single(race)
    }

    fn start_times(&self) -> Standing {
        let times = |to: SocketAddr| {
            self.runtime.block_on(async {
                let mut client = Client::connect(to).await;
                let mut times = Vec::with_capacity(TIMED);
                for _ in 0..TIMED {
                    let begin = Instant::now();
                    client.start("steps").await;
                    times.push(nanoseconds(begin));
                }
                times
            })
        };
        let (of_bare, of_server) = (Percentiles::of(times(self.bare)), Percentiles::of(times(self.address)));
        let lanes = [
            ("a bare handler, p50", of_bare.p50),
            ("a bare handler, p99", of_bare.p99),
            ("a start, p50", of_server.p50),
            ("a start, p99", of_server.p99),
        ];
        Standing::figures("serve, one connection", "request", "", &lanes)
    }

    fn first_events(&self) -> Standing {
        let times = self.runtime.block_on(async {
            let mut client = Client::connect(self.address).await;
            let mut times = Vec::with_capacity(TIMED);
            for _ in 0..TIMED {
                let begin = Instant::now();
                let mut response = client.open(start_request("steps", "text/event-stream")).await;
                assert_eq!(response.status(), StatusCode::OK);
                read_until(&mut response, b"event: ").await;
                times.push(nanoseconds(begin));
                read_until(&mut response, b"event: run_finished").await;
                let _ = response.into_body().collect().await;
            }
            times
        });
        let Percentiles { p50, p99 } = Percentiles::of(times);
        Standing::figures("serve, from a request to its first event", "run", "", &[("p50", p50), ("p99", p99)])
    }

    /// From the answer to a question until all watchers have the last event.
    fn watched(&self) -> Standing {
        let times = |watchers: usize| {
            let mut best = f64::MAX;
            for _ in 0..5 {
                best = best.min(self.runtime.block_on(self.watch_answered(watchers)));
            }
            best
        };
        let lanes = [("1 watcher", times(1)), ("1,000 watchers", times(WATCHERS))];
        Standing::figures("serve, until all watchers have the last event", "run", "", &lanes)
    }

    async fn watch_answered(&self, watchers: usize) -> f64 {
        let mut client = Client::connect(self.address).await;
        let run = client.start("asks").await;
        client.until_waiting(&run).await;
        let mut streams = Vec::new();
        for _ in 0..watchers {
            let request = request(Method::GET, &format!("/api/v1/runs/{run}/events"), None, "text/event-stream");
            let mut response = Client::connect(self.address).await.open(request).await;
            assert_eq!(response.status(), StatusCode::OK);
            read_until(&mut response, b"event: ").await;
            streams.push(tokio::spawn(async move { read_until(&mut response, b"event: run_finished").await }));
        }
        let answer = json!({ "step": "approve", "value": "yes" });
        let path = format!("/api/v1/runs/{run}/answers");
        let begin = Instant::now();
        let (status, body) = client.send(request(Method::POST, &path, Some(&answer), "application/json")).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{body:?}");
        for stream in streams {
            stream.await.unwrap();
        }
        nanoseconds(begin)
    }

    fn listed(&self) -> Standing {
        self.runtime.block_on(lists::fill(&self.store, LISTED));
        let mut lanes = Vec::new();
        for (name, query) in [
            ("the newest 50, p99", ""),
            ("failed ones, p99", "?status=failed"),
            ("failed ones of one flow, p99", "?status=failed&flow=flow-7"),
            ("of one hour, p99", "?since=1970-01-01T12:00:00Z&until=1970-01-01T13:00:00Z"),
            ("with a word that many have, p99", "?text=timed%20out"),
            ("with a word that none has, p99", "?text=nowhere"),
        ] {
            let path = format!("/api/v1/runs{query}");
            let times = self.runtime.block_on(async {
                let mut client = Client::connect(self.address).await;
                let mut times = Vec::with_capacity(TIMED);
                for _ in 0..TIMED {
                    let begin = Instant::now();
                    let (status, body) = client.send(request(Method::GET, &path, None, "application/json")).await;
                    times.push(nanoseconds(begin));
                    assert_eq!(status, StatusCode::OK, "{body:?}");
                }
                times
            });
            lanes.push((name, Percentiles::of(times).p99));
        }
        Standing::figures("serve, a list of 100,000 runs", "list", "<= 50 ms", &lanes)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.enter_phase(ServingPhase::Closing);
    }
}

/// Answers with as many bytes as a start, from the body of the request.
fn bare_router() -> Router {
    let answer = |axum::Json(body): axum::Json<Json>| async move {
        let answer = json!({ "run": "0123456789abcdef", "flow": body.get("flow"), "status": "running", "about": "x".repeat(200) });
        (StatusCode::CREATED, axum::Json(answer))
    };
    Router::new().route("/api/v1/runs", post(answer))
}

/// A connection of a client.
struct Client(SendRequest<Full<Bytes>>);

impl Client {
    async fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    async fn open(&mut self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        self.0.ready().await.unwrap();
        self.0.send_request(request).await.unwrap()
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> (StatusCode, Bytes) {
        let response = self.open(request).await;
        (response.status(), response.into_body().collect().await.unwrap().to_bytes())
    }

    /// Starts a run, and returns its id.
    async fn start(&mut self, flow: &str) -> String {
        let (status, body) = self.send(start_request(flow, "application/json")).await;
        assert_eq!(status, StatusCode::CREATED, "{body:?}");
        let run: Json = serde_json::from_slice(&body).unwrap();
        run.get("run").and_then(Json::as_str).unwrap().to_owned()
    }

    async fn until_waiting(&mut self, run: &str) {
        let path = format!("/api/v1/runs/{run}");
        loop {
            let (_, body) = self.send(request(Method::GET, &path, None, "application/json")).await;
            let run: Json = serde_json::from_slice(&body).unwrap();
            if run.get("status").and_then(Json::as_str) == Some("waiting") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

fn request(method: Method, path: &str, body: Option<&Json>, accept: &str) -> Request<Full<Bytes>> {
    let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let request = Request::builder().method(method).uri(path).header(header::HOST, "127.0.0.1");
    let request = request.header(header::ACCEPT, accept).header(header::CONTENT_TYPE, "application/json");
    request.body(Full::new(bytes)).unwrap()
}

fn start_request(flow: &str, accept: &str) -> Request<Full<Bytes>> {
    let input = if flow == "asks" { json!({ "message": "go" }) } else { json!("x") };
    request(Method::POST, "/api/v1/runs", Some(&json!({ "flow": flow, "input": input })), accept)
}

async fn connect_all(to: SocketAddr, count: usize) -> Vec<Client> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        all.push(Client::connect(to).await);
    }
    all
}

/// Each connection sends its requests, one after the other.
async fn start_on_all(clients: &mut Vec<Client>) {
    let mut tasks = Vec::with_capacity(clients.len());
    for mut client in std::mem::take(clients) {
        tasks.push(tokio::spawn(async move {
            for _ in 0..REQUESTS {
                client.start("steps").await;
            }
            client
        }));
    }
    for task in tasks {
        clients.push(task.await.unwrap());
    }
}

/// Reads a stream until it contains this.
async fn read_until(response: &mut Response<Incoming>, wanted: &[u8]) {
    let mut tail: Vec<u8> = Vec::new();
    while let Some(frame) = response.body_mut().frame().await {
        let Ok(data) = frame.unwrap().into_data() else { continue };
        tail.extend_from_slice(&data);
        if tail.windows(wanted.len()).any(|part| part == wanted) {
            return;
        }
        // What was looked at is not looked at again.
        tail.drain(..tail.len().saturating_sub(wanted.len()));
    }
    panic!("the stream ended without `{}`", String::from_utf8_lossy(wanted));
}

fn nanoseconds(begin: Instant) -> f64 {
    begin.elapsed().as_nanos() as f64
}

/// Times below which a half, and nearly all, of the requests are.
struct Percentiles {
    p50: f64,
    p99: f64,
}

impl Percentiles {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or(f64::NAN);
        Self { p50: at(50), p99: at(99) }
    }
}

/// The memory of a run that waits for a person, in a process of its own.
fn memory() -> Option<Standing> {
    let exe = std::env::current_exe().ok()?;
    let child = std::process::Command::new(exe).env(WAITING, "1").output().ok()?;
    let taken = String::from_utf8_lossy(&child.stdout).trim().parse::<f64>().ok()?;
    let lanes = [("in the server", taken)];
    Some(Standing::figures("a run that waits for a person, of 10,000", "run", "<= 4 KB", &lanes).shown_as(table::bytes))
}

/// Starts runs that wait for a person, and prints the memory of each.
pub fn wait() {
    let place = tempfile::tempdir().unwrap();
    let served = Served::open(place.path(), true);
    served.runtime.block_on(async {
        let mut client = Client::connect(served.address).await;
        // One-time allocations do not count for the runs.
        for _ in 0..200 {
            client.start("asks").await;
        }
        until_all_wait(&served, 200).await;
        let before = resident();
        for _ in 0..WAITERS {
            client.start("asks").await;
        }
        until_all_wait(&served, 200 + WAITERS as u64).await;
        println!("{}", resident().saturating_sub(before) as f64 / WAITERS as f64);
    });
}

/// Returns when so many runs wait, and what they needed only while they started is free.
async fn until_all_wait(served: &Served, runs: u64) {
    use trefoil_store::{Status, Store as _};
    loop {
        let counts = served.store.count_by_status().await.unwrap();
        if counts.into_iter().any(|(status, count)| status == Status::Waiting && count >= runs) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_secs(12)).await;
}

/// Both ends of each connection are open files of this process.
fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
