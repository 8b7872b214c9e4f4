//! The server is killed again and again while clients start runs and watch them. What was acknowledged is not lost, and nothing
//! is done twice.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::http::Request;
use crate::scene::{LIMIT, Scene, chain, eventually};
use crate::watcher::{Addresses, Seen, watch};

/// What clients were told.
#[derive(Default)]
pub struct Told {
    /// The run of each request that was acknowledged, by the text of its input.
    pub runs: Mutex<BTreeMap<String, String>>,
    /// The requests without an `Idempotency-Key` of which nobody knows what became of them.
    pub unknown: AtomicUsize,
    watchers: Mutex<Vec<JoinHandle<Seen>>>,
    stop: AtomicBool,
}

/// Clients that start runs until they are stopped, and watch each of them.
pub struct Clients {
    pub told: Arc<Told>,
    threads: Vec<JoinHandle<()>>,
}

impl Clients {
    /// `pause`: between two runs of a client.
    pub fn start(count: usize, servers: &Addresses, pause: Duration) -> Self {
        let told = Arc::new(Told::default());
        let mut threads = Vec::new();
        for client in 0..count {
            let (told, servers) = (told.clone(), servers.clone());
            threads.push(std::thread::spawn(move || told.start_runs(client, &servers, pause)));
        }
        Self { told, threads }
    }

    pub fn acknowledged(&self) -> usize {
        self.told.runs.lock().unwrap().len()
    }

    /// Lets the requests in progress end, and waits for all watchers: each has seen its run to the end. Returns how often they
    /// have connected.
    pub fn finish(self) -> (Arc<Told>, usize) {
        self.told.stop.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let watchers = std::mem::take(&mut *self.told.watchers.lock().unwrap());
        let mut connections = 0;
        for watcher in watchers {
            connections += watcher.join().unwrap().is_whole().connections;
        }
        (self.told, connections)
    }
}

impl Told {
    fn start_runs(&self, client: usize, servers: &Addresses, pause: Duration) {
        let mut number = 0;
        while !self.stop.load(Ordering::SeqCst) {
            number += 1;
            // Every second one can be sent again.
            let key = if number % 2 == 0 { Some(key_of(client, number)) } else { None };
            let text = format!("client {client} run {number}");
            if let Some(run) = self.start_run(&text, key.as_deref(), servers) {
                self.watchers.lock().unwrap().push(watch(&run, servers));
                self.runs.lock().unwrap().insert(text, run);
            }
            std::thread::sleep(pause);
        }
    }

    fn start_run(&self, text: &str, key: Option<&str>, servers: &Addresses) -> Option<String> {
        let began = Instant::now();
        let mut request = Request::post("/api/v1/runs", &chain(text));
        if let Some(key) = key {
            request = request.with("Idempotency-Key", key);
        }
        let mut tries = 0;
        loop {
            assert!(began.elapsed() < LIMIT, "nobody takes `{text}`");
            let all = servers.lock().unwrap().clone();
            let server: SocketAddr = all[tries % all.len()];
            tries += 1;
            match request.send(server) {
                Ok(reply) if reply.status == 201 => return Some(reply.json()["run"].as_str().unwrap().to_owned()),
                // The store may have it nevertheless.
                Ok(reply) if key.is_none() && reply.json()["code"] == "STORE_UNAVAILABLE" => {
                    self.unknown.fetch_add(1, Ordering::SeqCst);
                    return None;
                }
                // Nothing of it was acknowledged.
                Ok(reply) => drop(reply.is(503)),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(_) if key.is_none() => {
                    self.unknown.fetch_add(1, Ordering::SeqCst);
                    return None;
                }
                Err(_) => {}
            }
            // Without a key, a request that may have been understood is not sent again.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn key_of(client: usize, number: usize) -> String {
    format!("key-{client}-{number}")
}

/// Requires that the store has every run that was acknowledged, and no others than those of which nobody knows.
pub fn nothing_lost(scene: &Scene, told: &Told) -> crate::journal::Paid {
    let paid = scene.paid_once();
    let runs = told.runs.lock().unwrap();
    for (text, run) in &*runs {
        assert_eq!(paid.runs.get(run), Some(text), "a run that was acknowledged");
    }
    let unknown = told.unknown.load(Ordering::SeqCst);
    assert!(paid.runs.len() <= runs.len() + unknown, "{} > {} + {unknown}", paid.runs.len(), runs.len());
    paid
}

/// Kills the server so many times while clients work.
fn kill_under_load(kills: usize) {
    let scene = Scene::new();
    scene.provider.wait_before_answers(Duration::from_millis(40));
    let mut server = scene.serve(&[]);
    let servers: Addresses = Arc::new(Mutex::new(vec![server.address]));
    let began = Instant::now();
    let clients = Clients::start(4, &servers, Duration::from_millis(120));
    let mut chance = 7_u64;
    for _ in 0..kills {
        let before = clients.acknowledged();
        eventually("no run is acknowledged", || clients.acknowledged() >= before + 4);
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((chance >> 33) % 300));
        server.kill();
        server = scene.serve_at(server.address.port(), &[]);
    }
    let (told, connections) = clients.finish();
    let runs = told.runs.lock().unwrap().clone();
    for (text, run) in &runs {
        assert_eq!(server.until(run, "completed")["result"], format!("third second first {text} slowly now"));
        let mut words = text.split(' ').skip(1).step_by(2);
        let (client, number): (usize, usize) =
            (words.next().unwrap().parse().unwrap(), words.next().unwrap().parse().unwrap());
        if number % 2 == 0 {
            let again = Request::post("/api/v1/runs", &chain(text)).with("Idempotency-Key", &key_of(client, number));
            let reply = again.send(server.address).unwrap();
            assert_eq!((reply.status, reply.json()["run"].as_str()), (201, Some(&**run)), "the same request again");
        }
    }
    // Runs of which no client knows end as well.
    eventually("some runs do not end", || {
        let list = server.get("/api/v1/runs?status=running,pending,interrupted,waiting").is(200).json();
        list["runs"].as_array().unwrap().is_empty()
    });
    server.kill();
    assert!(!scene.log().contains("panicked"), "{}", scene.log());
    let paid = nothing_lost(&scene, &told);
    eprintln!(
        "{kills} kills: {} runs acknowledged, {} requests cut off, {} calls completed, {} lost on their way, {connections} connections \
         of watchers, in {:.1} s",
        runs.len(),
        told.unknown.load(Ordering::SeqCst),
        paid.calls,
        paid.lost,
        began.elapsed().as_secs_f64()
    );
}

#[test]
fn a_server_that_is_killed_loses_nothing_that_it_has_acknowledged() {
    kill_under_load(3);
}

#[test]
fn the_same_key_at_the_same_time_starts_one_run_and_another_request_with_it_is_refused() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let address = server.address;
    let mut threads = Vec::new();
    for n in 0..12 {
        // Two different requests, each sent six times.
        let request = Request::post("/api/v1/runs", &chain(&format!("{}", n % 2))).with("Idempotency-Key", "one");
        threads.push(std::thread::spawn(move || (n % 2, request.send(address).unwrap())));
    }
    let mut runs = BTreeMap::new();
    for thread in threads {
        let (which, reply) = thread.join().unwrap();
        if reply.status == 422 {
            reply.fails(422, "IDEMPOTENCY_KEY_REUSED");
            continue;
        }
        reply.is(201);
        runs.insert(which, reply.json()["run"].as_str().unwrap().to_owned());
    }
    assert_eq!(runs.len(), 1, "one of the two was first: {runs:?}");
    let run = runs.values().next().unwrap();
    server.until(run, "completed");
    drop(server);
    assert_eq!(scene.paid_once().runs.len(), 1);
}

/// What takes long.
mod hunt {
    #[test]
    fn a_server_that_is_killed_twenty_times_loses_nothing_that_it_has_acknowledged() {
        super::kill_under_load(20);
    }
}
