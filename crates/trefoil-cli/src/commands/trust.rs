//! `trefoil trust DIR`: lets a project's `trefoil.toml` choose models, providers, folders and commands.

use std::path::{Path, PathBuf};

use clap::Args;
use trefoil::settings::{self, Standing, TABLES};

use crate::{exit, output};

/// Let a project's `trefoil.toml` choose models, providers, folders and commands
#[derive(Args)]
pub struct Trust {
    /// A folder of the project
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// List the projects that are trusted
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Stop trusting the project
    #[arg(long)]
    revoke: bool,
}

/// Exit code 0; 2: there is nothing to trust, or it cannot be remembered.
pub fn run(args: &Trust) -> u8 {
    let mut trust = settings::Trust::open(settings::config_folder());
    if args.list {
        let line = |(path, standing): (&Path, Standing)| match standing {
            Standing::Trusted => format!("{}\n", path.display()),
            _ => format!("{} (changed or gone: no longer trusted)\n", path.display()),
        };
        return output::result(&trust.list().into_iter().map(line).collect::<String>());
    }
    let done = if args.revoke {
        trust.remove(&args.folder).map(|was| match was {
            true => output::note("no longer trusted"),
            false => output::note("it was not trusted"),
        })
    } else {
        trust.add(&args.folder).map(|path| {
            output::note(&format!("trusted as it is now: {}", path.display()));
            let can: Vec<String> = TABLES.iter().map(|(name, does)| format!("`[{name}]` may {does}")).collect();
            output::say(&format!("  {}\n  a change to the file needs your trust again", can.join("\n  ")));
        })
    };
    match done {
        Ok(()) => exit::OK,
        Err(why) => {
            output::refuse(&why.to_string(), None);
            exit::NOT_STARTED
        }
    }
}
