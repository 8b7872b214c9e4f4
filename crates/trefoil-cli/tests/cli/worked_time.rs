//! What commands tell about the time that a run and its steps took.
#![cfg(unix)]

use std::time::Duration;

use serde_json::Value;

use crate::durable::{command, only, signal, trefoil, until, world};
use crate::provider::Provider;
use crate::world::wait;

/// For how long no process has the run.
const GONE: Duration = Duration::from_secs(3);

fn at(time: &Value) -> std::time::SystemTime {
    humantime::parse_rfc3339(time.as_str().unwrap()).unwrap()
}

/// Asserts that no command shows the time in which no process had the run as work.
fn is_work_only(trefoil: &dyn Fn(&[&str]) -> crate::world::Ran, run: &str) {
    let shown = trefoil(&["runs", "show", run, "--output", "json"]).json();
    let whole = at(&shown["ended"]).duration_since(at(&shown["started"])).unwrap();
    // Times in the store are a few milliseconds off those in the journal.
    let most = (whole - GONE).as_millis() as u64 + 200;
    let traced = trefoil(&["trace", run, "--json"]).json();
    let ms = |value: &Value, name: &str| value[name].as_u64().unwrap_or_else(|| panic!("no {name}: {value}"));
    let step = |one: &Value| ms(one, "started_ms") + ms(one, "duration_ms");
    let mut all: Vec<u64> = [&shown, &traced].iter().flat_map(|of| of["steps"].as_array().unwrap()).map(step).collect();
    assert!(all.len() >= 4, "{shown} {traced}");
    all.push(ms(&traced, "duration_ms"));
    let events = trefoil(&["runs", "events", run]);
    let events: Vec<Value> = events.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    all.extend(events.iter().map(|event| ms(event, "at_ms")));
    all.push(ms(events.last().unwrap(), "duration_ms"));
    assert!(all.iter().all(|ms| *ms <= most), "{all:?} of {most}: {traced}");
    let text = trefoil(&["runs", "show", run]).out;
    assert!(text.lines().any(|line| line.starts_with("ended ") && line.ends_with(" of work)")), "{text}");
}

#[test]
fn time_in_which_no_process_had_a_run_is_no_work() {
    let provider = Provider::start();
    let folder = world();
    let trefoil = |args: &[&str]| trefoil(&folder, &provider, args);
    let killed = |calls: usize| {
        let child = command(&folder, &provider, &["run", "main.yaml"]).spawn().unwrap();
        until("the second call", || provider.asked().len() == calls);
        signal(&child, "-KILL");
        wait(child);
        std::thread::sleep(GONE);
    };
    killed(2);
    let run = only(&folder, &provider);
    provider.hang(false);
    trefoil(&["resume", &run]).exits(0);
    is_work_only(&trefoil, &run);
    provider.hang(true);
    killed(5);
    let left = trefoil(&["runs", "list", "--status", "interrupted", "--output", "json"]).json();
    let run = left["runs"][0]["run"].as_str().unwrap();
    trefoil(&["runs", "cancel", run]).exits(0);
    is_work_only(&trefoil, run);
}
