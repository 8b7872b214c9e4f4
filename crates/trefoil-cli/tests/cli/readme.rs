//! What the first command of the README demonstrates.

use crate::world::{Folder, root};

/// What the first command demonstrates: passes of a loop, a branch that is taken and one that is not, concurrent items,
/// and a short result that repeats the topic.
#[test]
fn the_first_run_shows_a_loop_a_branch_and_parallel_steps() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let first = "cargo run -- run examples/agntz#short-article --model embedded --input topic=\"tide tables\"";
    assert!(text.split_once("```sh\n").unwrap().1.starts_with(first));
    let folder = Folder::new();
    let target = format!("{}#short-article", root().join("examples/agntz").display());
    let ran =
        folder.trefoil(&["run", &target, "--model", "embedded", "--input", "topic=tide tables", "--trace", "t.json"]);
    ran.exits(0).says(&["placeholder", "trefoil plan", "trefoil graph", "trefoil trace t.json"]);
    assert!(ran.out.trim().lines().count() <= 15, "{}", ran.out);
    for part in ["article", "verdict", "ending", "tide tables", "[embedded]"] {
        assert!(ran.out.contains(part), "`{part}` is not in {}", ran.out);
    }
    let trace: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("t.json")).unwrap()).unwrap();
    let steps = trace["steps"].as_array().unwrap();
    let status = |key: &str| steps.iter().find(|s| s["key"] == key).map(|s| s["status"].as_str().unwrap().to_owned());
    assert_eq!(status("writing@2/review").as_deref(), Some("done"), "the loop goes round");
    let ends = [status("glossary"), status("references")];
    let ends: Vec<&str> = ends.iter().flatten().map(String::as_str).collect();
    assert!(ends.contains(&"done") && ends.contains(&"skipped"), "{ends:?}");
    for key in ["research/facts", "research/doubts", "research/questions"] {
        assert_eq!(status(key).as_deref(), Some("done"));
    }
}
