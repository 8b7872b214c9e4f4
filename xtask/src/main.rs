//! Repository chores: `cargo xtask tidy | vectors DIR | corpus DIR | mutate [DIR] [--verbose] | performance | prices DATE |
//! rules | names | browser [--required] [--traces DIR]`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to a person")]

mod browser;
mod circles;
mod corpus;
mod functions;
mod mutate;
mod named;
mod performance;
mod prices;
mod source_names;
mod tidy;
mod vectors;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A task's result: the number of problems, or why it failed.
type Outcome = Result<usize, String>;

const USAGE: &str = "usage: cargo xtask tidy | vectors DIR | corpus DIR | mutate [DIR] [--verbose] | performance | prices DATE | rules | names | browser";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["tidy"] => tidy::run(&root()),
        ["vectors", dir] => trefoil().and_then(|bin| vectors::run(&bin, Path::new(dir))),
        ["corpus", dir] => trefoil().and_then(|bin| corpus::run(&bin, Path::new(dir))),
        ["mutate", rest @ ..] => mutate::run_all(&root(), rest),
        ["performance"] => performance::run(&root()),
        ["prices", date] => prices::run(&root(), date),
        ["names"] => source_names::print_table(&root()),
        ["rules"] => rules(&root()),
        ["browser", rest @ ..] => browser::run(&root(), rest),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(n) => {
            eprintln!("{n} problems");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// Regenerates the pages about rules and error codes.
fn rules(root: &Path) -> Outcome {
    for (name, text) in [
        ("docs/rules.md", trefoil_check::catalogue::render_markdown()),
        ("docs/errors.md", trefoil_project::codes::render_markdown()),
    ] {
        let path = root.join(name);
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(0)
}

/// The workspace root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// The binary that `TREFOIL_BIN` names; otherwise builds it. Returns its path.
fn trefoil() -> Result<PathBuf, String> {
    if let Some(built) = std::env::var_os("TREFOIL_BIN") {
        return Ok(built.into());
    }
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "trefoil-cli", "--message-format=json"])
        .current_dir(root())
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo build: {e}"))?;
    if !output.status.success() {
        return Err("cargo build failed".to_owned());
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .next_back()
        .ok_or_else(|| "cargo build made no executable".to_owned())
}

/// A command without any provider's key, so that a task never has a cost.
fn offline(bin: &Path) -> Command {
    let mut command = Command::new(bin);
    for (name, _) in std::env::vars() {
        if ["_API_KEY", "_BASE_URL", "_API_URL"].iter().any(|end| name.ends_with(end)) {
            command.env_remove(name);
        }
    }
    // The user's own store is not changed.
    command.env("TREFOIL_EPHEMERAL", "1");
    command
}
