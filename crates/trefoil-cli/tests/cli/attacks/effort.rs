//! Small files that could cause unlimited work or cost.

use std::time::{Duration, Instant};

use crate::world::Folder;

/// A rejection in time takes a moment. The limit allows for a debug build on a busy machine, but not for quadratic
/// work.
const SOON: Duration = Duration::from_secs(110);

fn in_time<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    assert!(began.elapsed() < SOON, "{what} took {:?}", began.elapsed());
    done
}

/// Files that each run the next one twice.
fn doubling(folder: &Folder, files: u32) {
    for n in 0..files {
        let next = n + 1;
        folder.write(
            &format!("f{n}.yaml"),
            format!(
                "id: f{n}\nkind: sequential\nsteps:\n  - {{ ref: f{next}, id: one }}\n  - {{ ref: f{next}, id: two }}\n"
            ),
        );
    }
    folder.write(
        &format!("f{files}.yaml"),
        format!("id: f{files}\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I\nprompt: P\n"),
    );
}

#[test]
fn a_schema_whose_references_multiply_is_refused_at_its_place() {
    let folder = Folder::new();
    let mut defs = String::new();
    for n in 0..40 {
        let next = n + 1;
        defs.push_str(&format!(
            "    d{n}: {{ allOf: [{{ $ref: '#/$defs/d{next}' }}, {{ $ref: '#/$defs/d{next}' }}] }}\n"
        ));
    }
    let agent = |schema: &str| {
        format!(
            "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: w\n  input_schema:\n{schema}\
             spec:\n  initial_state: A\n  states:\n    A:\n      kind: System\n      command: echo hi\n      transitions: []\n"
        )
    };
    let schema = format!(
        "    $ref: '#/$defs/d0'\n    $defs:\n{}      d40: {{ type: string }}\n",
        defs.replace("    d", "      d")
    );
    folder.write("a.yaml", agent(&schema));
    let ran = in_time("the check", || folder.trefoil(&["run", "a.yaml", "-i", "x"]));
    ran.silent(2).says(&["invalid-schema", "references of the schema multiply", "a.yaml:"]);
    folder.write(
        "b.yaml",
        agent("    properties:\n      a: { $ref: '#/$defs/x' }\n    $defs:\n      x: { not: { $ref: '#/$defs/x' } }\n"),
    );
    let ran = in_time("the check", || folder.trefoil(&["run", "b.yaml", "-i", "x"]));
    ran.silent(2).says(&["invalid-schema", "refers to itself"]);
}

#[test]
fn a_pattern_that_can_run_for_ever_is_refused_at_its_place() {
    let folder = Folder::new();
    let agent = |pattern: &str| {
        format!(
            "id: a\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: I\nprompt: P\noutputSchema:\n  type: object\n  \
             required: [x]\n  properties:\n    x:\n      type: string\n      pattern: '{pattern}'\n"
        )
    };
    for pattern in ["^a(?=(a+)+$)", r"^(a+)\1+$"] {
        folder.write("a.yaml", agent(pattern));
        folder.trefoil(&["run", "a.yaml"]).silent(2).says(&["invalid-schema", "can run forever", "a.yaml:12:"]);
    }
    // A pattern on which a backtracking engine never ends.
    folder.write("a.yaml", agent("^(a|aa|a?)+$"));
    let answer = serde_json::json!({"answers": {"a": {"json": {"x": format!("{}!", "a".repeat(200_000))}}}});
    folder.write("s.json", answer.to_string());
    let ran = in_time("the run", || folder.trefoil(&["run", "a.yaml", "--model", "scripted=s.json", "--no-check"]));
    ran.silent(1).says(&["STRUCTURED_OUTPUT_INVALID"]);
}

const AGENT: &str = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\n";

#[test]
fn twenty_thousand_unknown_keys_are_counted_in_time() {
    let folder = Folder::new();
    let keys: String = (0..20_000).map(|n| format!("unknown_key_{n}: 1\n")).collect();
    folder.write("a.yaml", format!("{AGENT}instruction: I\nprompt: P\n{keys}"));
    let ran = in_time("the check", || folder.trefoil(&["check", "a.yaml"]));
    assert!(ran.out.contains("19500 more unknown keys") || ran.err.contains("19500 more unknown keys"), "{}", ran.err);
}

#[test]
fn tens_of_thousands_of_comments_are_read_in_time() {
    let folder = Folder::new();
    let comments = "# trefoil: allow unknown-key\n".repeat(80_000);
    folder.write("a.yaml", format!("{AGENT}instruction: I\nprompt: P\n{comments}"));
    let ran = in_time("the check", || folder.trefoil(&["check", "a.yaml"]));
    assert!(format!("{}{}", ran.out, ran.err).contains("more than 2000 such comments"), "{ran:?}");
}

#[test]
fn a_chain_of_hundreds_of_files_is_checked_in_time() {
    let folder = Folder::new();
    for n in 0..400 {
        let next = n + 1;
        folder.write(&format!("c{n}.yaml"), format!("id: c{n}\nkind: sequential\nsteps:\n  - ref: c{next}\n"));
    }
    folder.write("c400.yaml", format!("{}instruction: I\nprompt: P\n", AGENT.replace("id: a", "id: c400")));
    in_time("the check", || folder.trefoil(&["check", "."]));
}

#[test]
fn a_picture_of_too_many_arrows_is_refused() {
    let folder = Folder::new();
    let nodes: String = (0..60).map(|n| format!("  n{n}:\n    agent: a\n    writes: working.w{n}\n")).collect();
    let edges: String = (0..60)
        .flat_map(|to| (0..to).map(move |from| (from, to)))
        .map(|(from, to)| format!("  - from: n{from}\n    to: n{to}\n"))
        .collect();
    folder.write(
        "g.yaml",
        format!(
            "version: \"0.1\"\nagents:\n  a:\n    model: \"openai:m\"\n    system: S\nnodes:\n{nodes}edges:\n{edges}"
        ),
    );
    let ran = in_time("the picture", || folder.trefoil(&["graph", "g.yaml", "--format", "svg"]));
    ran.silent(2).says(&["at most 10000", "mermaid"]);
    in_time("the picture", || folder.trefoil(&["graph", "g.yaml", "--format", "dot"])).exits(0);
}

fn answers(schema: &str) -> String {
    format!("{AGENT}instruction: I\nprompt: P\noutputSchema: {schema}\n")
}

#[test]
fn references_that_multiply_are_refused_in_the_schema_of_an_agent_as_well() {
    let folder = Folder::new();
    let defs: Vec<String> = (1..40)
        .map(|n| format!("d{n}: {{ allOf: [{{ $ref: '#/$defs/d{0}' }}, {{ $ref: '#/$defs/d{0}' }}] }}", n - 1))
        .collect();
    let schema = format!(
        "{{ type: object, properties: {{ a: {{ $ref: '#/$defs/d39' }} }}, $defs: {{ d0: {{ type: string }}, {} }} }}",
        defs.join(", ")
    );
    folder.write("a.yaml", answers(&schema));
    let ran = in_time("the run", || folder.trefoil(&["run", "a.yaml", "--model", "embedded"]));
    ran.silent(2).says(&["invalid-schema", "references of the schema multiply"]);
}

#[test]
fn lists_of_lists_are_not_made_up_without_end() {
    let folder = Folder::new();
    let lists = (0..6)
        .fold("{ type: string }".to_owned(), |inner, _| format!("{{ type: array, minItems: 200, items: {inner} }}"));
    folder.write("a.yaml", answers(&format!("{{ type: object, properties: {{ a: {lists} }}, required: [a] }}")));
    let ran = in_time("the run", || folder.trefoil(&["run", "a.yaml", "--model", "embedded"]));
    ran.silent(1).says(&["STRUCTURED_OUTPUT_INVALID"]);
}

#[test]
fn patterns_that_fill_the_memory_when_they_are_compiled_are_refused() {
    let folder = Folder::new();
    let patterns: Vec<String> =
        (0..200).map(|n| format!("k{n}: {{ type: string, pattern: '[a-z]{{{}}}' }}", 30_000 + n)).collect();
    folder.write("a.yaml", answers(&format!("{{ type: object, properties: {{ {} }} }}", patterns.join(", "))));
    let ran = in_time("the run", || folder.trefoil(&["run", "a.yaml", "--model", "embedded"]));
    ran.silent(2).says(&["invalid-schema", "need more than 32 MB"]);
}

#[test]
fn files_that_say_what_is_ignored_are_read_up_to_a_limit() {
    let folder = Folder::new();
    let lines: String = (0..3_000).map(|n| format!("/no/such/*{n}*/file\n")).collect();
    for n in 0..20 {
        folder.write(&format!("d{n}/.gitignore"), &lines).write(&format!("d{n}/a{n}.yaml"), format!("id: a{n}\n"));
    }
    let ran = in_time("the check", || folder.trefoil(&["check", "."]));
    assert!(ran.out.contains("the ignore files have more than 5000 patterns"), "{}", ran.out);
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_billion_calls_are_announced_and_never_made() {
        let folder = Folder::new();
        doubling(&folder, 30);
        let ran = folder.trefoil(&["run", ".#f0", "--model", "embedded"]);
        ran.silent(1).says(&[
            "this run may make 1073741824 model calls",
            "BUDGET_EXCEEDED",
            "10000 of 10000",
            "10000 answered",
            "--max-calls",
        ]);
        let ran = folder.trefoil(&["run", ".#f0", "--model", "embedded", "--max-calls", "50"]);
        ran.silent(2).says(&["1073741824 model calls", "only 50"]);
        // The check reports it, too, and the project's own file cannot prevent that.
        folder.write("trefoil.toml", "[check]\nmax-calls = 2000000000\n");
        let ran = folder.trefoil(&["check", "f0.yaml"]);
        ran.exits(0);
        for text in ["`f0` may need 1073741824 model calls", "limit is 1000", "can lower the limit of 1000"] {
            assert!(ran.out.contains(text), "{}", ran.out);
        }
    }

    #[test]
    fn thousands_of_unknown_names_beside_thousands_of_known_ones_are_checked_in_time() {
        let folder = Folder::new();
        let declared: String = (0..1500).map(|n| format!("  declared_{n}: string\n")).collect();
        let used: String = (0..1500).map(|n| format!("  {{{{undefined{n}}}}}\n")).collect();
        folder.write("a.yaml", format!("{AGENT}inputSchema:\n{declared}instruction: |\n{used}"));
        in_time("the check", || folder.trefoil(&["check", "a.yaml"])).exits(1);
    }
}
