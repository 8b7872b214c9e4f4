//! YAML in the folder that is no manifest of ours (decision C10): it is left alone, whatever is wrong in it.

use trefoil::LoadOptions;
use trefoil::syntax::Severity;

use crate::Folder;

const AGENT: &str = "id: helper\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: You help.\n";
const OBJECTS: &str = "apiVersion: v1\nkind: Service\nmetadata: { name: a }\n---\napiVersion: v1\nkind: Secret\n";
const CHART: &str =
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.name }}\n  labels:\n    {{- include \"x\" . }}\n";
const VALUES: &str = "image: {{ image }}\nreplicas: 2\n";
const PLAYBOOK: &str = "- hosts: {{ hosts }}\n  tasks: []\n";
const COMPOSE: &str =
    "services:\n  web:\n    environment: { OPENAI_API_KEY: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ }\n";

/// The findings that are no mere notes.
fn found(paths: &[String]) -> Vec<(String, &'static str)> {
    let report = trefoil::check(paths, &LoadOptions::default().checked());
    let found = report.diagnostics.iter().filter(|d| d.severity > Severity::Info);
    let name = |d: &trefoil::syntax::Diagnostic| {
        let name = d.file.and_then(|f| report.files.get(f)).map(|f| f.name().to_owned()).unwrap_or_default();
        name.rsplit('/').next().unwrap_or_default().to_owned()
    };
    found.map(|d| (name(d), d.rule)).collect()
}

#[test]
fn a_folder_may_hold_other_yaml() {
    let strangers = [
        ("objects.yaml", OBJECTS),
        ("chart.yaml", CHART),
        ("values.yaml", VALUES),
        ("book.yaml", PLAYBOOK),
        ("compose.yaml", COMPOSE),
        ("empty.yaml", ""),
        ("notes.yaml", "# nothing yet\n"),
    ];
    let folder = Folder::with(&[&strangers[..], &[("helper.yaml", AGENT)]].concat());
    let whole = [folder.0.display().to_string()];
    assert_eq!(found(&whole), []);
    let fixed = trefoil::fix(&whole, &LoadOptions::default().checked());
    assert!(fixed.done.is_empty() && fixed.refused.is_empty());
    for (name, text) in strangers {
        assert_eq!(std::fs::read_to_string(folder.0.join(name)).unwrap(), text, "{name} is not ours to change");
        let own = found(&[folder.0.join(name).display().to_string()]);
        assert!(!own.is_empty(), "{name} was named, so it was meant");
    }
}

#[test]
fn what_is_not_found_is_not_looked_for_in_them() {
    let pipeline = "id: main\nkind: sequential\nsteps:\n  - ref: nobody\n    input: { userQuery: x }\n";
    let folder = Folder::with(&[("main.yaml", pipeline), ("chart.yaml", CHART)]);
    assert_eq!(
        found(&[folder.0.join("main.yaml").display().to_string()]),
        [("main.yaml".to_owned(), "unknown-reference")]
    );
}

#[test]
fn a_broken_manifest_is_not_taken_for_one_of_them() {
    // Each could be a manifest as far as it can be read.
    let broken = [
        ("a.yaml", "id: a: b\nkind: llm\n"),
        ("b.yaml", "version: \"0.1\nnodes:\n  a: {}\n"),
        ("c.yaml", "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a\nspec: {}\n"),
    ];
    for (name, text) in broken {
        let folder = Folder::with(&[(name, text)]);
        let found = found(&[folder.0.display().to_string()]);
        assert!(found.iter().any(|(_, rule)| rule.starts_with("yaml-")), "{text}: {found:?}");
    }
}

#[test]
fn names_of_a_file_of_its_own_are_not_looked_for_in_broken_ones() {
    let flow = |from: &str| {
        format!(
            "version: \"0.1\"\nagents: {{ a: {{ system: Help., model: \"openai:gpt-4o-mini\" }} }}\nnodes:\n  n: {{ agent: a, writes: working.n }}\n  m: {{ agent: a, writes: output.m }}\nedges:\n  - {{ from: {from}, to: m }}\n"
        )
    };
    let broken = ("broken.yaml", "version: \"0.1\"\nnodes:\n  a: {agent: x\nedges: []\n");
    let main = flow("START");
    let folder = Folder::with(&[("main.yaml", &main), broken]);
    let path = folder.0.join("main.yaml").display().to_string();
    assert_eq!(found(&[path]), [("main.yaml".to_owned(), "unknown-reference")]);
    // Another workflow may be in any file.
    let call = flow("n").replace("m: { agent: a, writes: output.m }", "m: { type: workflow, ref: other }");
    let folder = Folder::with(&[("main.yaml", &call), broken]);
    let all = found(&[folder.0.join("main.yaml").display().to_string()]);
    assert!(all.iter().any(|(file, rule)| file == "broken.yaml" && rule.starts_with("yaml-")), "{all:?}");
}
