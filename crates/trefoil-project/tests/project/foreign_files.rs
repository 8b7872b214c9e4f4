//! YAML files in the folder that are not manifests are ignored, whatever mistakes they contain.

use expect_test::expect;
use trefoil_project::load::LoadOptions;
use trefoil_syntax::FindingSeverity;

use crate::Folder;

const AGENT: &str = "id: helper\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: You help.\n";
const OBJECTS: &str = "apiVersion: v1\nkind: Service\nmetadata: { name: a }\n---\napiVersion: v1\nkind: Secret\n";
const CHART: &str =
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.name }}\n  labels:\n    {{- include \"x\" . }}\n";
const VALUES: &str = "image: {{ image }}\nreplicas: 2\n";
const PLAYBOOK: &str = "- hosts: {{ hosts }}\n  tasks: []\n";
const COMPOSE: &str =
    "services:\n  web:\n    environment: { OPENAI_API_KEY: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ }\n";

/// The findings except infos.
fn found(paths: &[String]) -> Vec<(String, &'static str)> {
    let report = trefoil_project::load::check_paths(paths, &LoadOptions::default().with_checks());
    let found = report.diagnostics.iter().filter(|d| d.severity > FindingSeverity::Info);
    let name = |d: &trefoil_syntax::Diagnostic| {
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
    let fixed = trefoil_project::fix::apply_fixes(&whole, &LoadOptions::default().with_checks());
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
    // Each could be a manifest, as far as it can be read.
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

/// Files of other systems, written for this test: valid ones, and ones with templates that make them invalid YAML.
const OTHERS: [(&str, &str); 19] = [
    (
        "conductor.yaml",
        "workflow:\n  name: review\n  entry_point: writer\nagents:\n  - name: writer\n    model: gpt-5\n    prompt: \"Write about {{ workflow.input.topic }}\"\n    routes:\n      - to: $end\n",
    ),
    ("conductor-map.yaml", "version: 1\nagents:\n  writer:\n    model: gpt-5\n    prompt: hello\nedges: []\n"),
    (
        "crew.yaml",
        "agents:\n  researcher:\n    role: Senior researcher\n    goal: Find {topic}\n    backstory: You dig.\ntasks:\n  look:\n    agent: researcher\n",
    ),
    (
        "docker-agent.yaml",
        "version: \"2\"\nagents:\n  root:\n    model: openai/gpt-5-mini\n    description: helps\n    instruction: You help.\n    toolsets:\n      - type: think\nmodels:\n  local: { provider: dmr, model: ai/qwen3 }\n",
    ),
    (
        "docker-agent-alias.yaml",
        "agents:\n  root:\n    model: claude\n    instruction: |\n      You help.\n    sub_agents: [writer]\n",
    ),
    ("compose.yaml", "version: \"3.8\"\nservices:\n  web:\n    image: nginx\n    environment: { OPENAI_API_KEY: x }\n"),
    ("compose-broken.yaml", "version: \"3.8\"\nservices:\n  {{ range }}\n  web: {}\n"),
    (
        "workflow.yml",
        "name: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - id: x\n        run: echo ${{ github.sha }}\n",
    ),
    (
        "action.yml",
        "name: act\ndescription: acts\nruns:\n  using: composite\n  steps:\n    - id: go\n      run: echo hi\n",
    ),
    ("playbook.yaml", "- hosts: all\n  tasks:\n    - name: x\n      debug: { msg: \"{{ y }}\" }\n"),
    (
        "deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec: { template: { spec: {} } }\n",
    ),
    (
        "kagent.yaml",
        "apiVersion: kagent.dev/v1alpha2\nkind: Agent\nmetadata: { name: k8s }\nspec:\n  description: helps\n  declarative: { systemMessage: You help. }\n",
    ),
    (
        "argo.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: { generateName: hello- }\nspec:\n  entrypoint: main\n  templates: []\n",
    ),
    ("openapi.yaml", "openapi: 3.1.0\ninfo: { title: t, version: \"0.1\" }\npaths: {}\ncomponents: {}\n"),
    (
        "kestra.yaml",
        "id: flow\nnamespace: company.team\ntasks:\n  - id: say\n    type: io.kestra.plugin.core.log.Log\n    message: \"{{ inputs.x }}\"\n",
    ),
    ("buildkite.yml", "id: pipeline\nsteps:\n  - label: test\n    command: make\n"),
    (
        "baml.yaml",
        "version: \"0.1\"\ngenerator: { output_type: python }\nclients:\n  - name: gpt\n    provider: openai\n",
    ),
    ("adk.yaml", "name: assistant\nmodel: gemini-2.5-flash\ninstruction: You help.\nsub_agents: []\n"),
    (
        "kind-cluster.yaml",
        "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes:\n  - role: control-plane\n  - role: worker\n",
    ),
];

#[test]
fn files_of_other_systems_are_mentioned_and_left_alone() {
    let folder = Folder::with(&[&OTHERS[..], &[("helper.yaml", AGENT)]].concat());
    let whole = [folder.0.display().to_string()];
    assert_eq!(found(&whole), []);
    let fixed = trefoil_project::fix::apply_fixes(&whole, &LoadOptions::default().with_checks());
    assert!(fixed.done.is_empty() && fixed.changes.is_empty() && fixed.refused.is_empty());
    for (name, text) in OTHERS {
        let path = folder.0.join(name).display().to_string();
        let named = std::slice::from_ref(&path);
        let report = trefoil_project::load::check_paths(named, &LoadOptions::default().with_checks());
        assert!(report.has_errors(), "{name} was named, so it was meant");
        trefoil_project::fix::apply_fixes(named, &LoadOptions::default().with_checks());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{name} is not ours to change");
    }
}

#[test]
fn other_kinds_of_a_known_format_are_mentioned() {
    let config = "apiVersion: 100monkeys.ai/v1\nkind: NodeConfig\nmetadata: { name: n }\nspec: { node: {} }\n";
    let folder = Folder::with(&[("config.yaml", config), ("helper.yaml", AGENT)]);
    let report =
        trefoil_project::load::check_paths(&[folder.0.display().to_string()], &LoadOptions::default().with_checks());
    let said: Vec<_> = report.diagnostics.iter().map(|d| (d.rule, d.severity)).collect();
    assert_eq!(said, [("not-an-agent", FindingSeverity::Info)]);
    expect!["this is an AEGIS configuration file, not an agent or a workflow"]
        .assert_eq(&report.diagnostics[0].message);
    folder.load("");
}

#[test]
fn a_required_key_is_not_put_into_a_file_unasked() {
    let text = "agents: { a: { system: Help., model: \"openai:gpt-4o-mini\" } }\nnodes: { n: { agent: a, writes: output.n } }\n";
    let folder = Folder::with(&[("flow.yaml", text)]);
    let path = folder.0.join("flow.yaml").display().to_string();
    let fixed = trefoil_project::fix::apply_fixes(std::slice::from_ref(&path), &LoadOptions::default().with_checks());
    assert!(fixed.done.is_empty() && fixed.report.has_errors(), "{}", fixed.report.text());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}
