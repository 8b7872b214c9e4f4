//! Manifests in, findings and IR out.

use expect_test::Expect;
use trefoil_front::Project;
use trefoil_front::aegis::AegisFrontEnd;

use crate::support::{self, bless};
pub use crate::support::{Changes, Folder, show};

/// Loads a folder and lowers its first file. Files that are not YAML are attachments.
pub fn load(files: &[(&str, &str)]) -> Folder {
    load_with(files, |_| {})
}

/// The same, with a change to the project before it is lowered.
pub fn load_with(files: &[(&str, &str)], change: impl FnOnce(&mut Project)) -> Folder {
    Folder::load(&AegisFrontEnd, files, 0, change)
}

/// All findings about the first of several files, one on each line.
pub fn findings(files: &[(&str, &str)]) -> String {
    support::findings(&AegisFrontEnd, files)
}

/// Compares all findings about the first of several files.
#[track_caller]
pub fn check(files: &[(&str, &str)], expected: Expect) {
    bless(&findings(files), &expected);
}

/// The same for one manifest.
#[track_caller]
pub fn check_one(manifest: &str, expected: Expect) {
    check(&[("manifest.yaml", manifest)], expected);
}

/// The changes that the findings about one manifest suggest.
pub fn changes(manifest: &str) -> Changes {
    support::changes(&AegisFrontEnd, &[("manifest.yaml", manifest)])
}

/// The text form of a program.
pub fn ir(folder: &Folder) -> String {
    let Some(lowered) = &folder.lowered else {
        panic!("no program:\n{}", show(&folder.project.files, folder.diagnostics.clone(), true))
    };
    trefoil_ir::printer::print_program(&lowered.program, &folder.project.files)
}

/// A state that ends a workflow.
pub const END: &str = "    END: { kind: System, command: echo }\n";

/// An agent with these lines under `spec`, in addition to a task.
pub fn agent(name: &str, more: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: {{ name: {name}, version: '1' }}\nspec:\n  runtime: {{ model: smart }}\n  task: {{ instruction: Work. }}\n{more}"
    )
}

/// A workflow with these states, from `A` on.
pub fn workflow(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: w, version: '1' }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

/// Compares the findings about an agent with these lines.
#[track_caller]
pub fn of_agent(more: &str, expected: Expect) {
    check_one(&agent("a", more), expected);
}

/// Compares the findings about a workflow with these states and an end.
#[track_caller]
pub fn of_workflow(states: &str, expected: Expect) {
    check_one(&workflow(&format!("{states}{END}")), expected);
}

/// A workflow whose only input is a `goal`, with these states from `A` on.
pub fn workflow_with_goal(states: &str) -> String {
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata:\n  name: w\n  input_schema: {{ type: object, required: [goal], properties: {{ goal: {{ type: string }} }} }}\nspec:\n  initial_state: A\n  states:\n{states}"
    )
}

/// Compares the findings about such a workflow, with an end.
#[track_caller]
pub fn with_goal(states: &str, expected: Expect) {
    check_one(&workflow_with_goal(&format!("{states}{END}")), expected);
}

/// All suggested changes, safe or not.
pub fn offered(manifest: &str) -> Vec<String> {
    let all = changes(manifest);
    [all.sure, all.perhaps].concat()
}
