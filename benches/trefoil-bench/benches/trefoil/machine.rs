//! The cost of the machine itself: every effect completes at once in memory, so only the engine is measured.

use std::sync::Arc;

use trefoil_front::{CompileFindings, DialectDetection, ManifestDocument, Project, detect_dialect};
use trefoil_ir::Program;
use trefoil_machine::{Activity, Flags, Request};
use trefoil_machine::{ActivityCompletion, Machine, MachineCommand, PreparedProgram};
use trefoil_syntax::SourceFile;
use trefoil_syntax::yaml::{self, YamlLimits};
use trefoil_template::Value;

use super::{long, single};
use crate::race::{Race, Standing};

const STEPS: usize = 1000;

pub fn races(out: &mut Vec<Standing>) {
    let sequence = PreparedProgram::new(program(&pipeline("sequential", "steps", STEPS)));
    let parallel = PreparedProgram::new(program(&pipeline("parallel", "branches", STEPS)));
    let repeat = PreparedProgram::new(program(&repeated(STEPS)));
    let input = Value::from("a topic");
    out.push(long(
        Race::new("machine, a step in memory", "step", STEPS)
            .goal("<= 3 us")
            .lane("sequence of 1,000", || run(&sequence, &input, "done"))
            .lane("parallel of 1,000", || run(&parallel, &input, "done"))
            .lane("loop of 1,000 passes", || run(&repeat, &input, "again")),
    ));
    for (items, goal) in [(1_000, ""), (10_000, "<= 30 ms for all"), (100_000, "linear")] {
        let fan_out = PreparedProgram::new(program(FAN_OUT));
        let list = format!("[{}]", vec!["1"; items].join(","));
        let race = Race::new(format!("fan-out of {items} items"), "item", items)
            .goal(goal)
            .lane("trefoil", || fan(&fan_out, &input, &list));
        out.push(single(race));
    }
}

/// Runs a program to its end; every model call returns `answer` at once.
fn run(prepared: &Arc<PreparedProgram>, input: &Value, answer: &str) -> usize {
    play(prepared, input, answer, answer)
}

/// The same for a fan-out: the first call returns the list, every other one a word.
fn fan(prepared: &Arc<PreparedProgram>, input: &Value, list: &str) -> usize {
    play(prepared, input, list, "ok")
}

fn play(prepared: &Arc<PreparedProgram>, input: &Value, first: &str, rest: &str) -> usize {
    let (first, rest) = (Value::from(first), Value::from(rest));
    let mut machine = Machine::from_prepared(prepared.clone(), Flags::default());
    let mut waiting: std::collections::VecDeque<Activity> = std::collections::VecDeque::new();
    let mut output = machine.start_run("bench", Some(input.clone()));
    let mut done = 0;
    loop {
        for command in output.commands {
            match command {
                // No time passes here, so timers never fire.
                MachineCommand::Start(Activity { request: Request::Timer { .. }, .. }) | MachineCommand::Cancel(_) => {}
                MachineCommand::Start(activity) => waiting.push_back(activity),
                MachineCommand::Finish(result) => {
                    // The loop is meant to reach its limit; any other failure would invalidate the measurement.
                    if let Err(error) = &result {
                        assert_eq!(error.code, "MAX_ITERATIONS_EXCEEDED", "{error:?}");
                    }
                    return done;
                }
            }
        }
        let Some(activity) = waiting.pop_front() else { panic!("the run neither goes on nor ends") };
        let result = match activity.request {
            Request::Model(_) => Ok(if done == 0 { first.clone() } else { rest.clone() }),
            _ => Ok(Value::Null),
        };
        done += 1;
        output = machine.complete_activity(ActivityCompletion::new(activity.key, 0, result));
    }
}

fn program(text: &str) -> Arc<Program> {
    let mut project = Project::default();
    let file = project.files.add_file(SourceFile::new("bench.yaml", text));
    let source = project.files.get(file).expect("was added");
    let root = yaml::parse(file, source, &YamlLimits::default()).root.expect("parses");
    let DialectDetection::One(front) = detect_dialect(&root) else { panic!("one dialect") };
    project.documents.push(ManifestDocument { file, path: "bench.yaml".to_owned(), root, front, project: 0 });
    let mut found = CompileFindings::default();
    let lowered = trefoil_lint::lower_document(front, &project, 0, &mut found).unwrap_or_else(|| panic!("{found:?}"));
    Arc::new(lowered.program)
}

fn agent(id: &str) -> String {
    format!(
        "  - agent: {{id: {id}, kind: llm, model: {{provider: openai, name: m}}, instruction: Work.}}\n    input: {{text: \"{{{{userQuery}}}}\"}}\n"
    )
}

fn pipeline(kind: &str, list: &str, steps: usize) -> String {
    let all: String = (0..steps).map(|n| agent(&format!("s{n}"))).collect();
    format!("id: bench\nkind: {kind}\n{list}:\n{all}")
}

fn repeated(passes: usize) -> String {
    // The condition never holds, so the run fails with MAX_ITERATIONS_EXCEEDED after the last pass.
    format!(
        "id: bench\nkind: sequential\nuntil: \"{{{{s}}}} == never\"\nmaxIterations: {passes}\nsteps:\n{}",
        agent("s")
    )
}

const FAN_OUT: &str = r#"
version: "0.1"
agents:
  planner: {model: "openai:m", system: "Plan."}
  worker: {model: "openai:m", system: "Work on {{ inputs.task }}."}
nodes:
  plan: {agent: planner, writes: working.plan}
  each:
    type: factory
    agent: worker
    for_each: "{{ plan.output }}"
    inputs: {task: "{{ item }}"}
    concurrency: 64
    writes: output.all
edges:
  - {from: plan, to: each}
"#;
