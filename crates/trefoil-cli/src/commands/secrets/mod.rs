//! `trefoil secrets set|list|remove|passphrase`: manages the user's encrypted secrets.

mod hidden_input;

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use clap::{Args, Subcommand};
use trefoil_project::secrets::{SecretVault, VaultError};
use trefoil_runtime::driver::SHORTEST_SECRET;

use crate::terminal_text::TerminalText;
use crate::{exit, output, shown};

/// Maximum number of bytes that are read from stdin.
const LARGEST: u64 = 1 << 20;

/// Keep secrets for tools in an encrypted file; manifests read them as `secrets.NAME`
#[derive(Args)]
pub struct SecretsCommandArgs {
    #[command(subcommand)]
    what: SecretsCommand,
}

#[derive(Subcommand)]
enum SecretsCommand {
    /// Set a secret; prompts for the value, or reads it from stdin
    Set {
        /// Name
        name: String,
    },
    /// List the names and their sources
    List,
    /// Remove a secret
    Remove {
        /// Name
        name: String,
    },
    /// Protect the file with a passphrase instead of a key file; prompts for it, or reads it from stdin or, if that is empty,
    /// from `TREFOIL_SECRETS_PASSPHRASE`
    Passphrase {
        /// Use a key file again
        #[arg(long)]
        remove: bool,
    },
}

/// Exit code 0; 1: unknown secret; 2: the file cannot be read or written.
pub fn run(args: &SecretsCommandArgs) -> u8 {
    match done(&args.what) {
        Ok(code) => code,
        Err(why) => output::report_not_started(&why.to_string(), why.help_text().as_deref()),
    }
}

fn done(what: &SecretsCommand) -> Result<u8, VaultError> {
    let vault = SecretVault::of_user().ok_or(VaultError::NoFolder)?;
    match what {
        SecretsCommand::Passphrase { remove: true } => {
            vault.change_protection(None)?;
            output::print_note(format!("the key of {} is in a file", vault.file_path().display()));
            Ok(exit::OK)
        }
        SecretsCommand::Passphrase { remove: false } => {
            let Some(passphrase) = new_passphrase()? else {
                return Ok(output::report_failure(
                    "the two passphrases are not the same",
                    Some("run the command again"),
                ));
            };
            if passphrase.is_empty() {
                let help = format!("pass it as a line of stdin, or set `{PASSPHRASE}`");
                return Ok(output::report_not_started("there is no passphrase", Some(&help)));
            }
            vault.change_protection(Some(&passphrase))?;
            output::print_note(format!("a passphrase protects {}", vault.file_path().display()));
            Ok(exit::OK)
        }
        SecretsCommand::Set { name, .. } => {
            let Some(value) = value(name)? else {
                let help = format!("read it from a file: `trefoil secrets set {name} < FILE`");
                return Ok(output::report_not_started(
                    "the value has several lines, and nothing was stored",
                    Some(&help),
                ));
            };
            vault.set_secret(name, &value)?;
            output::print_note(format!("kept in {}", vault.file_path().display()));
            if value.chars().count() < SHORTEST_SECRET {
                output::print_warning(format!(
                    "`{name}` has fewer than {SHORTEST_SECRET} characters, so nothing that a run prints or stores hides it"
                ));
            }
            Ok(exit::OK)
        }
        SecretsCommand::List => {
            let names = vault.secret_names()?;
            if names.is_empty() {
                output::print_note("no secrets are set");
            }
            Ok(output::write_result(names.iter().map(|name| shown!("{}\n", name)).collect::<TerminalText>()))
        }
        SecretsCommand::Remove { name } => {
            if vault.remove(name)? {
                output::print_note(format!("removed: {name}"));
                return Ok(exit::OK);
            }
            Ok(output::report_failure(&format!("unknown secret `{name}`"), Some("see `trefoil secrets list`")))
        }
    }
}

/// The environment variable with the passphrase.
const PASSPHRASE: &str = "TREFOIL_SECRETS_PASSPHRASE";

/// Reads a new passphrase: typed twice, as one line of stdin, or from the environment, where later commands find it.
fn new_passphrase() -> Result<Option<String>, VaultError> {
    if !std::io::stdin().is_terminal() {
        let typed = from_stdin()?;
        return Ok(Some(if typed.is_empty() { std::env::var(PASSPHRASE).unwrap_or_default() } else { typed }));
    }
    let first = prompt_hidden("new passphrase")?;
    let again = prompt_hidden("again")?;
    Ok(first.filter(|first| again.as_ref() == Some(first)))
}

/// Prompts for the passphrase when the first secret is read from a protected file. `None` if there is no terminal.
pub fn ask_passphrase(file: &Path) -> Option<String> {
    let present = output::is_terminal() && (std::io::stdin().is_terminal() || hidden_input::has_terminal());
    if !present {
        return None;
    }
    prompt_hidden(&format!("passphrase of `{}`", file.display())).ok()?
}

/// A value is never an argument, because all users of the machine can see the arguments of a process.
fn value(name: &str) -> Result<Option<String>, VaultError> {
    if !std::io::stdin().is_terminal() {
        return Ok(Some(from_stdin()?));
    }
    prompt_hidden(&format!("value of `{name}`"))
}

fn prompt_hidden(what: &str) -> Result<Option<String>, VaultError> {
    hidden_input::read_hidden_line(|| output::print_note(format!("{what} (not shown while you type):")))
        .map_err(stdin_error)
}

/// All of stdin, without the line break at its end.
fn from_stdin() -> Result<String, VaultError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
    read.map_err(stdin_error)?;
    let text = String::from_utf8(bytes).map_err(|_| VaultError::File("stdin".to_owned(), "not UTF-8".to_owned()))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn stdin_error(why: std::io::Error) -> VaultError {
    VaultError::File("stdin".to_owned(), why.to_string())
}
