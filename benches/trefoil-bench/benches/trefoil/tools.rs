//! The cost of a tool call compared with the call alone: in process, over HTTP to this machine, over the standard
//! streams of an MCP server.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use trefoil::{Engine, Flow};
use trefoil_project::settings::Settings;
use trefoil_tools::process::{OperatorProgram, ProcessEnvironment};
use trefoil_tools::{IdempotentTools, McpServer, McpTransport, TIME};

use super::single;
use crate::race::{Race, Standing};

/// Set if this process is the MCP server.
pub const SERVER: &str = "TREFOIL_BENCH_SERVER";
/// Number of calls in a run.
const CALLS: usize = 500;

pub fn races(out: &mut Vec<Standing>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let goal = "a run's call: the bare call and a step of the engine";

    let flow = flow("{ kind: local, name: echo, params: { said: tea } }");
    let engine = Engine::new().tool("echo", async |given: Value| Ok(given));
    let race = Race::new("tool call, in process", "call", CALLS)
        .goal(goal)
        .lane("bare", || (0..CALLS).map(|_| closure(&json!({ "said": "tea" }))).count())
        .lane("in a run", || run(&runtime, &engine, &flow));
    out.push(single(race));

    let address = listen();
    let flow = self::flow(&format!("{{ kind: http, name: echo, url: \"http://{address}/\" }}"));
    let rules = trefoil::http::GuardRules { allow: vec![address.to_string().parse().unwrap()], ..Default::default() };
    let engine = Engine::new().http(rules);
    let mut bare = Requests::to(address);
    let race = Race::new("tool call, HTTP to this machine", "call", CALLS)
        .goal(goal)
        .lane("bare", || (0..CALLS).map(|_| bare.send()).count())
        .lane("in a run", || run(&runtime, &engine, &flow));
    out.push(single(race));

    let flow = self::flow("{ kind: mcp, server: bench, name: echo, params: { said: tea } }");
    let engine = Engine::new().settings(Settings { mcp: vec![server()], ..Settings::default() });
    let mut bare = Lines::start();
    let race = Race::new("tool call, MCP over standard streams", "call", CALLS)
        .goal("with the start of a server for each run")
        .lane("bare", || (0..CALLS).map(|_| bare.call()).count())
        .lane("in a run", || run(&runtime, &engine, &flow));
    out.push(single(race));
}

fn closure(given: &Value) -> Value {
    given.clone()
}

/// A chain of calls.
fn flow(tool: &str) -> Flow {
    let steps = (0..CALLS).fold(String::new(), |mut all, n| {
        let _ = writeln!(all, "  - agent: {{ id: s{n}, kind: tool, tool: {tool} }}");
        all
    });
    Flow::load_options()
        .without_checks()
        .from_text("calls.yaml", format!("id: calls\nkind: sequential\nsteps:\n{steps}"))
        .unwrap()
}

fn run(runtime: &Runtime, engine: &Engine, flow: &Flow) -> Value {
    runtime.block_on(async { engine.start_run(flow, "x").unwrap().wait_output::<Value>().await.unwrap() })
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

/// Starts a server that answers every request on every connection.
fn listen() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.set_nodelay(true);
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                    if line == "\r\n" {
                        let _ = stream.write_all(ANSWER);
                    }
                    line.clear();
                }
            });
        }
    });
    address
}

/// A connection that is reused.
struct Requests(TcpStream, SocketAddr);

impl Requests {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream, address)
    }
    fn send(&mut self) {
        write!(self.0, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", self.1).unwrap();
        self.0.read_exact(&mut [0; ANSWER.len()]).unwrap();
    }
}

fn server() -> McpServer {
    let command = vec![std::env::current_exe().unwrap().display().to_string()];
    let environment =
        ProcessEnvironment { set: vec![(SERVER.to_owned(), "1".into())], ..ProcessEnvironment::default() };
    McpServer {
        name: "bench".to_owned(),
        transport: McpTransport::Process(OperatorProgram { command, folder: None, environment }),
        tools: None,
        idempotent: IdempotentTools::All,
        time: TIME,
        start: None,
    }
}

/// A server with a line-based protocol.
struct Lines(Child, ChildStdin, BufReader<ChildStdout>);

impl Lines {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(SERVER, "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self(child, stdin, BufReader::new(stdout))
    }
    fn call(&mut self) -> Value {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"said": "tea"}}});
        writeln!(self.1, "{asked}").unwrap();
        let mut line = String::new();
        self.2.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the MCP server.
pub fn serve() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lines() {
        let Ok(asked) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let Some(id) = asked.get("id") else { continue };
        let method = asked.get("method").and_then(Value::as_str).unwrap_or_default();
        let answer = match method {
            "initialize" => json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": asked.pointer("/params/protocolVersion"), "capabilities": {"tools": {}},
                "serverInfo": {"name": "bench", "version": "1"},
            }}),
            "tools/list" => {
                json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}})
            }
            "tools/call" => {
                json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "tea"}]}})
            }
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "unknown"}}),
        };
        let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
    }
}
