//! `trefoil trust DIR`: allows a project's `trefoil.toml` to choose models, providers, folders and commands.

use std::path::{Path, PathBuf};

use clap::Args;
use trefoil_project::settings::{self, TrustStanding};
use trefoil_syntax::diagnostic::render::clean_line;

use crate::{exit, output};

/// Trust a project's `trefoil.toml` to choose models, providers, folders and commands
#[derive(Args)]
pub struct TrustCommandArgs {
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
pub fn run(args: &TrustCommandArgs) -> u8 {
    let mut trust = settings::Trust::open(trefoil_project::folders::config_folder());
    if args.list {
        let line = |(path, standing): (&Path, TrustStanding)| match standing {
            TrustStanding::Trusted => format!("{}\n", display_path(path)),
            _ => format!("{} (changed or deleted: no longer trusted)\n", display_path(path)),
        };
        let all = trust.list_files();
        if all.is_empty() {
            output::print_note("no projects are trusted");
        }
        return output::write_result(all.into_iter().map(line).collect::<String>());
    }
    if !args.revoke && !args.folder.exists() {
        return output::report_not_started(&format!("`{}` does not exist", display_path(&args.folder)), None);
    }
    let done = if args.revoke {
        trust.remove(&args.folder).map(|(path, was)| match was {
            true => output::print_note(format!("no longer trusted: {}", display_path(&path))),
            false => output::print_note(format!("was not trusted: {}", display_path(&path))),
        })
    } else {
        trust.add_folder(&args.folder).map(|(path, file)| {
            output::print_note(format!("trusted in its current state: {}", display_path(&path)));
            let asked = settings::find_trusted_tables(&file);
            if asked.is_empty() {
                output::print_line("  it has no settings that need trust");
            }
            for asked in asked {
                output::print_line(format!("  `[{}]` may {}", asked.table, asked.does));
                asked.settings.iter().for_each(|setting| output::print_line(format!("    {}", clean_line(setting))));
            }
            output::print_line("  after any change, it must be trusted again");
        })
    };
    match done {
        Ok(()) => exit::OK,
        Err(why) => output::report_not_started(&why.to_string(), None),
    }
}

/// A path for a terminal; its name is untrusted.
fn display_path(path: &Path) -> String {
    clean_line(&path.display().to_string())
}
