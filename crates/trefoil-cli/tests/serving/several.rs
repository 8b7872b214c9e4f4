//! Several servers and workers on one Postgres server: whoever is asked answers for all of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use testbed::postgres::Server;

use crate::killed::{Clients, nothing_lost};
use crate::scene::{Process, Scene, chain, eventually};
use crate::watcher::{Addresses, watch};
use crate::world::Folder;

/// Runs of a process that is gone are taken over after so many seconds.
const LEASE: [&str; 2] = ["--lease", "2"];

fn scene_on(server: &Server) -> Scene {
    Scene::at(server.address(&server.database()), Folder::new())
}

fn addresses(servers: &[&Process]) -> Addresses {
    Arc::new(Mutex::new(servers.iter().map(|server| server.address).collect()))
}

/// What takes long.
mod hunt {
    use super::*;

    #[test]
    fn a_run_is_started_answered_followed_and_cancelled_at_different_servers() {
        let Some(database) = Server::start(true) else { return };
        let scene = scene_on(&database);
        let [a, b, c] = [scene.serve(&LEASE), scene.serve(&LEASE), scene.serve(&LEASE)];
        let run = a.start(&json!({ "flow": "asks", "input": { "message": "go" }, "labels": { "n": "asked" } }));
        let watcher = watch(&run, &addresses(&[&c]));
        b.until(&run, "waiting");
        let asked = c.get("/api/v1/questions").is(200).json();
        assert_eq!(asked["questions"][0]["run"], run.as_str());
        let answers = format!("/api/v1/runs/{run}/answers");
        b.post(&answers, &json!({ "step": "approve", "value": "yes" })).is(202);
        assert!(
            [409].contains(&c.post(&answers, &json!({ "step": "approve", "value": "no" })).status),
            "answered already"
        );
        a.until(&run, "completed");
        let seen = watcher.join().unwrap();
        seen.is_whole();
        assert!(seen.names.iter().any(|name| name == "run_suspended" || name == "run_resumed"), "{:?}", seen.names);

        // A call that hangs at one server is cancelled at another one.
        let run = a.start(&chain("hang"));
        eventually("it does not call", || scene.provider.asked().iter().any(|prompt| prompt.contains("hang")));
        let watcher = watch(&run, &addresses(&[&c]));
        let cancelled = b.post(&format!("/api/v1/runs/{run}/cancel"), &json!({}));
        assert!([200, 202].contains(&cancelled.status), "{cancelled:?}");
        c.until(&run, "cancelled");
        watcher.join().unwrap();
        scene.provider.hang(false);
    }

    #[test]
    fn each_process_may_be_killed_while_a_run_goes_on() {
        let Some(database) = Server::start(true) else { return };
        let scene = scene_on(&database);
        let mut servers = [scene.serve(&LEASE), scene.serve(&LEASE)];
        let both = addresses(&[&servers[0], &servers[1]]);
        for killed in 0..2 {
            let (first, other) = (killed, 1 - killed);
            let label = format!("killed {killed}");
            let run = servers[first]
                .start(&json!({ "flow": "asks", "input": { "message": label }, "labels": { "n": label } }));
            let watcher = watch(&run, &both);
            servers[other].until(&run, "waiting");
            // The one that has started it is gone when the answer comes.
            servers[first].kill();
            servers[other]
                .post(&format!("/api/v1/runs/{run}/answers"), &json!({ "step": "approve", "value": "yes" }))
                .is(202);
            servers[other].until(&run, "completed");
            watcher.join().unwrap().is_whole();
            servers[first] = scene.serve_at(servers[first].address.port(), &LEASE);

            // It is gone in the middle of a call.
            let text = format!("hang {killed}");
            scene.provider.hang(true);
            let run = servers[first].start(&chain(&text));
            let watcher = watch(&run, &both);
            eventually("it does not call", || scene.provider.asked().iter().any(|prompt| prompt.contains(&text)));
            scene.provider.hang(false);
            servers[first].kill();
            servers[other].until(&run, "completed");
            watcher.join().unwrap().is_whole();
            servers[first] = scene.serve_at(servers[first].address.port(), &LEASE);
        }
        assert!(!scene.log().contains("panicked"), "{}", scene.log());
    }

    #[test]
    fn servers_and_workers_together_make_no_more_calls_at_a_time_than_the_provider_allows() {
        let Some(database) = Server::start(true) else { return };
        let scene = scene_on(&database);
        scene.settings("[limits.openai]\nin_flight = 4\n");
        scene.provider.wait_before_answers(Duration::from_millis(400));
        // The servers have no room for all runs, so that the workers have some of them.
        let small = [&LEASE[..], &["--concurrency", "3"]].concat();
        let servers = [scene.serve(&small), scene.serve(&small)];
        let _workers = [scene.worker(&LEASE), scene.worker(&LEASE)];
        let mut runs = Vec::new();
        for n in 0..20 {
            runs.push(servers[n % 2].start(&chain(&format!("limited {n}"))));
        }
        for run in &runs {
            servers[0].until(run, "completed");
        }
        let most = scene.provider.most_at_once();
        assert!((2..=4).contains(&most), "{most} calls at a time: {}", scene.log());
        assert_eq!(scene.paid_once().calls, 60);
    }

    #[test]
    fn whatever_process_is_killed_nothing_is_lost() {
        let Some(database) = Server::start(true) else { return };
        let scene = scene_on(&database);
        scene.provider.wait_before_answers(Duration::from_millis(40));
        let mut servers = [scene.serve(&LEASE), scene.serve(&LEASE)];
        let mut workers = [scene.worker(&LEASE), scene.worker(&LEASE)];
        let clients = Clients::start(4, &addresses(&[&servers[0], &servers[1]]), Duration::from_millis(150));
        for kill in 0..12 {
            let before = clients.acknowledged();
            eventually("no run is acknowledged", || clients.acknowledged() >= before + 4);
            match kill % 4 {
                n @ (0 | 1) => {
                    servers[n].kill();
                    servers[n] = scene.serve_at(servers[n].address.port(), &LEASE);
                }
                n => {
                    workers[n - 2].kill();
                    workers[n - 2] = scene.worker(&LEASE);
                }
            }
        }
        let (told, connections) = clients.finish();
        let all = told.runs.lock().unwrap().clone();
        for run in all.values() {
            servers[0].until(run, "completed");
        }
        eventually("some runs do not end", || {
            let list = servers[1].get("/api/v1/runs?status=running,pending,interrupted,waiting").is(200).json();
            list["runs"].as_array().unwrap().is_empty()
        });
        servers.iter_mut().chain(&mut workers).for_each(Process::kill);
        let paid = nothing_lost(&scene, &told);
        assert!(!scene.log().contains("panicked"), "{}", scene.log());
        eprintln!(
            "two servers and two workers, 12 kills: {} runs acknowledged, {} calls completed, {} lost on their way, {connections} \
             connections of watchers",
            all.len(),
            paid.calls,
            paid.lost
        );
    }
}
