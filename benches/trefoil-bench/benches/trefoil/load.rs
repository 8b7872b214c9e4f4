//! Parsing and loading manifests of 10, 100 and 1,000 steps.

use std::fmt::Write;
use std::hint::black_box;

use trefoil_bench::Race;
use trefoil_bench::race::Standing;
use trefoil_front::{Detection, Document, Findings, Project, detect};
use trefoil_syntax::yaml::{self, Limits};
use trefoil_syntax::{FileId, SourceFile};

use super::{long, short};

pub fn races(out: &mut Vec<Standing>) {
    for steps in [10, 100, 1000] {
        for (dialect, text) in [("agntz", agntz(steps)), ("aegis", aegis(steps)), ("sirenspec", sirenspec(steps))] {
            out.push(load(dialect, steps, &text));
        }
    }
    let text = agntz(1000);
    let json = json_of_same_size(text.len());
    out.push(short(
        Race::new(format!("YAML tree of {} KB", text.len() / 1024), "parse", 1)
            .lane("trefoil", || parse(black_box(&text)))
            .lane("serde_json, as much JSON", || {
                serde_json::from_str::<serde_json::Value>(black_box(&json)).expect("parses")
            }),
    ));
}

fn load(dialect: &str, steps: usize, text: &str) -> Standing {
    let mut race = Race::new(format!("load {dialect}, {steps} steps ({} KB)", text.len() / 1024), "file", 1);
    if steps == 1000 {
        race = race.goal("<= 30 ms");
    }
    long(race.lane("parse and lower", || lower(black_box(text))).lane("of that: parse", || parse(black_box(text))))
}

fn parse(text: &str) -> yaml::Parsed {
    yaml::parse(FileId(0), &SourceFile::new("bench.yaml", text), &Limits::default())
}

/// The whole way of a single file, as a load takes it.
fn lower(text: &str) -> usize {
    let mut project = Project::default();
    let file = project.files.add(SourceFile::new("bench.yaml", text));
    let source = project.files.get(file).expect("was added");
    let root = yaml::parse(file, source, &Limits::default()).root.expect("parses");
    let Detection::One(front) = detect(&root) else { panic!("one dialect") };
    project.documents.push(Document { file, path: "bench.yaml".to_owned(), root, front });
    let mut found = Findings::default();
    let lowered = front.lower(&project, 0, &mut found);
    assert!(lowered.is_some(), "{:?}", found.diagnostics.iter().next());
    lowered.map_or(0, |l| l.program.steps.len())
}

fn agntz(steps: usize) -> String {
    let mut text = String::from("id: bench\nkind: sequential\ninputSchema:\n  topic: string\nsteps:\n");
    for n in 0..steps {
        let previous = if n == 0 { "{{topic}}".to_owned() } else { format!("{{{{step{}}}}}", n - 1) };
        let _ = writeln!(
            text,
            "  - agent:\n      id: step{n}\n      kind: llm\n      model: {{ provider: openai, name: gpt-5.4 }}\n      instruction: |\n        You are step {n}.\n        Keep to {{{{draft}}}}.\n      inputSchema:\n        draft: string\n    input:\n      draft: \"{previous}\"",
        );
    }
    text
}

fn aegis(states: usize) -> String {
    let mut text = String::from(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: bench\nspec:\n  initial_state: S0\n  max_total_transitions: 100\n  states:\n",
    );
    for n in 0..states {
        let next =
            if n + 1 == states { "[]".to_owned() } else { format!("[{{condition: on_success, target: S{}}}]", n + 1) };
        let previous = if n == 0 { "{{input.topic}}".to_owned() } else { format!("{{{{S{}.output}}}}", n - 1) };
        let _ = writeln!(
            text,
            "    S{n}:\n      kind: Agent\n      agent: writer\n      input: |\n        Improve:\n        {previous}\n      transitions: {next}"
        );
    }
    text
}

fn sirenspec(nodes: usize) -> String {
    let mut text = String::from("version: \"0.1\"\nagents:\n");
    for n in 0..nodes {
        let previous = if n == 0 { "{{ inputs.message }}".to_owned() } else { format!("{{{{ n{}.output }}}}", n - 1) };
        let _ =
            writeln!(text, "  a{n}:\n    model: openai:gpt-4o-mini\n    system: |\n      Improve:\n      {previous}");
    }
    text.push_str("nodes:\n");
    for n in 0..nodes {
        let _ = writeln!(text, "  n{n}: {{agent: a{n}, writes: output.n{n}}}");
    }
    text.push_str("edges:\n");
    for n in 1..nodes {
        let _ = writeln!(text, "  - {{from: n{}, to: n{n}}}", n - 1);
    }
    text
}

fn json_of_same_size(bytes: usize) -> String {
    let item = r#"{"id": "step", "kind": "llm", "instruction": "You are a step. Keep to the draft."}"#;
    let items = vec![item; bytes / item.len() + 1];
    format!("[{}]", items.join(","))
}
