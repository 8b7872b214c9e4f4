//! What is killed: one program for each way in which a run can be cut off.

use std::path::{Path, PathBuf};

use crate::world::Folder;

/// A program and how it is run.
pub struct Program {
    pub name: &'static str,
    /// Its file in `manifests/`, or the folder in which it is `flow.yaml`.
    at: &'static str,
    pub args: &'static [&'static str],
    /// What a person answers, and to which step.
    pub answer: Option<(&'static str, &'static str)>,
    /// Calls may fail: how many there are depends on where the run was cut off.
    pub fails: bool,
    /// Lines that its commands add to the file `done`, once each.
    pub done: &'static [&'static str],
    /// It is the first run of a store: the file is created, too.
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
    Program { name: "retries", at: "retries.yaml", fails: true, ..PLAIN },
    Program { name: "timers", at: "timers.yaml", ..PLAIN },
    Program { name: "streaming", at: "streaming.yaml", ..PLAIN },
    Program { name: "commands", at: "commands", args: &["--model", "openai:m"], done: &["one", "two"], ..PLAIN },
];

impl Program {
    /// Writes its files.
    pub fn put(&self, folder: &Folder) {
        let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/manifests").join(self.at);
        let files: Vec<PathBuf> = match at.is_dir() {
            true => std::fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path()).collect(),
            false => vec![at],
        };
        for file in files {
            folder.write(file.file_name().unwrap().to_str().unwrap(), std::fs::read(&file).unwrap());
        }
    }

    /// What `trefoil run` is called with.
    pub fn target(&self) -> &'static str {
        if self.at.ends_with(".yaml") { self.at } else { "flow.yaml" }
    }
}
