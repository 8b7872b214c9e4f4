//! Names of steps as users type them: every option that takes one, and every form of a name. A test of the command line
//! (`src/command_line/tests.rs`) lists the options, so that a new one is added here.
#![cfg(unix)]

use crate::edited_calls::World;
use crate::world::Ran;

/// The forms of a name.
const FORMS: [&str; 6] = ["exists", "mark", "wrong mark", "called", "several", "equals sign"];

const OPTIONS: [&str; 6] = ["--from", "--rerun", "--model", "trace --step", "--answer", "runs answer"];

/// A loop of two passes, two steps of one name, one with `=` in its name, and a call of a flow.
const ALL: &str = "id: all
kind: sequential
steps:
  - agent:
      id: lp
      kind: sequential
      until: \"{{wr}} == 'go again'\"
      maxIterations: 3
      steps:
        - agent: { id: wr, kind: llm, inputSchema: { before: string }, model: { provider: openai, name: m }, instruction: I., prompt: 'go{{#if before}} again{{/if}}' }
          input: { before: '{{wr}}' }
        - agent: { id: post, kind: tool, tool: { kind: local, name: mail, params: { to: lp } } }
  - agent:
      id: x
      kind: sequential
      steps:
        - agent: { id: b, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: in x }
        - agent: { id: inner, kind: tool, tool: { kind: local, name: ship, params: { message: x } } }
  - agent:
      id: y
      kind: sequential
      steps:
        - agent: { id: b, kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: in y }
  - agent: { id: 'e=1', kind: llm, model: { provider: openai, name: m }, instruction: I., prompt: equal }
  - agent: { id: one, kind: tool, tool: { kind: local, name: ship, params: { message: hello } } }
";

/// Asks as long as the answer is `again`, and then whether that is sure.
const GATE: &str = "apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: gate, version: 1.0.0 }
spec:
  initial_state: ASK
  states:
    ASK:
      kind: Human
      prompt: Ship?
      max_state_visits: 5
      transitions:
        - { condition: input_equals, value: again, target: ASK }
        - { condition: input_equals_yes, target: 'E=1' }
    'E=1':
      kind: Human
      prompt: Sure?
      transitions:
        - { condition: input_equals_yes, target: STOP }
    STOP: { kind: System, command: 'true' }
";

/// A flow that asks, and one that calls it twice at the same time.
const OK: &str = "version: \"0.1\"\nnodes:\n  ok: { type: human, prompt: Ship?, writes: output.t }\n";
const TWICE: &str = "id: twice
kind: parallel
branches:
  - agent: { id: p1, kind: tool, tool: { kind: local, name: asks, params: { message: a } } }
  - agent: { id: p2, kind: tool, tool: { kind: local, name: asks, params: { message: b } } }
";

/// What a name does: the arguments of the command, its exit code, and what it prints.
struct NameCase<'c> {
    option: &'c str,
    form: &'c str,
    args: Vec<&'c str>,
    exits: i32,
    says: Vec<&'c str>,
}

fn case<'c>(of: (&'c str, &'c str), args: &str, exits: i32, says: &[&'c str]) -> NameCase<'c> {
    let args = args.to_owned().leak().split(' ').collect();
    NameCase { option: of.0, form: of.1, args, exits, says: says.to_vec() }
}

fn world() -> (World, String) {
    let world = World::new();
    world.folder.write("flows/all.yaml", ALL).write("flows/gate.yaml", GATE).write("flows/twice.yaml", TWICE);
    world.folder.write("other/ok.yaml", OK);
    let tools = std::fs::read_to_string(world.folder.path().join("flows/trefoil.toml")).unwrap();
    world.folder.write("flows/trefoil.toml", format!("{tools}[tools.asks]\nflow = \"../other/ok.yaml\"\n"));
    world.run(&["trust", "flows"]).exits(0);
    world.run(&["run", "flows/all.yaml"]).exits(0);
    let run = world.newest("all");
    (world, run)
}

fn check(world: &World, case: &NameCase<'_>) -> Ran {
    let ran = world.run(&case.args);
    ran.exits(case.exits);
    let said = format!("{}{}", ran.out, ran.err);
    for part in &case.says {
        let found = match part.strip_prefix('!') {
            Some(not) => !said.contains(not),
            None => said.contains(part),
        };
        assert!(found, "{:?}: `{part}`: {said}", case.args);
    }
    ran
}

#[test]
fn one_pass_is_allowed_and_no_other() {
    let (world, run) = world();
    let fork = |more: &[&str]| world.run(&[&["runs", "fork", &run], more].concat());
    fork(&["--from", "lp", "--rerun", "lp@1/post"]).exits(75);
    let shown = world.run(&["runs", "show", &world.newest("all")]).exits(0).out.clone();
    assert!(shown.contains("--rerun lp@2/post") && !shown.contains("--rerun lp@1/post"), "{shown}");
    // A name of a pass that only the new run has stopped before.
    world.run(&["resume", &world.newest("all"), "--rerun", "lp@3/post"]).exits(2).says(&["it has `lp@1/post`"]);
    world.run(&["resume", &world.newest("all"), "--rerun", "lp@2/post"]).exits(75);
    // A step is allowed with all that is inside, also in the flows that it calls, and with nothing else.
    fork(&["--from", "x", "--rerun", "x"]).exits(75).says(&["has stopped before `send`"]);
    let before = world.sent().lines().count();
    fork(&["--from", "x", "--rerun", "x", "--rerun", "one"]).exits(0);
    assert_eq!(world.sent().lines().count(), before + 2);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn every_option_understands_every_form_of_a_name() {
        let (world, run) = world();
        let fork = |more: &str| format!("runs fork {run} --dry-run {more}");
        let trace = |name: &str| format!("trace {run} --step {name}");
        let plan = |name: &str| format!("plan flows/all.yaml --model {name}=openai:other");
        let passes = "it has `lp@1/wr`, `lp@2/wr`";
        let mut cases = vec![
            case(("--from", "exists"), &fork("--from one"), 1, &[" again  one"]),
            case(("--from", "exists"), &fork("--from lp"), 1, &[" again  lp@1/wr"]),
            case(("--from", "mark"), &fork("--from lp@2/wr"), 1, &[" again  lp@2/wr", "!lp@1/"]),
            case(("--from", "mark"), &fork("--from lp@2"), 1, &[" again  lp@2/wr", "!lp@1/"]),
            case(("--from", "wrong mark"), &fork("--from lp@3/wr"), 2, &["no step `lp@3/wr`", passes]),
            case(("--from", "wrong mark"), &fork("--from wr@2"), 2, &["no step `wr@2`", passes]),
            case(("--from", "wrong mark"), &fork("--from lp[1]"), 2, &["it has `lp@1`, `lp@2`"]),
            case(("--from", "called"), &fork("--from one/s2"), 1, &[" again  s2"]),
            case(("--from", "called"), &fork("--from one/s2@2"), 2, &["no step `s2@2`", "it has `s2`"]),
            case(("--from", "called"), &fork("--from one@2/s2"), 2, &["no step `one@2/s2`", "it has `one`"]),
            case(("--from", "several"), &fork("--from b"), 2, &["ambiguous-step", "`x/b`, `y/b`"]),
            case(("--from", "equals sign"), &fork("--from e=1"), 1, &[" again  e=1"]),
            case(
                ("--from", "exists"),
                &fork("--from wrr"),
                2,
                &["did you mean `wr`? Its steps are `wr`, `lp`, `post`,"],
            ),
            case(("--rerun", "exists"), &fork("--rerun post"), 0, &[]),
            case(("--rerun", "exists"), &fork("--rerun lp"), 0, &[]),
            case(("--rerun", "mark"), &fork("--rerun lp@2/post"), 0, &[]),
            case(("--rerun", "wrong mark"), &fork("--rerun lp@3/post"), 2, &["it has `lp@1/post`, `lp@2/post`"]),
            case(("--rerun", "wrong mark"), &fork("--rerun post@1"), 2, &["it has `lp@1/post`, `lp@2/post`"]),
            case(("--rerun", "called"), &fork("--rerun one/send"), 0, &[]),
            case(("--rerun", "called"), &fork("--rerun one/send@2"), 2, &["no step `one/send@2`"]),
            case(("--rerun", "called"), &fork("--rerun one@2/send"), 2, &["it has `one`"]),
            case(("--rerun", "several"), &fork("--rerun b"), 0, &[]),
            case(("--rerun", "equals sign"), &fork("--rerun e=1"), 0, &[]),
            case(("--model", "exists"), &plan("wr"), 0, &["wr  [agent]  openai:other"]),
            case(("--model", "exists"), &plan("wrr"), 0, &["did you mean `wr`?"]),
            case(("--model", "exists"), &plan("something"), 0, &["available: `wr`, `b`, `e=1`, `lp`"]),
            case(
                ("--model", "mark"),
                &plan("lp@2/wr"),
                0,
                &["a model is for all of them", "--model lp/wr=", "!openai:other"],
            ),
            case(
                ("--model", "wrong mark"),
                &plan("wr@7"),
                0,
                &["a model is for all of them", "--model wr=", "!openai:other"],
            ),
            case(("--model", "called"), &plan("s2"), 0, &["openai:other"]),
            case(("--model", "called"), &plan("one/s2"), 0, &["--model s2=", "!openai:other"]),
            case(("--model", "several"), &plan("b"), 0, &["openai:other  2"]),
            case(("--model", "several"), &plan("x/b"), 0, &["openai:other  1"]),
            case(("--model", "equals sign"), &plan("e=1"), 0, &["e=1  [agent]  openai:other"]),
            case(("trace --step", "exists"), &trace("wr"), 0, &["key lp@1/wr", "key lp@2/wr"]),
            case(("trace --step", "mark"), &trace("lp@2/wr"), 0, &["key lp@2/wr", "!key lp@1"]),
            case(("trace --step", "mark"), &trace("lp@2"), 0, &["key lp@2/wr", "key lp@2/post", "!key lp@1"]),
            case(("trace --step", "wrong mark"), &trace("wr@77"), 2, &["no step `wr@77`", passes]),
            case(("trace --step", "called"), &trace("one/s2"), 0, &["called by `one`", "s2  done"]),
            case(("trace --step", "called"), &trace("one/s3"), 2, &["no step `s3`", "did you mean `s2`?"]),
            case(("trace --step", "called"), &trace("one@2/s2"), 2, &["it has `one`"]),
            case(("trace --step", "several"), &trace("b"), 0, &["key x/b", "key y/b"]),
            case(("trace --step", "equals sign"), &trace("e=1"), 0, &["e=1  done"]),
        ];
        let gate = |answers: &str| format!("run flows/gate.yaml --allow-command {answers}");
        let twice = |answers: &str| format!("run flows/twice.yaml {answers}");
        cases.extend([
            case(("--answer", "exists"), &gate("--answer ASK=yes"), 75, &["waiting: `E=1` asks"]),
            case(("--answer", "mark"), &gate("--answer ASK@1=again --answer ASK@2=yes"), 75, &["waiting: `E=1` asks"]),
            case(("--answer", "mark"), &gate("--answer ASK@2=yes"), 75, &["waiting: `ASK` asks"]),
            case(
                ("--answer", "wrong mark"),
                &gate("--answer ASK[0]=yes"),
                2,
                &["unknown-answer", "or `ASK@1` for one"],
            ),
            case(("--answer", "exists"), &gate("--answer AKS=yes"), 2, &["did you mean `ASK`?"]),
            case(("--answer", "equals sign"), &gate("--answer ASK=yes --answer E=1=yes"), 0, &[]),
            case(("--answer", "equals sign"), &gate("--answer ASK=yes --answer E=1@1=yes"), 0, &[]),
            case(("--answer", "called"), &twice("--answer p1/ok=yes --answer p2/ok=yes"), 0, &[]),
            case(("--answer", "called"), &twice("--answer p1/ok=yes"), 75, &["called by `p2`", "!called by `p1`"]),
            case(("--answer", "wrong mark"), &twice("--answer p1@2/ok=yes"), 2, &["unknown human step `p1@2/ok`"]),
            case(("--answer", "several"), &twice("--answer ok=yes"), 0, &[]),
        ]);
        cases.iter().for_each(|case| drop(check(&world, case)));
        let waits = |args: &str| {
            world.run(&args.split(' ').collect::<Vec<_>>()).exits(75);
            world.newest(args.split(['/', '.']).nth(1).unwrap())
        };
        let (asks, calls) = (waits(&gate("--answer ASK@1=again")), waits("run flows/twice.yaml"));
        let answers = [
            case(
                ("runs answer", "wrong mark"),
                &format!("runs answer {asks} ASK@1 yes"),
                2,
                &["it is waiting for `ASK@2`"],
            ),
            case(
                ("runs answer", "exists"),
                &format!("runs answer {asks} AKS yes"),
                2,
                &["it is waiting for: `ASK` asks"],
            ),
            case(("runs answer", "mark"), &format!("runs answer {asks} ASK@2 yes"), 0, &[]),
            case(("runs answer", "exists"), &format!("resume {asks} --allow-command"), 75, &["waiting: `E=1` asks"]),
            case(("runs answer", "equals sign"), &format!("runs answer {asks} E=1 yes"), 0, &[]),
            case(
                ("runs answer", "several"),
                &format!("runs answer {calls} ok yes"),
                2,
                &["several steps", "`p1/ok`, `p2/ok`"],
            ),
            case(("runs answer", "called"), &format!("runs answer {calls} p1/ok yes"), 0, &[]),
            case(
                ("runs answer", "called"),
                &format!("runs answer {calls} p2@3/ok yes"),
                2,
                &["it is waiting for `p2/ok`"],
            ),
        ];
        answers.iter().for_each(|case| drop(check(&world, case)));
        for option in OPTIONS {
            for form in FORMS {
                let has = cases.iter().chain(&answers).any(|case| case.option == option && case.form == form);
                assert!(has, "no case has {option} with a name of the form: {form}");
            }
        }
    }
}
