//! Journals as they were written when their format was new, one file for each program. These files are never changed:
//! every later build must be able to read them and to continue their runs. To record a new program, delete nothing and
//! add a line to the list.
//!
//! If a program's fingerprint changes, stored runs of it are refused. What must change it raises the version of the
//! semantics; these runs then continue by key, and the first test says so in its place.

use std::path::PathBuf;

use testbed::Run;
use trefoil_machine::journal::VERSION;
use trefoil_machine::{Entry, EntryKind, Machine, PreparedProgram};

use crate::machine::{finish, resume, start};
use crate::random::{Node, program};

/// The programs, and the order in which their activities end.
fn programs() -> Vec<(&'static str, Node)> {
    let model = |read, sort| Node::Model { read, sort, when: 0 };
    let one = |node| Box::new(node);
    let branches = vec![model(0, 1), Node::Wait, Node::Sequence(vec![model(0, 2), model(1, 3)])];
    let nodes = vec![(model(0, 0), 0, 0), (Node::Tool(1), 1, 0), (Node::Human, 1, 1), (model(2, 4), 3, 2)];
    vec![
        ("sequence", Node::Sequence(vec![model(0, 0), Node::Compute(1), Node::Wait, model(1, 2), model(2, 5)])),
        ("effects", Node::Sequence(vec![Node::Human, Node::Tool(1), Node::Command(3), Node::Tool(2)])),
        ("parallel", Node::Parallel { branches, concurrency: 0, bad: false }),
        ("loop", Node::Loop(one(Node::Sequence(vec![model(0, 6), model(1, 7)])))),
        ("fan_out", Node::ForEach { items: 3, body: one(model(0, 1)), concurrency: 2, bad: true }),
        ("graph", Node::Graph(nodes)),
        ("states", Node::States(vec![model(0, 0), Node::Human, model(1, 1)])),
        ("attempts", Node::Attempts { body: one(model(0, 0)), validators: 3 }),
        ("calls", Node::Call(one(Node::Bare(one(Node::Sequence(vec![model(0, 0), Node::Call(one(model(1, 1)))])))))),
        ("talk", Node::Sequence(vec![model(0, 0), Node::Talk(vec![model(0, 4), Node::Human])])),
    ]
}

fn record(root: &Node) -> Run {
    let mut turn = 0usize;
    finish(start(&program(root)), move |_| {
        turn = turn.wrapping_mul(31).wrapping_add(17);
        turn
    })
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/machine/journals").join(format!("{name}.jsonl"))
}

fn stored(name: &str) -> Vec<Entry> {
    let text = std::fs::read_to_string(file(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {line}: {e}"))).collect()
}

/// Removes fields that later builds have added: `again`.
fn without_later_fields(entries: &mut [Entry]) {
    for entry in entries {
        if let EntryKind::Scheduled { again, .. } = &mut entry.kind {
            *again = false;
        }
    }
}

/// Sets the fingerprint that a program had when the files were written. Another test covers that a later version of the
/// semantics has a different one.
fn under_the_first_semantics(entries: &mut [Entry], root: &Node) {
    if let Some(Entry { kind: EntryKind::Started(started), .. }) = entries.first_mut() {
        started.program.semantics = 1;
        started.program.fingerprint = program(root).fingerprint_under(1).to_string();
    }
}

#[test]
fn what_is_written_today_is_what_was_written_then() {
    let mut recorded = Vec::new();
    for (name, root) in programs() {
        let mut entries = record(&root).entries;
        under_the_first_semantics(&mut entries, &root);
        let lines =
            |entries: &[Entry]| entries.iter().map(|e| serde_json::to_string(e).unwrap() + "\n").collect::<String>();
        let now = lines(&entries);
        without_later_fields(&mut entries);
        let first = lines(&entries);
        // If a later build writes more, there is a separate file.
        let mut files = vec![(name.to_owned(), first.clone())];
        files.extend((now != first).then(|| (format!("{name}.again"), now)));
        for (name, lines) in files {
            match std::fs::read_to_string(file(&name)) {
                Ok(then) => assert_eq!(lines, then, "the journal of `{name}` changed"),
                Err(_) => {
                    std::fs::write(file(&name), lines).unwrap();
                    recorded.push(name);
                }
            }
        }
    }
    assert!(recorded.is_empty(), "recorded for the first time, to be committed: {recorded:?}");
}

#[test]
fn stored_runs_go_on_from_every_entry() {
    for (name, root) in programs() {
        let entries = stored(name);
        let whole = record(&root);
        for cut in 1..=entries.len() {
            let run = resume(&program(&root), &entries[..cut]).unwrap_or_else(|e| panic!("{name}, cut at {cut}: {e}"));
            let run = if run.result.is_some() { run } else { finish(run, |_| 0) };
            let shown = |run: &Run| run.result.as_ref().map(|r| r.as_ref().map_err(ToString::to_string).cloned());
            assert_eq!(shown(&run), shown(&whole), "{name}, cut at {cut}");
        }
    }
}

#[test]
fn a_field_of_a_later_build_is_passed_over_and_a_later_version_is_refused() {
    for (name, root) in programs() {
        let text = std::fs::read_to_string(file(name)).unwrap();
        let later = |line: &str| -> Entry {
            let mut json: serde_json::Value = serde_json::from_str(line).unwrap();
            json["later"] = serde_json::json!({"of": ["a later build"]});
            for kind in json["entry"].as_object_mut().unwrap().values_mut() {
                kind["also"] = serde_json::json!(1);
            }
            serde_json::from_value(json).unwrap()
        };
        let entries: Vec<Entry> = text.lines().map(later).collect();
        assert_eq!(entries, stored(name), "{name}");
        let mut newer = entries;
        for entry in &mut newer {
            entry.v = VERSION + 1;
        }
        let refused = Machine::replay_journal(PreparedProgram::new(program(&root)), &newer).unwrap_err();
        assert!(refused.message.contains("this build reads only up to"), "{name}: {refused}");
    }
}

#[test]
fn every_kind_of_entry_is_among_them() {
    let names = programs().into_iter().flat_map(|(name, _)| stored(name)).map(|entry| match entry.kind {
        EntryKind::Started(_) => "started",
        EntryKind::Scheduled { due_ms: Some(_), .. } => "timer",
        EntryKind::Scheduled { .. } => "scheduled",
        EntryKind::Completed { .. } => "completed",
        EntryKind::Failed { .. } => "failed",
        EntryKind::Finished { error: None, .. } => "finished",
        // Written only by drivers, whose conformance suite covers them.
        EntryKind::Finished { .. }
        | EntryKind::Resumed { .. }
        | EntryKind::Reopened { .. }
        | EntryKind::Restarted { .. }
        | EntryKind::Suspended { .. }
        | EntryKind::CancelRequested {} => "others",
    });
    let found: std::collections::BTreeSet<&str> = names.collect();
    assert!(
        ["started", "timer", "scheduled", "completed", "failed", "finished"].iter().all(|k| found.contains(k)),
        "{found:?}"
    );
}
