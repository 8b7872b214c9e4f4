//! The store goes away under load, and comes back.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::http::Request;
use crate::killed::{Clients, nothing_lost};
use crate::scene::{Process, Scene, chain, eventually};
use crate::watcher::Addresses;
use crate::world::Folder;

/// Requires that requests are refused as those of a server without its store, soon, and without anything about the store.
fn is_refused(scene: &Scene, server: &Process) {
    let began = Instant::now();
    let start = Request::post("/api/v1/runs", &chain("nowhere")).send(server.address).unwrap();
    start.fails(503, "STORE_UNAVAILABLE");
    assert!(start.headers["retry-after"].parse::<u64>().unwrap() > 0, "{start:?}");
    let list = server.get("/api/v1/runs");
    list.fails(503, "STORE_UNAVAILABLE");
    for reply in [&start, &list] {
        let folder = scene.folder.path().to_str().unwrap();
        assert!(
            !reply.body.contains(folder) && !reply.body.contains("postgres://") && !reply.body.contains("5432"),
            "{reply:?}"
        );
    }
    server.get("/ready").is(503);
    // What says that something is wrong still works.
    server.get("/health").is(200);
    assert_eq!(server.figure("trefoil_store_up"), 0);
    eprintln!("seven requests without a store were refused in {:?}", began.elapsed());
}

fn works_again(server: &Process) {
    eventually("it is not ready again", || server.get("/ready").status == 200);
    let run = server.start(&chain("afterwards"));
    server.until(&run, "completed");
    assert_eq!(server.figure("trefoil_store_up"), 1);
}

fn all_end(server: &Process) {
    eventually("some runs do not end", || {
        let list = server.get("/api/v1/runs?status=running,pending,interrupted,waiting");
        list.status == 200 && list.json()["runs"].as_array().unwrap().is_empty()
    });
}

#[test]
fn a_file_that_is_moved_away_under_load() {
    let scene = Scene::new();
    scene.provider.wait_before_answers(Duration::from_millis(40));
    let mut server = scene.serve(&[]);
    let servers: Addresses = Arc::new(Mutex::new(vec![server.address]));
    let clients = Clients::start(3, &servers, Duration::from_millis(150));
    eventually("no run is acknowledged", || clients.acknowledged() >= 6);
    let (here, away) = (scene.folder.path().join("store"), scene.folder.path().join("away"));
    std::fs::rename(&here, &away).unwrap();
    // Whether or not anybody has tried to write since.
    server.get("/ready").is(503);
    std::thread::sleep(Duration::from_secs(2));
    let start = Request::post("/api/v1/runs", &chain("while it is away")).send(server.address).unwrap();
    eprintln!("a start while the file is away: {start:?}");
    assert!([201, 503].contains(&start.status), "{start:?}");
    assert!(!here.exists(), "it has made another store");
    std::fs::rename(&away, &here).unwrap();
    let (told, _) = clients.finish();
    if start.status == 201 {
        let run = start.json()["run"].as_str().unwrap().to_owned();
        told.runs.lock().unwrap().insert("while it is away".to_owned(), run);
    }
    works_again(&server);
    all_end(&server);
    server.kill();
    assert!(!scene.log().contains("panicked"), "{}", scene.log());
    told.unknown.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let paid = nothing_lost(&scene, &told);
    // Only what was committed before the loss was noticed can be in the store without having been acknowledged.
    let acknowledged = told.runs.lock().unwrap().len();
    assert!(paid.runs.len() <= acknowledged + 8, "{} runs, {acknowledged} of them acknowledged", paid.runs.len());
}

/// What takes long.
mod hunt {
    use testbed::postgres::Server;

    use super::*;

    #[test]
    fn a_database_that_crashes_under_load() {
        let Some(database) = Server::start(true) else { return };
        let scene = Scene::at(database.address(&database.database()), Folder::new());
        scene.provider.wait_before_answers(Duration::from_millis(40));
        let mut server = scene.serve(&["--lease", "5"]);
        let servers: Addresses = Arc::new(Mutex::new(vec![server.address]));
        let clients = Clients::start(3, &servers, Duration::from_millis(150));
        for _ in 0..2 {
            let before = clients.acknowledged();
            eventually("no run is acknowledged", || clients.acknowledged() >= before + 6);
            database.crash();
            eventually("it does not notice", || server.get("/ready").status == 503);
            is_refused(&scene, &server);
            database.begin();
            eventually("it is not ready again", || server.get("/ready").status == 200);
        }
        let (told, connections) = clients.finish();
        works_again(&server);
        all_end(&server);
        server.kill();
        assert!(!scene.log().contains("panicked"), "{}", scene.log());
        told.unknown.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let paid = nothing_lost(&scene, &told);
        eprintln!("the database crashed twice: {paid:?}, {connections} connections of watchers");
    }
}
