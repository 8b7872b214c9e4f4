//! A flow that is a tool of an edited flow: what its earlier run has done counts, wherever the call is now.

use crate::durable::priced;
use crate::provider::Provider;
use crate::world::{Folder, Ran, finish};

pub const FIRST: &str =
    "  - agent: { id: first, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: the first }\n";

pub fn call(id: &str, message: &str) -> String {
    format!(
        "  - agent: {{ id: {id}, kind: tool, tool: {{ kind: local, name: ship, params: {{ message: {message} }} }} }}\n"
    )
}

pub fn caller(steps: &[&str]) -> String {
    format!("id: caller\nkind: sequential\nsteps:\n{}", steps.concat())
}

/// Sends a mail, and then asks a model.
pub fn ship(to: &str, says: &str) -> String {
    format!(
        "id: ship\nkind: sequential\ninputSchema: {{ message: string }}\nsteps:\n  - agent: {{ id: send, kind: tool, tool: {{ kind: local, name: mail, params: {{ to: {to} }} }} }}\n  - agent: {{ id: s2, kind: llm, model: {{ provider: openai, name: m }}, instruction: I., prompt: {says} }}\n"
    )
}

pub struct World {
    pub folder: Folder,
    pub provider: Provider,
}

impl World {
    /// A trusted project whose caller has run once.
    pub fn new() -> Self {
        let (folder, provider) = (Folder::new(), Provider::start());
        folder
            .write("flows/c.yaml", caller(&[FIRST, &call("one", "hello")]))
            .write("other/ship.yaml", ship("me", "s2"));
        folder.write(
            "flows/trefoil.toml",
            "[tools.ship]\nflow = \"../other/ship.yaml\"\n[tools.mail]\ncommand = [\"sh\", \"-c\", \"echo mail $0 >> sent; echo sent-$0\", \"{to}\"]\n",
        );
        let world = Self { folder, provider };
        world.run(&["trust", "flows"]).exits(0);
        world.run(&["run", "flows/c.yaml"]).exits(0);
        world
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        finish(priced(&self.folder, &self.provider, args))
    }

    pub fn sent(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("flows/sent")).unwrap_or_default()
    }

    pub fn runs(&self, flow: &str) -> Vec<serde_json::Value> {
        let all = self.run(&["runs", "list", "--output", "json"]).json();
        all["runs"].as_array().unwrap().iter().filter(|run| run["flow"] == flow).cloned().collect()
    }

    /// The newest run of a flow.
    pub fn newest(&self, flow: &str) -> String {
        self.runs(flow)[0]["run"].as_str().unwrap().to_owned()
    }

    pub fn with(&self, run: &str, file: &str, more: &[&str]) -> Ran {
        self.run(&[&["resume", run, "--with", file], more].concat())
    }
}

#[test]
fn a_call_that_is_to_run_again_runs_again_and_its_tools_need_permission() {
    let world = World::new();
    let run = world.newest("caller");
    assert_eq!(world.provider.asked(), ["the first", "s2"]);
    let stopped = world.run(&["runs", "fork", &run, "--from", "one"]);
    stopped.exits(75).says(&["has stopped before `send`", "--rerun send"]);
    assert_eq!((world.provider.asked().len(), world.sent().lines().count()), (2, 1), "{}", stopped.err);
    // It is still to run again after a resume, and a step of the called run can be allowed from the caller.
    let (caller, called) = (world.newest("caller"), world.newest("ship"));
    world.run(&["resume", &caller]).exits(75);
    assert_eq!(world.sent().lines().count(), 1);
    world.run(&["resume", &caller, "--rerun", "send"]).exits(2).says(&["unknown-step"]);
    world.run(&["resume", &caller, "--rerun", "one/sned"]).exits(2).says(&["unknown-step"]);
    world.run(&["resume", &caller, "--rerun", "one/send"]).exits(0);
    assert_eq!(
        (world.provider.asked(), world.sent().lines().count()),
        (vec!["the first".into(), "s2".into(), "s2".into()], 2)
    );
    for run in [&caller, &called] {
        world.run(&["replay", run]).exits(0);
    }
    // The whole call is allowed.
    let again = world.run(&["runs", "fork", &run, "--from", "one", "--rerun", "one"]);
    again.exits(0);
    assert_eq!((world.provider.asked().len(), world.sent().lines().count()), (4, 3), "{}", again.err);
}

/// A caller that has stopped because the run of its call repeats nothing unasked, at the first or the second level of calls.
fn stopped(levels: usize) -> (World, String, String) {
    let world = World::new();
    if levels == 2 {
        world.folder.write(
            "flows/top.yaml",
            caller(&[&call("up", "hello").replace("ship, params: { message", "mid, params: { input")])
                .replace("id: caller", "id: top"),
        );
        let tools = std::fs::read_to_string(world.folder.path().join("flows/trefoil.toml")).unwrap();
        world.folder.write("flows/trefoil.toml", format!("{tools}[tools.mid]\nflow = \"c.yaml\"\n"));
        world.run(&["trust", "flows"]).exits(0);
        world.run(&["run", "flows/top.yaml"]).exits(0);
    }
    let (top, from) = if levels == 2 { ("top", "up/one") } else { ("caller", "one") };
    world.run(&["runs", "fork", &world.newest(top), "--from", from]).exits(75);
    let (top, called) = (world.newest(top), world.newest("ship"));
    (world, top, called)
}

#[test]
fn a_called_run_that_ends_by_itself_wakes_the_runs_above_it() {
    for levels in [1, 2] {
        let (world, top, called) = stopped(levels);
        let next = format!("run {called} has ended; to continue: trefoil resume {top}");
        world.run(&["resume", &called, "--rerun", "send"]).exits(0).says(&[&next]);
        let shown = world.run(&["runs", "show", &top]).exits(0).out.clone();
        assert!(shown.contains(&format!("continue trefoil resume {top}\n")), "{shown}");
        assert!(!shown.contains("has stopped") && !shown.contains("waiting  "), "{shown}");
        let json = world.run(&["runs", "show", &top, "--output", "json"]).json();
        assert_eq!(json["next"].as_array().unwrap().len(), 1, "{json}");
        world.run(&["resume", "--all"]).exits(0);
        let json = world.run(&["runs", "show", &top, "--output", "json"]).json();
        assert_eq!(json["status"], "completed", "{levels}: {json}");
        world.run(&["resume", "--all"]).exits(0).says(&["no run can continue now"]);
    }
}

#[test]
fn a_called_run_that_is_cancelled_wakes_its_caller() {
    let (world, top, called) = stopped(1);
    world.run(&["runs", "cancel", &called]).exits(0);
    world.run(&["resume", "--all"]).exits(75).says(&["has stopped before `send`"]);
    assert_ne!(world.newest("ship"), called, "the call was made again");
    world.run(&["resume", &top, "--rerun", "one"]).exits(0);
}

#[test]
fn a_call_runs_again_from_a_step_of_its_flow() {
    let world = World::new();
    let run = world.newest("caller");
    let again = world.run(&["runs", "fork", &run, "--from", "one/s2"]);
    again.exits(0);
    assert_eq!(
        (world.provider.asked(), world.sent().lines().count()),
        (vec!["the first".into(), "s2".into(), "s2".into()], 1)
    );
    world.run(&["replay", &world.newest("caller")]).exits(0);
    world.with(&run, "flows/c.yaml", &["--from", "one/s2"]).exits(0);
    assert_eq!((world.provider.asked().len(), world.sent().lines().count()), (4, 1));
    for wrong in ["one/s3", "two/s2", "first/s2"] {
        world.with(&run, "flows/c.yaml", &["--from", wrong]).exits(2).says(&["unknown-step"]);
        world.with(&run, "flows/c.yaml", &["--from", wrong, "--dry-run"]).exits(2).says(&["unknown-step"]);
    }
}

#[test]
fn a_call_that_was_moved_goes_on_from_its_earlier_run() {
    let world = World::new();
    let run = world.newest("caller");
    world.folder.write("other/ship.yaml", ship("me", "deux"));
    let grouped = |id: &str, message: &str| {
        let inner: String = call(id, message).lines().map(|line| format!("      {line}\n")).collect();
        caller(&[FIRST, &format!("  - agent:\n      id: grp\n      kind: sequential\n      steps:\n{inner}")])
    };
    world.folder.write("flows/d.yaml", grouped("one", "hello"));
    let moved = world.with(&run, "flows/d.yaml", &["--explain"]);
    moved.exits(0);
    assert_eq!(
        (world.provider.asked(), world.sent().lines().count()),
        (vec!["the first".into(), "s2".into(), "deux".into()], 1)
    );
    // With another input, it may still be the same call, so what its run did is asked about.
    world.folder.write("flows/e.yaml", grouped("uno", "bye"));
    world.with(&run, "flows/e.yaml", &[]).exits(75).says(&["has stopped before `send`"]);
    assert_eq!(world.sent().lines().count(), 1);
    // A call that is new although the earlier one is still made is no other name of it.
    world.folder.write("flows/f.yaml", caller(&[FIRST, &call("one", "hello"), &call("two", "hello")]));
    world.with(&run, "flows/f.yaml", &[]).exits(0);
    assert_eq!(world.sent().lines().count(), 2);
    // Nor is it if the earlier one was renamed and kept its result.
    world.folder.write("other/ship.yaml", ship("me", "s2"));
    world.folder.write("flows/g.yaml", caller(&[FIRST, &call("uno", "hello"), &call("two", "bye")]));
    world.with(&run, "flows/g.yaml", &[]).exits(0);
    assert_eq!(world.sent().lines().count(), 3);
}

#[test]
fn a_run_that_reuses_results_waits_at_a_limit_that_its_flow_has_reached() {
    let world = World::new();
    let run = world.newest("caller");
    // Called for the first time, and again from an earlier run.
    let last =
        "  - agent: { id: last, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: the last }\n";
    for (n, file) in [
        caller(&[FIRST, &call("one", "hello"), &call("two", "bye"), last]),
        caller(&[FIRST, &call("one", "more"), last]),
    ]
    .iter()
    .enumerate()
    {
        world.folder.write("flows/d.yaml", file).write("other/ship.yaml", ship("me", &format!("x{n}")));
        let before = world.provider.asked().len();
        let stopped = world.with(&run, "flows/d.yaml", &["--max-calls", if n == 0 { "1" } else { "0" }]);
        let new = world.newest("caller");
        // A limit that is enough for the rest: the call that was stopped, a quarter more, and what its caller needs.
        let raised = format!("trefoil resume {new} --max-calls {}", if n == 0 { 4 } else { 3 });
        stopped.exits(75).says(&["call limit reached", &raised]);
        assert_eq!(world.runs("caller")[0]["status"], "waiting");
        assert_eq!(world.runs("ship")[0]["status"], "waiting");
        let sent = world.sent();
        world.run(&["resume", &new, "--max-calls", "9"]).exits(0);
        let calls = if n == 0 { vec!["x0", "x0", "the last"] } else { vec!["x1", "the last"] };
        assert_eq!(world.provider.asked()[before..], calls, "nothing is paid twice");
        assert_eq!(world.sent(), sent);
        world.run(&["replay", &new]).exits(0);
        world.run(&["store", "check"]).exits(0);
    }
}

#[test]
fn what_called_runs_do_and_save_is_reported_with_their_call() {
    let world = World::new();
    let run = world.newest("caller");
    let events = world.run(&["runs", "events", &run]);
    let called: Vec<_> =
        events.lines().into_iter().filter_map(|event| event["called"].as_str().map(str::to_owned)).collect();
    assert_eq!(called, [world.newest("ship")], "{}", events.out);
    world.folder.write("other/ship.yaml", ship("you", "deux"));
    let foreseen = world.with(&run, "flows/c.yaml", &["--dry-run"]);
    let out = &foreseen.exits(1).out;
    assert!(
        out.contains(" again  one") && out.contains("     stops  send") && out.contains("it would end there"),
        "{out}"
    );
    world.folder.write("other/ship.yaml", ship("me", "deux"));
    let foreseen = world.with(&run, "flows/c.yaml", &["--dry-run"]);
    assert!(foreseen.exits(1).out.contains("     again  s2"), "{}", foreseen.out);
    let edited = world.with(&run, "flows/c.yaml", &["--explain"]);
    edited.exits(0).says(&[" again  one", "      kept  send", "     again  s2", "deux", "2 results of run"]);
    edited.says(&["1 model call and 1 tool call made"]);
    // Answers of called runs are reused, too.
    let reused = world.run(&["run", "flows/c.yaml", "--reuse"]);
    reused.exits(0).says(&["2 answers of earlier runs reused"]);
}

#[test]
fn a_renamed_step_is_named_by_its_new_name_too() {
    let world = World::new();
    let run = world.newest("caller");
    world.folder.write("flows/d.yaml", caller(&[&FIRST.replace("id: first", "id: erst"), &call("uno", "hello")]));
    let again = world.with(&run, "flows/d.yaml", &["--from", "erst", "--dry-run"]);
    assert!(again.exits(1).out.contains("again  erst (was first)  it was selected"), "{}", again.out);
    world.with(&run, "flows/d.yaml", &["--from", "uno"]).exits(75).says(&["has stopped before `send`"]);
    world.with(&run, "flows/d.yaml", &["--from", "one/s2"]).exits(0);
    assert_eq!(
        (world.provider.asked(), world.sent().lines().count()),
        (vec!["the first".into(), "s2".into(), "s2".into()], 1)
    );
    world.with(&run, "flows/d.yaml", &["--from", "none"]).exits(2).says(&["unknown-step"]);
}

#[test]
fn a_step_of_a_call_that_was_kept_is_named_as_before() {
    let world = World::new();
    let run = world.newest("caller");
    world.with(&run, "flows/c.yaml", &[]).exits(0);
    let kept = world.newest("caller");
    world.with(&kept, "flows/c.yaml", &["--from", "one/s2"]).exits(0);
    assert_eq!(world.provider.asked(), ["the first", "s2", "s2"]);
    assert_eq!(world.sent().lines().count(), 1);
}

#[test]
fn a_run_whose_called_runs_are_needed_is_not_deleted() {
    let world = World::new();
    let (caller, called) = (world.newest("caller"), world.newest("ship"));
    world.folder.write("other/trefoil.toml", "[tools.mail]\ncommand = [\"echo\", \"{to}\"]\n");
    world.run(&["trust", "other"]).exits(0);
    world.run(&["resume", &called, "--with", "other/ship.yaml", "--from", "send"]).exits(75);
    world.run(&["runs", "delete", &caller]).exits(2).says(&["has not ended, and reuses results of run"]);
    assert_eq!(world.runs("ship").len(), 2);
    world.run(&["runs", "delete", &caller, "--force"]).exits(0);
    assert_eq!(world.runs("ship").len(), 1);
}

#[test]
fn an_edited_run_can_have_another_input() {
    let world = World::new();
    let ask = |prompt: &str, schema: &str| {
        format!(
            "id: asks\nkind: llm\ninputSchema: {{ {schema} }}\nmodel: {{ provider: openai, name: m }}\ninstruction: I.\nprompt: '{prompt}'\n"
        )
    };
    world.folder.write("flows/a.yaml", ask("{{x}}", "x: string"));
    world.run(&["run", "flows/a.yaml", "--input", "x=one"]).exits(0);
    let run = world.newest("asks");
    world.folder.write("flows/a.yaml", ask("{{x}} {{y}}", "x: string, y: string"));
    world.with(&run, "flows/a.yaml", &["--input", "y=two"]).exits(0);
    world.with(&run, "flows/a.yaml", &["--input", "y=two", "--dry-run"]).exits(1);
    world.with(&run, "flows/a.yaml", &["--input-json", "{\"x\": \"1\", \"y\": \"2\"}"]).exits(0);
    world.with(&run, "flows/a.yaml", &["--input", "z=two"]).exits(2).says(&["unknown input `z`"]);
    assert_eq!(world.provider.asked()[3..], ["one two", "1 2"]);
    let shown = world.run(&["resume", &run, "--input", "y=two"]);
    assert_eq!(shown.code, 2, "only for a new run");
}
