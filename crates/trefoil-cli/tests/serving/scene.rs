//! A project, its store, its provider, and the servers that serve it.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use trefoil::store::{Store, StoreLocation, StoreOptions};

use crate::http::{Reply, Request};
use crate::provider::{KEY, Provider};
use crate::world::Folder;

/// Longer than anything takes on a slow machine.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Three calls in sequence.
pub const CHAIN: &str = "\
id: main
kind: sequential
inputSchema: { n: string }
steps:
  - agent: { id: first, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: 'first {{n}} slowly now' }
    input: { n: '{{n}}' }
  - agent: { id: second, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: 'second {{text}}' }
    input: { text: '{{first}}' }
  - agent: { id: third, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: 'third {{text}}' }
    input: { text: '{{second}}' }
";

/// A call, a question, a call.
pub const ASKS: &str = "\
version: \"0.1\"
agents:
  writer: { model: \"openai:m\", system: \"draft\" }
  publisher: { model: \"openai:m\", system: \"publish {{ draft.output }} because {{ approve.output }}\" }
nodes:
  draft: { agent: writer, writes: working.draft }
  approve:
    type: human
    prompt: \"May {{ draft.output }} go?\"
    writes: output.approved
  publish: { agent: publisher, writes: output.published }
edges:
  - { from: draft, to: approve }
  - { from: approve, to: publish, when: output.approved == \"yes\" }
input:
  message: \"go\"
";

/// What all servers of a test share.
pub struct Scene {
    pub folder: Folder,
    pub provider: Provider,
    /// The store.
    pub place: String,
    servers: AtomicUsize,
}

/// A server or worker that never outlives the test.
pub struct Process {
    child: Child,
    /// Where it listens; port 0: nowhere.
    pub address: SocketAddr,
}

impl Process {
    /// Kills it, as the kernel does when memory is short.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
    /// Tells it to stop, as an operator does.
    pub fn terminate(&self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }
    /// Waits until it has ended, and returns whether it says that all went well.
    pub fn wait_exit(&mut self) -> bool {
        let mut status = None;
        eventually("the process does not end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().success()
    }
    /// Stops it at once: calls in progress need not end.
    pub fn stop(&mut self) {
        self.terminate();
        std::thread::sleep(Duration::from_millis(500));
        let id = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        assert!(self.wait_exit(), "it has not ended well");
    }
    pub fn get(&self, path: &str) -> Reply {
        Request::get(path).send(self.address).unwrap()
    }
    pub fn post(&self, path: &str, body: &Json) -> Reply {
        Request::post(path, body).send(self.address).unwrap()
    }
    /// A figure of `/metrics`.
    pub fn figure(&self, name: &str) -> u64 {
        let reply = self.get("/metrics");
        let line = reply.is(200).body.lines().find(|line| line.split(' ').next() == Some(name)).unwrap_or_default();
        line.rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("no `{name}` in {}", reply.body))
    }
    /// Starts a run, and returns its id.
    pub fn start(&self, body: &Json) -> String {
        let reply = self.post("/api/v1/runs", body);
        assert!([200, 201].contains(&reply.status), "{reply:?}");
        reply.json()["run"].as_str().unwrap().to_owned()
    }
    /// A run.
    pub fn run(&self, run: &str) -> Json {
        self.get(&format!("/api/v1/runs/{run}")).is(200).json()
    }
    /// Waits until a run has this status.
    pub fn until(&self, run: &str, status: &str) -> Json {
        let mut last = Json::Null;
        eventually(&format!("run {run} is not {status}"), || {
            last = self.run(run);
            last["status"] == status
        });
        last
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until something holds.
pub fn eventually(otherwise: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "{otherwise}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// The body that starts a run of [`CHAIN`].
pub fn chain(n: &str) -> Json {
    json!({ "flow": "main", "input": { "n": n }, "labels": { "n": n } })
}

impl Scene {
    /// With a store in a file.
    pub fn new() -> Self {
        let folder = Folder::new();
        let place = folder.path().join("store/runs.db").to_str().unwrap().to_owned();
        std::fs::create_dir_all(folder.path().join("store")).unwrap();
        Self::at(place, folder)
    }

    /// With a store somewhere else.
    pub fn at(place: String, folder: Folder) -> Self {
        folder.write("flows/main.yaml", CHAIN).write("flows/asks.yaml", ASKS);
        folder.write("config/config.toml", "");
        Self { folder, provider: Provider::start(), place, servers: AtomicUsize::new(0) }
    }

    /// The user's settings.
    pub fn settings(&self, text: &str) {
        self.folder.write("config/config.toml", text);
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", &self.place).env("OPENAI_API_KEY", KEY);
        command
            .env("OPENAI_BASE_URL", self.provider.address())
            .env("TREFOIL_CONFIG_DIR", self.folder.path().join("config"));
        command
    }

    /// Runs a command with the same store, and returns what it prints.
    pub fn say(&self, args: &[&str]) -> String {
        let ran = crate::world::finish(self.command(args));
        ran.exits(0);
        ran.out.trim().to_owned()
    }

    /// Starts a server that refuses to start, and returns why.
    pub fn refuse(&self, args: &[&str]) -> String {
        let ran = crate::world::finish(self.command(&[&["serve", "flows", "--port", "0"], args].concat()));
        ran.exits(2);
        ran.err
    }

    /// The settings of the project, which the user trusts.
    pub fn project(&self, text: &str) {
        self.folder.write("flows/trefoil.toml", text);
        self.say(&["trust", "flows"]);
    }

    /// A key with these options.
    pub fn key(&self, name: &str, options: &[&str]) -> String {
        self.say(&[&["keys", "add", name], options].concat())
    }

    fn spawn(&self, args: &[&str]) -> (Child, std::path::PathBuf) {
        let n = self.servers.fetch_add(1, Ordering::SeqCst);
        let log = self.folder.path().join(format!("log-{n}"));
        let mut command = self.command(args);
        command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
        (command.spawn().unwrap(), log)
    }

    pub fn serve(&self, args: &[&str]) -> Process {
        self.serve_at(0, args)
    }

    /// A server on a port; 0: a free one. Returns when it answers.
    pub fn serve_at(&self, port: u16, args: &[&str]) -> Process {
        let port = port.to_string();
        let (mut child, log) = self.spawn(&[&["serve", "flows", "--port", &port], args].concat());
        let mut address = None;
        eventually("the server does not start", || {
            let text = std::fs::read_to_string(&log).unwrap();
            assert!(child.try_wait().unwrap().is_none(), "the server has ended: {text}");
            let rest = text.split_once("://").map(|(_, rest)| rest);
            let at = rest.and_then(|rest| rest.find(['\n', '"']).map(|end| &rest[..end]));
            address = at.and_then(|at| at.parse().ok());
            address.is_some()
        });
        Process { child, address: address.unwrap() }
    }

    pub fn worker(&self, args: &[&str]) -> Process {
        let (child, _) = self.spawn(&[&["worker", "--quiet"], args].concat());
        Process { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) }
    }

    /// What all servers and workers have said.
    pub fn log(&self) -> String {
        let mut all = String::new();
        for n in 0..self.servers.load(Ordering::SeqCst) {
            all += &std::fs::read_to_string(self.folder.path().join(format!("log-{n}"))).unwrap_or_default();
        }
        all
    }

    pub fn store(&self) -> Arc<dyn Store> {
        StoreLocation::parse(OsStr::new(&self.place), |_| None).unwrap().open(StoreOptions::default()).unwrap()
    }
}
