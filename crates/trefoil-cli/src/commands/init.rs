//! `trefoil init`: a first workflow, copied from the examples.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::{exit, output};

/// Start with a small workflow that runs, one choice per dialect
#[derive(Args)]
pub struct Init {
    /// In which dialect; asked for on a terminal
    #[arg(value_parser = PossibleValuesParser::new(CHOICES.iter().map(|c| c.dialect)))]
    dialect: Option<String>,
    /// Into which folder
    #[arg(default_value = ".")]
    folder: PathBuf,
}

/// What a dialect's choice consists of.
struct Choice {
    dialect: &'static str,
    /// What it shows.
    about: &'static str,
    /// Name and content.
    files: &'static [(&'static str, &'static str)],
    /// What to run: behind the folder, and the arguments.
    target: &'static str,
    arguments: &'static str,
}

macro_rules! example {
    ($dialect:literal, $name:literal) => {
        ($name, include_str!(concat!("../../../../examples/", $dialect, "/", $name)))
    };
}

/// The choices. A new dialect is one entry here.
const CHOICES: &[Choice] = &[
    Choice {
        dialect: "agntz",
        about: "a writer and a reviewer take turns until the reviewer approves",
        files: &[
            example!("agntz", "write-review-loop.yaml"),
            example!("agntz", "writer.yaml"),
            example!("agntz", "reviewer.yaml"),
        ],
        target: "#write-review-loop",
        arguments: "--input topic=tea",
    },
    Choice {
        dialect: "aegis",
        about: "one agent writes a draft, another suggests improvements",
        files: &[
            example!("aegis", "draft-review.yaml"),
            example!("aegis", "agents/draft-writer.yaml"),
            example!("aegis", "agents/draft-reviewer.yaml"),
        ],
        target: "#draft-review",
        arguments: "--input tea",
    },
    Choice {
        dialect: "sirenspec",
        about: "one agent names the intent of a message, another answers it",
        files: &[example!("sirenspec", "classify-reply.yaml")],
        target: "/classify-reply.yaml",
        arguments: "--input hello",
    },
];

/// Exit code 0; 2 if a file is there already or cannot be written.
pub fn run(args: &Init) -> u8 {
    let Some(choice) = args.dialect.clone().or_else(ask).and_then(|d| CHOICES.iter().find(|c| c.dialect == d)) else {
        let names: Vec<_> = CHOICES.iter().map(|c| c.dialect).collect();
        output::refuse("say in which dialect", Some(&format!("`trefoil init {}`", names.join("|"))));
        return exit::NOT_STARTED;
    };
    let folder = &args.folder;
    let taken: Vec<String> = choice
        .files
        .iter()
        .map(|(name, _)| folder.join(name))
        .filter(|p| p.symlink_metadata().is_ok())
        .map(|p| format!("`{}`", p.display()))
        .collect();
    if !taken.is_empty() {
        let message = format!("nothing was written: there already is {}", taken.join(", "));
        output::refuse(&message, Some("name another folder, as in `trefoil init agntz first-flow`"));
        return exit::NOT_STARTED;
    }
    for (name, text) in choice.files {
        if let Err(error) = write(&folder.join(name), text) {
            output::refuse(&format!("`{}` cannot be written: {error}", folder.join(name).display()), None);
            return exit::NOT_STARTED;
        }
        output::say(&format!("wrote {}", folder.join(name).display()));
    }
    output::say(&format!("\n{}: {}. Next:\n", choice.dialect, choice.about));
    output::result(&format!("trefoil run {}{} {}\n", folder.display(), choice.target, choice.arguments))
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    // Never over something that somebody else has put there meanwhile.
    std::fs::File::options().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// Asks the person, if there is one.
fn ask() -> Option<String> {
    if !output::interactive() {
        return None;
    }
    for (index, choice) in CHOICES.iter().enumerate() {
        output::say(&format!("{}  {:<10} {}", index + 1, choice.dialect, choice.about));
    }
    let mut out = anstream::stderr();
    let _ = write!(out, "which? ").and_then(|()| out.flush());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok()?;
    let line = line.trim();
    let numbered = line.parse::<usize>().ok().and_then(|n| CHOICES.get(n.checked_sub(1)?));
    numbered.or_else(|| CHOICES.iter().find(|c| c.dialect == line)).map(|c| c.dialect.to_owned())
}
