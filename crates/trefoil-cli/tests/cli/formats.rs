//! Stores of every earlier format, written by builds of that time. These files never change: later versions must be
//! able to resume everything that was ever stored.
//!
//! Each has a completed run with a separately stored value (`done`), a failed run, one that waits for a person
//! (`human`), and one whose process was killed during its second call (`killed`).
#![cfg(unix)]

use std::path::Path;

use serde_json::Value as Json;

use crate::durable::{command, trefoil};
use crate::provider::Provider;
use crate::world::{Folder, finish};

fn status(folder: &Folder, provider: &Provider) -> Vec<(String, String, String)> {
    let listed = trefoil(folder, provider, &["runs", "list", "--output", "json"]).json();
    let text = |run: &Json, name: &str| run[name].as_str().unwrap().to_owned();
    let runs = listed["runs"].as_array().unwrap().iter();
    let mut all: Vec<_> = runs.map(|run| (text(run, "flow"), text(run, "status"), text(run, "run"))).collect();
    all.sort();
    all
}

#[test]
fn a_store_of_every_earlier_format_is_read_and_its_runs_continue() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores");
    let mut files: Vec<_> = std::fs::read_dir(kept).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 4, "one for each format before this one");
    for file in files {
        let (folder, provider) = (Folder::new(), Provider::start());
        provider.hang(false);
        let packed = std::fs::read(&file).unwrap();
        folder.write("runs.db", zstd::decode_all(&*packed).unwrap());
        let trefoil = |args: &[&str]| trefoil(&folder, &provider, args);
        trefoil(&["store", "check"]).exits(0);
        let runs = status(&folder, &provider);
        let found: Vec<(&str, &str)> = runs.iter().map(|(flow, status, _)| (&**flow, &**status)).collect();
        assert_eq!(
            found,
            [("done", "completed"), ("failed", "failed"), ("human", "waiting"), ("killed", "pending")],
            "{file:?}"
        );
        let [done, failed, human, killed] = [0, 1, 2, 3].map(|n| runs[n].2.as_str());

        let told = trefoil(&["runs", "events", done]).lines();
        assert_eq!(told.last().unwrap()["output"].as_str().map(str::len), Some(50_001), "{file:?}");
        // The usage of the call in progress is unknown, whether or not the version counted it.
        let shown = trefoil(&["runs", "show", killed]);
        assert!(shown.exits(0).out.contains("used     2 calls, 10+? tokens in, 3+? out, $?\n"), "{file:?}: {shown:?}");

        let continued = trefoil(&["resume", killed, "--output", "json"]);
        assert_eq!(continued.exits(0).json()["two"], "the first answer  and hang", "{file:?}");
        trefoil(&["resume", failed]).exits(0);
        trefoil(&["runs", "answer", human, "approve", "yes"]).exits(0);
        let mut all = command(&folder, &provider, &["resume", "--all", "--output", "json"]);
        all.env("SECRET_WORD", "it");
        assert_eq!(finish(all).exits(0).json()["published"], "publish draft for it  because yes", "{file:?}");
        let asked = ["the first answer  and hang", "fail", "publish draft for it  because yes"];
        assert_eq!(provider.asked(), asked, "{file:?}: nothing that was completed is asked for again");
        trefoil(&["store", "check"]).exits(0);
    }
}
