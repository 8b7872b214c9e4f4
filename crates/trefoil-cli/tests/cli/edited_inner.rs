//! Steps of a flow that is a tool: `--from CALL/STEP`, before and after renaming, in previews, and if a run ends on the way.

use crate::durable::{priced, signal, until};
use crate::edited_calls::{FIRST, World, call, caller, ship};
use crate::world::wait;

/// Sends a mail without a flow.
fn mail(id: &str, to: &str) -> String {
    format!("  - agent: {{ id: {id}, kind: tool, tool: {{ kind: local, name: mail, params: {{ to: {to} }} }} }}\n")
}

impl World {
    /// Resumes a run with a file whose first step never gets its answer, and kills the process there. Returns the new run.
    fn killed_before_the_call(&self, run: &str, from: &str, says: &str) -> String {
        let first = FIRST.replace("the first", says);
        self.folder.write("flows/c.yaml", caller(&[&first, &call("one", "hello")]));
        self.provider.hang(true);
        let args = ["resume", run, "--with", "flows/c.yaml", "--from", from];
        let child = priced(&self.folder, &self.provider, &args).spawn().unwrap();
        until("the first call", || self.provider.asked().last().is_some_and(|asked| asked == says));
        signal(&child, "-KILL");
        wait(child);
        self.provider.hang(false);
        self.newest("caller")
    }
}

#[test]
fn a_run_that_ended_before_a_call_still_starts_it_at_the_inner_step() {
    let world = World::new();
    let run = world.newest("caller");
    let killed = world.killed_before_the_call(&run, "one/s2", "hang");
    let before = world.provider.asked().len();
    let forked = world.run(&["runs", "fork", &killed]);
    forked.exits(0);
    assert_eq!(
        (&world.provider.asked()[before..], world.sent().lines().count()),
        (&["hang".into(), "s2".into()][..], 1)
    );
    world.run(&["replay", &world.newest("caller")]).exits(0);
    world.run(&["replay", &world.newest("ship")]).exits(0);
    // What comes later is known from the runs before the one that ended early.
    let would = world.with(&killed, "flows/c.yaml", &["--dry-run"]).out;
    assert!(would.contains(" again  first") && would.contains(" later  one: depends"), "{would}");
    // The same for an edit, and after another run has kept everything.
    world.with(&world.newest("caller"), "flows/c.yaml", &[]).exits(0);
    let killed = world.killed_before_the_call(&world.newest("caller"), "one/s2", "hang again");
    let before = world.provider.asked().len();
    world.folder.write("flows/c.yaml", caller(&[FIRST, &call("one", "hello")]));
    world.with(&killed, "flows/c.yaml", &[]).exits(0);
    assert_eq!((&world.provider.asked()[before..], world.sent().lines().count()), (&["s2".into()][..], 1));
}

/// A pipeline with a name, around these steps.
fn around(id: &str, steps: &str) -> String {
    let steps = steps.replace("\n  ", "\n        ");
    format!("  - agent:\n      id: {id}\n      kind: sequential\n      steps:\n      {steps}")
}

#[test]
fn what_is_around_a_call_may_be_left_out_of_the_name_of_a_step_to_repeat() {
    let world = World::new();
    world.folder.write("flows/c.yaml", caller(&[&around("all", &call("one", "hello"))]));
    world.run(&["run", "flows/c.yaml"]).exits(0);
    let run = world.newest("caller");
    for from in ["one/s2", "all/one/s2"] {
        let before = world.provider.asked().len();
        world.run(&["runs", "fork", &run, "--from", from]).exits(0);
        assert_eq!(&world.provider.asked()[before..], ["s2"], "{from}");
    }
    let sent = world.sent().lines().count();
    for rerun in ["one/send", "all/one/send", "one", "all/one/*"] {
        world.run(&["runs", "fork", &run, "--from", "one"]).exits(75).says(&["has stopped before `send`"]);
        world.run(&["resume", &world.newest("caller"), "--rerun", rerun]).exits(0);
    }
    assert_eq!(world.sent().lines().count(), sent + 4);
    world.run(&["runs", "fork", &run, "--from", "one"]).exits(75);
    let stopped = world.newest("caller");
    for wrong in ["all/send", "other/one/send", "one/all/send", "one/sned"] {
        world.run(&["resume", &stopped, "--rerun", wrong]).exits(2).says(&["unknown-step"]);
    }
}

#[test]
fn a_name_that_two_steps_have_starts_no_run() {
    let world = World::new();
    let step = |prompt: &str| FIRST.replace("id: first", "id: b").replace("the first", prompt);
    world.folder.write("flows/d.yaml", caller(&[&around("x", &step("in x")), &around("y", &step("in y"))]));
    world.run(&["run", "flows/d.yaml"]).exits(0);
    let run = world.newest("caller");
    for args in [&["runs", "fork", &run][..], &["resume", &run, "--with", "flows/d.yaml"]] {
        let refused = world.run(&[args, &["--from", "b"]].concat());
        refused.exits(2).says(&["ambiguous-step", "several steps of the run are named `b`", "`x/b`, `y/b`"]);
        let before = world.provider.asked().len();
        world.run(&[args, &["--from", "y/b"]].concat()).exits(0);
        assert_eq!(&world.provider.asked()[before..], ["in y"]);
    }
    // The same names choose models.
    let plan = world.run(&["plan", "flows/d.yaml", "--model", "x/b=openai:other"]);
    assert!(plan.out.contains("openai:other") && plan.out.contains("openai:m"), "{}", plan.out);
    world.run(&["run", "flows/d.yaml", "--model", "z/b=openai:other"]).exits(2).says(&["`z/b`"]);
}

#[test]
fn what_two_runs_were_to_repeat_in_a_call_is_repeated() {
    let world = World::new();
    let run = world.newest("caller");
    let killed = world.killed_before_the_call(&run, "one/send", "hang");
    let killed = world.killed_before_the_call(&killed, "one/s2", "hang again");
    // The first of both steps.
    let stopped = world.run(&["runs", "fork", &killed]);
    stopped.exits(75).says(&["has stopped before `send`"]);
    world.run(&["resume", &world.newest("caller"), "--rerun", "one/send"]).exits(0);
    assert_eq!(world.sent().lines().count(), 2);
    assert_eq!(world.provider.asked().last().map(String::as_str), Some("s2"));
}

#[test]
fn a_renamed_call_and_a_renamed_inner_step_are_named_by_their_new_names_too() {
    let world = World::new();
    let run = world.newest("caller");
    world.folder.write("flows/d.yaml", caller(&[FIRST, &call("uno", "hello")]));
    let would = world.with(&run, "flows/d.yaml", &["--from", "uno/s2", "--dry-run"]);
    assert!(would.exits(1).out.contains("     again  s2"), "{}", would.out);
    world.with(&run, "flows/d.yaml", &["--from", "uno/s2"]).exits(0);
    assert_eq!((world.provider.asked().len(), world.sent().lines().count()), (3, 1));
    world.folder.write("other/ship.yaml", ship("me", "s2").replace("id: s2", "id: zwei"));
    for (file, from) in [("c", "one/zwei"), ("d", "uno/zwei"), ("d", "uno/s2")] {
        let before = world.provider.asked().len();
        let again = world.with(&run, &format!("flows/{file}.yaml"), &["--from", from]);
        again.exits(0);
        assert_eq!(
            (&world.provider.asked()[before..], world.sent().lines().count()),
            (&["s2".into()][..], 1),
            "{from}"
        );
    }
    for wrong in ["uno/drei", "due/s2"] {
        world.with(&run, "flows/d.yaml", &["--from", wrong]).exits(2).says(&["unknown-step"]);
    }
}

#[test]
fn a_preview_shows_what_a_call_that_is_made_again_would_do() {
    let world = World::new();
    let run = world.newest("caller");
    let would = |file: &str, more: &[&str]| world.with(&run, file, &[more, &["--dry-run"]].concat()).out;
    let selected = "it was selected to run again";
    let inner = would("flows/c.yaml", &["--from", "one/s2"]);
    assert_eq!(
        inner,
        format!(
            " again  one  {selected}\n      kept  send\n     again  s2  {selected}\n2 of run {run} would be kept\n"
        )
    );
    let whole = would("flows/c.yaml", &["--from", "one"]);
    assert!(whole.contains(&format!("     stops  send  {selected}\n     later  s2: depends")), "{whole}");
    assert!(whole.contains("it would end there: ") && whole.contains("1 of run"), "{whole}");
    // Other arguments: the flow is called again, and continues from what it has done.
    world.folder.write("flows/d.yaml", caller(&[FIRST, &call("one", "bye")]));
    let other = would("flows/d.yaml", &[]);
    assert!(other.contains(" again  one  argument `message`: \"bye\", was \"hello\"\n      kept  send\n"), "{other}");
    assert_eq!((world.provider.asked().len(), world.sent().lines().count()), (2, 1));
}

#[test]
fn a_preview_shows_which_step_of_a_failed_call_is_repeated() {
    let world = World::new();
    let last = "  - agent: { id: last, kind: tool, tool: { kind: local, name: fails } }\n";
    world.folder.write("other/ship.yaml", ship("me", "s2") + last);
    let tools = std::fs::read_to_string(world.folder.path().join("flows/trefoil.toml")).unwrap();
    world.folder.write("flows/trefoil.toml", tools + "[tools.fails]\ncommand = [\"false\"]\n");
    world.run(&["trust", "flows"]).exits(0);
    world.run(&["run", "flows/c.yaml"]).exits(1);
    let run = world.newest("caller");
    let would = world.with(&run, "flows/c.yaml", &["--dry-run"]).out;
    let shown = " again  one  it failed before: TOOL_ERROR\n      kept  send\n      kept  s2\n     again  last  it failed before: TOOL_ERROR\n";
    assert!(would.contains(shown) && would.contains("3 of run"), "{would}");
}

#[test]
fn a_call_whose_run_stopped_before_it_did_anything_is_not_counted() {
    let world = World::new();
    let run = world.newest("caller");
    let stopped = world.run(&["runs", "fork", &run, "--from", "one"]);
    stopped.exits(75).says(&["1 result of run", "no calls made"]);
    let stopped = world.run(&["runs", "fork", &run, "--from", "one/s2", "--max-calls", "0"]);
    stopped.exits(75).says(&["2 results of run", "no calls made"]);
    world.run(&["resume", &world.newest("caller"), "--max-calls", "1"]).exits(0);
    let made = world.run(&["runs", "fork", &run, "--from", "one", "--rerun", "one"]);
    made.exits(0).says(&["1 model call and 2 tool calls made"]);
}

#[test]
fn answers_of_one_run_include_those_of_the_runs_that_it_called() {
    let world = World::new();
    let run = world.newest("caller");
    let kept = |of: &str| {
        let before = world.provider.asked().len();
        let reused = world.run(&["run", "flows/c.yaml", &format!("--reuse={of}")]);
        reused.exits(0).says(&["2 answers of earlier runs reused"]);
        assert_eq!(world.provider.asked().len(), before);
        world.run(&["replay", &world.newest("ship")]).exits(0);
    };
    kept(&run);
    // Also if that run has kept the result of its call.
    world.with(&run, "flows/c.yaml", &[]).exits(0);
    kept(&world.newest("caller"));
    // Only those.
    world.folder.write("flows/other.yaml", caller(&[FIRST]));
    world.run(&["run", "flows/other.yaml"]).exits(0);
    let reused = world.run(&["run", "flows/c.yaml", &format!("--reuse={}", world.newest("caller"))]);
    reused.exits(0).says(&["1 answer of earlier runs reused", "1 model call"]);
}

#[test]
fn an_edit_that_is_undone_is_compared_with_what_was_done_last() {
    let world = World::new();
    world.folder.write("flows/c.yaml", caller(&[&mail("post", "me")]));
    world.run(&["run", "flows/c.yaml"]).exits(0);
    let run = world.newest("caller");
    world.folder.write("flows/c.yaml", caller(&[&mail("send", "you")]));
    world.with(&run, "flows/c.yaml", &["--rerun", "send"]).exits(0);
    world.folder.write("flows/c.yaml", caller(&[&mail("post", "me")]));
    let undone = world.with(&world.newest("caller"), "flows/c.yaml", &["--explain"]);
    undone.exits(75).says(&["stops  post (was send)  argument `to`: \"me\", was \"you\""]);
    // What was done last is kept.
    world.folder.write("flows/c.yaml", caller(&[&mail("post", "you")]));
    world.with(&world.newest("caller"), "flows/c.yaml", &["--explain"]).exits(0).says(&["kept  post"]);
}
