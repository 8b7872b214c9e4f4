//! `trefoil secrets set|list|remove`: the encrypted file of the user.

use std::io::{IsTerminal as _, Read as _};

use clap::{Args, Subcommand};
use trefoil::internals::secrets::{Vault, VaultError};

use crate::{exit, output};

/// Bytes that are read from stdin.
const LARGEST: u64 = 1 << 20;

/// Keep secrets for tools in an encrypted file; manifests read them as `secrets.NAME`
#[derive(Args)]
pub struct Secrets {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Set a secret; its value is asked for, or read from stdin
    Set {
        /// Name
        name: String,
    },
    /// List the names and where they are kept
    List,
    /// Remove a secret
    Remove {
        /// Name
        name: String,
    },
}

/// Exit code 0; 1: there is no such secret; 2: the file cannot be read or written.
pub fn run(args: &Secrets) -> u8 {
    match done(&args.what) {
        Ok(code) => code,
        Err(why) => {
            output::refuse(&why.to_string(), None);
            exit::NOT_STARTED
        }
    }
}

fn done(what: &What) -> Result<u8, VaultError> {
    let vault = Vault::of_user().ok_or(VaultError::NoFolder)?;
    match what {
        What::Set { name, .. } => {
            vault.set(name, &value(name)?)?;
            output::note(&format!("kept in {}", vault.path().display()));
            Ok(exit::OK)
        }
        What::List => {
            let names = vault.names()?;
            if names.is_empty() {
                output::note("no secrets are set");
            }
            Ok(output::result(&names.iter().map(|name| format!("{name}\n")).collect::<String>()))
        }
        What::Remove { name } => {
            if vault.remove(name)? {
                output::note(&format!("removed: {name}"));
                return Ok(exit::OK);
            }
            output::refuse(&format!("there is no secret `{name}`"), Some("see `trefoil secrets list`"));
            Ok(exit::FAILED)
        }
    }
}

/// All of stdin without the line break at its end. It is never an argument: those can be read by everybody on a machine.
fn value(name: &str) -> Result<String, VaultError> {
    let stdin = std::io::stdin();
    let failed = |why: std::io::Error| VaultError::File("stdin".to_owned(), why.to_string());
    if stdin.is_terminal() {
        output::note(&format!("value of `{name}` (not shown while you type):"));
        return console::Term::stderr().read_secure_line().map_err(failed);
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().take(LARGEST).read_to_end(&mut bytes);
    read.map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| VaultError::File("stdin".to_owned(), "not UTF-8".to_owned()))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
