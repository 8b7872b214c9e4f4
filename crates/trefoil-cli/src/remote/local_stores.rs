//! Commands that work with a store of this machine also where `TREFOIL_SERVER` is set. They say so: the runs and keys of the server are
//! others.

use clap::ArgMatches;
use clap::parser::ValueSource;
use trefoil::store::StoreLocation;

use crate::args::{SERVER, server_of_environment};
use crate::output;

/// These commands. `replay`, `runs export` and `runs release` refuse a server.
const LOCAL: &[&str] = &["keys", "worker", "store", "dev", "mcp", "plan"];

/// Says which store a command uses, if the variable names a server that it does not ask.
pub fn note_local_store(matches: &ArgMatches) {
    let Some((name, mut leaf)) = matches.subcommand() else { return };
    if !LOCAL.contains(&name) || server_of_environment().is_none() {
        return;
    }
    while let Some((_, inner)) = leaf.subcommand() {
        leaf = inner;
    }
    let is_store_named = matches!(leaf.try_contains_id("store"), Ok(true))
        && leaf.value_source("store") == Some(ValueSource::CommandLine);
    let is_quiet = matches!(leaf.try_get_one::<bool>("quiet"), Ok(Some(true)));
    if is_store_named || is_quiet {
        return;
    }
    // One that cannot be found is reported by the command.
    let Ok(location) = StoreLocation::of_user(|name| std::env::var_os(name)) else { return };
    let command = format!("trefoil {name}");
    output::print_note(format!("`{command}` uses the store `{location}`, not the server of `{SERVER}`"));
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::super::local_options::is_for_servers;
    use super::LOCAL;
    use crate::command_line::CliArguments;

    /// Commands that say themselves what they use: `serve` and `doctor` name the store, the others refuse a server.
    const OWN_WORDS: &[&str] = &["serve", "doctor", "replay", "runs export", "runs release"];

    fn each_leaf(command: &Command, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
        let has_store = command.get_arguments().any(|argument| argument.get_id() == "store");
        if has_store && !path.is_empty() {
            found.push(path.clone());
        }
        for inner in command.get_subcommands() {
            path.push(inner.get_name().to_owned());
            each_leaf(inner, path, found);
            path.pop();
        }
    }

    #[test]
    fn every_command_with_a_store_works_with_a_server_or_says_what_it_uses() {
        let mut found = Vec::new();
        each_leaf(&CliArguments::command(), &mut Vec::new(), &mut found);
        assert!(found.len() > 15, "{found:?}");
        for path in found {
            let words: Vec<&str> = path.iter().map(String::as_str).collect();
            let is_known = LOCAL.contains(&words[0]) || OWN_WORDS.contains(&words.join(" ").as_str());
            assert!(is_known || is_for_servers(&words), "{words:?}");
        }
    }
}
