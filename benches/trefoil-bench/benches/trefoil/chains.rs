//! Checks of folders whose files refer to each other.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use trefoil_project::load::{LoadOptions, check_paths};

use super::check::Scratch;
use super::single;
use crate::race::{Race, Standing};

/// Generates a file of a dialect that refers to another one, or is the last of its chain.
type Link = fn(usize, bool) -> String;

/// A dialect, its file generator, the maximum number of files that a run may follow, and the generator of file names.
const DIALECTS: [(&str, Link, usize); 3] =
    [("agntz", agntz, 100), ("aegis", aegis, usize::MAX), ("sirenspec", sirenspec, 10)];

pub fn races(out: &mut Vec<Standing>) {
    let place = Scratch::new();
    for (dialect, link, depth) in DIALECTS {
        let folders = [1_000, 2_000].map(|files| (files, chain(&place, dialect, link, depth, files)));
        let mut race =
            Race::new(format!("check {dialect}, a folder of chained files"), "folder", 1).goal("<= 2.2 for twice");
        for (files, folder) in &folders {
            let folder = folder.clone();
            race = race.lane(format!("{files} files"), move || checked(&folder));
        }
        out.push(single(race));
        if depth < 1_000 {
            continue;
        }
        // Most of them are found by their ids, one after the other.
        let mut race =
            Race::new(format!("check {dialect}, a file and all that it leads to"), "file", 1).goal("<= 2.2 for twice");
        for (files, folder) in &folders {
            let first = folder.join("f0.yaml");
            race = race.lane(format!("{files} files"), move || checked(&first));
        }
        out.push(single(race));
    }
}

fn checked(path: &Path) -> usize {
    let report = check_paths(&[path.display().to_string()], &LoadOptions::default().with_checks());
    assert_eq!(report.diagnostics.iter().filter(|d| d.severity == trefoil_syntax::FindingSeverity::Error).count(), 0);
    report.diagnostics.len()
}

fn chain(place: &Scratch, dialect: &str, link: Link, depth: usize, files: usize) -> PathBuf {
    for n in 0..files {
        place.write(&format!("chain-{dialect}-{files}/f{n}.yaml"), &link(n, (n + 1) % depth == 0 || n + 1 == files));
    }
    place.path().join(format!("chain-{dialect}-{files}"))
}

fn agntz(n: usize, last: bool) -> String {
    let mut text = format!("id: f{n}\nname: F{n}\n");
    let _ = match last {
        true => write!(
            text,
            "kind: llm\nmodel: {{ provider: openai, name: gpt-5.4 }}\ninstruction: \"Answer {{{{userQuery}}}}.\"\n"
        ),
        false => write!(
            text,
            "kind: sequential\nsteps:\n  - ref: f{}\n    input: {{ userQuery: \"{{{{userQuery}}}}\" }}\n",
            n + 1
        ),
    };
    text
}

fn aegis(n: usize, last: bool) -> String {
    let state = match last {
        true => "{ kind: System, command: echo done }".to_owned(),
        false => {
            format!("{{ kind: Subworkflow, workflow_id: f{}, mode: blocking, result_key: answer, input: go }}", n + 1)
        }
    };
    format!(
        "apiVersion: 100monkeys.ai/v1\nkind: Workflow\nmetadata: {{ name: f{n}, version: 1.0.0 }}\nspec:\n  \
         initial_state: DO\n  states:\n    DO: {state}\n"
    )
}

fn sirenspec(n: usize, last: bool) -> String {
    let node = if last { "agent: writer".to_owned() } else { format!("type: workflow, ref: ./f{}.yaml", n + 1) };
    format!(
        "version: \"0.1\"\nagents:\n  writer: {{ model: \"openai:gpt-4o-mini\", system: Write. }}\nnodes:\n  \
         first: {{ agent: writer, writes: output.first }}\n  second: {{ {node}, writes: output.text }}\n\
         input: {{ message: x }}\n"
    )
}
