//! Clients that watch a run, and connect again whenever they lose the connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::http::{Frames, Request};
use crate::scene::LIMIT;

/// Where servers are at the moment. A watcher tries one after the other.
pub type Addresses = Arc<Mutex<Vec<SocketAddr>>>;

/// What a watcher has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub run: String,
    /// The numbers of all events, in the order in which they came.
    pub numbers: Vec<u64>,
    /// The names of the events.
    pub names: Vec<String>,
    /// How often it had to connect.
    pub connections: usize,
}

impl Seen {
    /// Requires every number once and in order, up to the end of the run.
    pub fn is_whole(&self) -> &Self {
        let expected: Vec<u64> = (0..self.numbers.len() as u64).collect();
        assert_eq!(self.numbers, expected, "{self:?}");
        assert_eq!(self.names.last().map(String::as_str), Some("run_finished"), "{self:?}");
        self
    }
}

/// Watches a run to its end.
pub fn watch(run: &str, servers: &Addresses) -> JoinHandle<Seen> {
    let (mut seen, servers) = (Seen { run: run.to_owned(), ..Seen::default() }, servers.clone());
    std::thread::spawn(move || {
        let began = Instant::now();
        while !follow(&mut seen, &servers) {
            assert!(began.elapsed() < LIMIT, "{seen:?}");
            std::thread::sleep(Duration::from_millis(30));
        }
        seen
    })
}

/// Watches as long as the connection lasts. Returns whether the run has ended.
fn follow(seen: &mut Seen, servers: &Addresses) -> bool {
    let server = {
        let servers = servers.lock().unwrap();
        if servers.is_empty() {
            return false;
        }
        servers[seen.connections % servers.len()]
    };
    seen.connections += 1;
    let path = format!("/api/v1/runs/{}/events", seen.run);
    let mut request = Request::get(&path).with("Accept", "text/event-stream");
    if let Some(last) = seen.numbers.last() {
        request = request.with("Last-Event-ID", &last.to_string());
    }
    let Ok(response) = request.open(server) else { return false };
    match response.status {
        200 => {}
        // There are no more events.
        204 => return true,
        // Its store may be away.
        503 => return false,
        other => panic!("{other} for {seen:?}"),
    }
    let mut frames = Frames::new(response.body);
    loop {
        let Ok(frame) = frames.next_frame() else { return false };
        let Some(frame) = frame else {
            // A stream of a server that stops ends before its run.
            return seen.names.last().is_some_and(|name| name == "run_finished" || name == "run_cancelled");
        };
        if frame.event == "stream_error" {
            // Its store is away. Nothing more is said about it.
            let problem: serde_json::Value = serde_json::from_str(&frame.data).unwrap();
            assert_eq!(problem["code"], "STORE_UNAVAILABLE", "{frame:?}");
            assert!(!frame.data.contains("runs.db") && !frame.data.contains("postgres:"), "{frame:?}");
            return false;
        }
        if let Some(id) = frame.id {
            seen.numbers.push(id);
            seen.names.push(frame.event);
        }
    }
}
