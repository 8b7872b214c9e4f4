//! The programs that are killed: one for each way in which a run can be cut off.

use std::path::{Path, PathBuf};

use crate::world::Folder;

/// A program and its arguments.
pub struct Program {
    pub name: &'static str,
    /// Its file in `manifests/`, or the folder that contains it as `flow.yaml`.
    at: &'static str,
    pub args: &'static [&'static str],
    /// The step that asks a person, and the answer.
    pub answer: Option<(&'static str, &'static str)>,
    /// Calls may fail, so their number depends on where the run was cut off.
    pub fails: bool,
    /// Lines that its commands append to the file `done`, each once.
    pub done: &'static [&'static str],
    /// It is the first run of a store, so the file is created as well.
    pub first: bool,
}

const PLAIN: Program = Program { name: "", at: "", args: &[], answer: None, fails: false, done: &[], first: false };

pub const PROGRAMS: &[Program] = &[
    Program { name: "sequence", at: "sequence.yaml", args: &["-i", "text=tea"], ..PLAIN },
    Program { name: "new store", at: "sequence.yaml", args: &["-i", "text=tea"], first: true, ..PLAIN },
    Program { name: "parallel", at: "parallel.yaml", args: &["-i", "text=tea"], ..PLAIN },
    Program { name: "loop", at: "loop.yaml", ..PLAIN },
    Program { name: "factory", at: "factory.yaml", ..PLAIN },
    Program { name: "swrm", at: "swrm.yaml", ..PLAIN },
    Program { name: "state machine", at: "state_machine", args: &["-i", "tea", "--model", "openai:m"], ..PLAIN },
    Program { name: "human", at: "human.yaml", answer: Some(("approve", "yes")), ..PLAIN },
    Program { name: "nested", at: "nested", args: &["-i", "tea", "--model", "openai:m"], ..PLAIN },
    Program { name: "tools", at: "tools", args: &["-i", "text=tea"], ..PLAIN },
    Program { name: "called", at: "called", args: &["-i", "text=tea"], answer: Some(("approve", "yes")), ..PLAIN },
    Program { name: "retries", at: "retries.yaml", fails: true, ..PLAIN },
    Program { name: "timers", at: "timers.yaml", ..PLAIN },
    Program { name: "streaming", at: "streaming.yaml", ..PLAIN },
    Program { name: "commands", at: "commands", args: &["--model", "openai:m"], done: &["one", "two"], ..PLAIN },
];

impl Program {
    /// Writes its files; the settings of the user where those are.
    pub fn put(&self, folder: &Folder) {
        let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/manifests").join(self.at);
        let files: Vec<PathBuf> = match at.is_dir() {
            true => std::fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()).collect(),
            false => vec![at],
        };
        for file in files {
            let name = file.file_name().unwrap().to_str().unwrap();
            let place = if name == "config.toml" { "config/config.toml" } else { name };
            folder.write(place, std::fs::read(&file).unwrap());
        }
    }

    /// The target for `trefoil run`.
    pub fn target(&self) -> &'static str {
        if self.at.ends_with(".yaml") { self.at } else { "flow.yaml" }
    }
}
