//! `trefoil trust DIR`: allows a project's `trefoil.toml` to choose models, providers, folders and commands.

use std::path::{Path, PathBuf};

use clap::Args;
use trefoil_project::settings::{self, TrustStanding};
use trefoil_syntax::diagnostic::render::clean;

use crate::{exit, output};

/// Trust a project's `trefoil.toml` to choose models, providers, folders and commands
#[derive(Args)]
pub struct Trust {
    /// Folder of the project
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// List trusted projects
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Stop trusting the project
    #[arg(long)]
    revoke: bool,
}

/// Exit code 0; 2: there is nothing to trust, or the decision cannot be stored.
pub fn run(args: &Trust) -> u8 {
    let mut trust = settings::Trust::open(trefoil_project::folders::config_folder());
    if args.list {
        let line = |(path, standing): (&Path, TrustStanding)| match standing {
            TrustStanding::Trusted => format!("{}\n", shown(path)),
            _ => format!("{} (changed or deleted: no longer trusted)\n", shown(path)),
        };
        let all = trust.list();
        if all.is_empty() {
            output::note("no projects are trusted");
        }
        return output::result(all.into_iter().map(line).collect::<String>());
    }
    if !args.revoke && !args.folder.exists() {
        return output::not_started(&format!("`{}` does not exist", shown(&args.folder)), None);
    }
    let done = if args.revoke {
        trust.remove(&args.folder).map(|(path, was)| match was {
            true => output::note(format!("no longer trusted: {}", shown(&path))),
            false => output::note(format!("was not trusted: {}", shown(&path))),
        })
    } else {
        trust.add(&args.folder).map(|(path, file)| {
            output::note(format!("trusted in its current state: {}", shown(&path)));
            let asked = settings::asked(&file);
            if asked.is_empty() {
                output::say("  it has no settings that need trust");
            }
            for asked in asked {
                output::say(format!("  `[{}]` may {}", asked.table, asked.does));
                asked.settings.iter().for_each(|setting| output::say(format!("    {}", clean(setting))));
            }
            output::say("  after any change, it must be trusted again");
        })
    };
    match done {
        Ok(()) => exit::OK,
        Err(why) => output::not_started(&why.to_string(), None),
    }
}

/// A path for a terminal; its name is untrusted.
fn shown(path: &Path) -> String {
    clean(&path.display().to_string())
}
