//! `plan` checks what `run` checks before it starts, and says what is proved.

use crate::world::Folder;

const AGENT: &str = "model: { provider: openai, name: gpt-4o-mini }\ninstruction: I.\n";

/// A type, a secret and the order of steps, in two formats: the rule, and the file.
fn wrong() -> [(&'static str, String); 3] {
    let inner = "kind: llm, model: { provider: openai, name: m }, instruction: I.";
    let types = format!(
        "id: p\nkind: sequential\nsteps:\n  - agent: {{ id: sum, {inner}, prompt: x, outputSchema: {{ total: number }} }}\n  \
         - agent: {{ id: say, {inner}, inputSchema: {{ n: number }}, prompt: \"{{{{n}}}}\" }}\n    input: {{ n: \"{{{{sum.totals}}}}\" }}\n"
    );
    let secret = "id: q\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: \"Key {{secrets.ARCHIVE_KEY}}\"\nprompt: x\n";
    let order = "version: \"0.1\"\nagents: { a: { model: \"openai:m\", system: \"See {{ late.output }}\" } }\n\
                 nodes: { early: { agent: a, writes: working.e }, late: { agent: a, writes: output.l } }\n\
                 edges: [ { from: early, to: late } ]\ninput: { message: hi }\n";
    [("unknown-property", types), ("secret-in-prompt", secret.to_owned()), ("unordered-read", order.to_owned())]
}

#[test]
fn a_plan_has_the_findings_and_the_exit_code_of_a_run() {
    for (rule, text) in wrong() {
        let folder = Folder::new();
        folder.write("a.yaml", text);
        let findings = |err: &str| err.split("\nerror: ").next().unwrap().trim().to_owned();
        let plan = folder.trefoil(&["plan", "a.yaml"]);
        plan.silent(2).says(&[&format!("error[{rule}]")]);
        let run = folder.trefoil(&["run", "a.yaml", "--model", "embedded"]);
        assert_eq!(findings(&plan.err), findings(&run.silent(2).err), "{rule}");
        let unchecked = folder.trefoil(&["plan", "a.yaml", "--no-check"]);
        unchecked.exits(0).says(&["checks skipped"]);
        assert!(!unchecked.out.contains("\nproved\n"), "{}", unchecked.out);
    }
}

#[test]
fn what_only_this_machine_lacks_is_an_obstacle_and_no_failure() {
    let folder = Folder::new();
    let missing = format!("id: main\nkind: llm\n{AGENT}prompt: x\n");
    folder.write("a.yaml", missing);
    let plan = folder.trefoil(&["plan", "a.yaml", "--format", "json"]);
    let json = plan.exits(0).json();
    let obstacle = &json["obstacles"][0];
    assert!(obstacle["message"].as_str().unwrap().contains("`OPENAI_API_KEY` is not set"), "{json:#}");
    assert!(obstacle["help"].is_string(), "{json:#}");
    let text = folder.trefoil(&["plan", "a.yaml"]);
    assert!(text.exits(0).out.contains("\ndoes not run\n  "), "{}", text.out);
    let embedded = folder.trefoil(&["plan", "a.yaml", "--format", "json", "--model", "embedded"]);
    assert_eq!(embedded.exits(0).json()["obstacles"], serde_json::json!([]));
}

/// A comment that allows a finding proves nothing.
#[test]
fn what_a_comment_allows_is_not_proved() {
    let folder = Folder::new();
    let [_, (rule, text), _] = wrong();
    folder.write("a.yaml", text.replace("\nprompt", &format!("  # trefoil: allow {rule}\nprompt")));
    let plan = folder.trefoil(&["plan", "a.yaml", "--model", "embedded"]);
    let line = plan.exits(0).out.lines().find(|line| line.starts_with("  secrets: ")).unwrap();
    assert!(
        line.contains("not seen: the secret `ARCHIVE_KEY` would be sent to the model (secret-in-prompt)"),
        "{line}"
    );
    assert!(!line.contains("no credential is"), "{line}");
    folder.write("a.yaml", "id: q\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: x\n");
    let sound = folder.trefoil(&["plan", "a.yaml", "--model", "embedded"]);
    assert!(sound.exits(0).out.contains("  secrets: no secret and no environment value is read\n"), "{}", sound.out);
}

/// One line for each kind, in the same order in each format.
#[test]
fn a_plan_ends_with_what_is_proved() {
    let root = crate::world::root();
    for target in ["agntz#support-triage", "aegis/refine-loop.yaml", "sirenspec/resilient.yaml"] {
        let target = root.join("examples").join(target).display().to_string();
        let folder = Folder::new();
        let plan = folder.trefoil(&["plan", &target, "--model", "embedded"]);
        let (_, proved) = plan.exits(0).out.split_once("\nproved\n").unwrap_or_else(|| panic!("{}", plan.out));
        let kinds: Vec<&str> = proved.lines().map(|line| line.trim_start().split(": ").next().unwrap()).collect();
        let all = ["names", "types", "order and ends", "calls and cost", "secrets", "untrusted text", "writes"];
        assert_eq!(kinds, all, "{proved}");
        let json = folder.trefoil(&["plan", &target, "--model", "embedded", "--format", "json"]).json();
        for (kind, proof) in all.iter().zip(json["proofs"].as_array().unwrap()) {
            assert_eq!(proof["kind"], *kind);
            let said = |part: &str| proof[part].as_array().unwrap().len();
            assert!(said("proved") + said("not_seen") > 0, "{proof}");
        }
    }
}
