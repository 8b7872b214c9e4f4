//! Options that only a run of this machine has. With a server they would do nothing, so they are refused, with what to do.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::args::{SERVER, server_of_environment};
use crate::output;

/// The commands that work with a server, each with the arguments that it has there.
const COMMANDS: &[(&[&str], &[&str])] = &[
    (
        &["run"],
        &[
            "target",
            "inputs",
            "input_json",
            "labels",
            "max_calls",
            "max_cost",
            "detach",
            "events",
            "output",
            "quiet",
            "server",
            "color",
        ],
    ),
    (&["resume"], &["run", "events", "output", "quiet", "server", "color"]),
    (&["trace"], &["trace", "step", "html", "json", "server", "color"]),
    (&["runs", "list"], &["status", "flow", "since", "labels", "text", "limit", "after", "output", "server", "color"]),
    (&["runs", "show"], &["run", "output", "server", "color"]),
    (&["runs", "events"], &["run", "after", "server", "color"]),
    (&["runs", "diff"], &["a", "b", "output", "server", "color"]),
    (&["runs", "answer"], &["run", "step", "value", "result", "server", "color"]),
    (&["runs", "cancel"], &["run", "server", "color"]),
    (
        &["runs", "fork"],
        &[
            "run",
            "from",
            "rerun",
            "inputs",
            "input_json",
            "dry_run",
            "labels",
            "max_calls",
            "max_cost",
            "events",
            "output",
            "quiet",
            "server",
            "color",
        ],
    ),
    (&["runs", "delete"], &["runs", "server", "color"]),
];

/// Whether a command works with a server.
#[cfg(test)]
pub fn is_for_servers(path: &[&str]) -> bool {
    COMMANDS.iter().any(|(known, _)| *known == path)
}

/// Why a server does not take an argument.
fn refusal_reason(id: &str) -> &'static str {
    match id {
        "store" | "durability" | "ephemeral" | "no_content" => "it has a store of its own",
        "answers" => "questions are answered with `trefoil runs answer` when they are asked",
        "trace" => "`trefoil runs events` and `trefoil runs show` have what happened",
        "with" | "inputs" | "input_json" | "from" | "from_scratch" | "dry_run" | "context" | "skills" | "dialect"
        | "allow_path" | "no_check" | "no_config" => "it runs the files that it has",
        "all" => "it continues such runs by itself",
        "max_calls" | "max_cost" | "reserve" => {
            "it does not change the limits of a run; `trefoil runs fork` starts a new one"
        }
        "force" => "it deletes no run that others need",
        _ => "its operator decides what runs may use",
    }
}

/// Refuses the options of a command about a server that only a run of this machine has. `command`: the whole command line. Returns the
/// exit code, after the first one was refused.
pub fn refuse_local_options(command: &Command, matches: &ArgMatches) -> Option<u8> {
    let (mut leaf, mut command, mut path) = (matches, command, Vec::new());
    while let Some((name, inner)) = leaf.subcommand() {
        path.push(name);
        command = command.find_subcommand(name)?;
        leaf = inner;
    }
    let (_, known) = COMMANDS.iter().find(|(known, _)| *known == path.as_slice())?;
    let is_given = |id: &str| leaf.value_source(id) == Some(ValueSource::CommandLine);
    let is_named = is_given("server");
    // A store that is named counts more than the variable.
    if !is_named && (is_given("store") || server_of_environment().is_none()) {
        return None;
    }
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_local = !known.contains(&id) && matches!(leaf.try_contains_id(id), Ok(true)) && is_given(id);
        if !is_local {
            continue;
        }
        let name = match argument.get_long() {
            Some(long) => format!("--{long}"),
            None => id.to_uppercase(),
        };
        let here = if is_named { "remove `--server`".to_owned() } else { format!("unset `{SERVER}`") };
        let help = format!("remove `{name}`; or {here} to work with a store of this machine");
        let why = format!("`{name}` cannot be used with a server: {}", refusal_reason(id));
        return Some(output::report_not_started(&why, Some(&help)));
    }
    None
}

/// Refuses a command that a server does not have.
pub fn refuse_command(command: &str, why: &str) -> u8 {
    let name = format!("trefoil {command}");
    let message = format!("`{name}` does not work with a server: {why}");
    let help = format!("run it where the store of the server is, with `--store` and without `--server` and `{SERVER}`");
    output::report_not_started(&message, Some(&help))
}
