//! Errors of the store, each with the command that helps.

use std::sync::OnceLock;

use trefoil::store::StoreError;
use trefoil_host::command::{PrintedCommand, RunOptions};

use crate::output;

/// The option that names the store of this process, once one was asked for.
static NAMED: OnceLock<String> = OnceLock::new();

/// Notes the option that names the store, for the commands in the advice.
pub fn remember_store(option: impl FnOnce() -> String) {
    NAMED.get_or_init(option);
}

/// Reports an error of the store.
pub fn refuse_store(error: &StoreError) -> u8 {
    output::report_not_started(&error.to_string(), store_advice(error).as_deref())
}

/// How to fix it, with the command that helps.
pub fn store_advice(error: &StoreError) -> Option<String> {
    let options = RunOptions::of_store(NAMED.get().cloned().unwrap_or_default());
    let text = |command| options.render_command(command);
    let help = match error {
        StoreError::Full { .. } => format!("free space with `{}`, or use another disk", text(PrintedCommand::Prune)),
        StoreError::Corrupt { .. } | StoreError::Entry { .. } => {
            format!("see what is damaged with `{}`", text(PrintedCommand::CheckStore))
        }
        StoreError::NoRun { .. } => format!("list the runs with `{}`", text(PrintedCommand::List)),
        StoreError::NoContent { run } => {
            let (show, export) = (text(PrintedCommand::Show(run)), text(PrintedCommand::Export(run)));
            format!("see what is left with `{show}` and `{export}`")
        }
        StoreError::Held { run, .. } => {
            format!("wait until it ends, or cancel it with `{}`", text(PrintedCommand::Cancel(run)))
        }
        StoreError::NotHeld { run, .. } => {
            format!("another process is continuing it; see `{}`", text(PrintedCommand::Show(run)))
        }
        other => return other.help_text().map(str::to_owned),
    };
    Some(help)
}

/// Reports an error of an operation that frees space.
pub fn refuse_space(error: &StoreError) -> u8 {
    output::report_not_started(&error.to_string(), help_to_free(error).as_deref())
}

/// The help if freeing space fails. A full store needs some space for that, so freeing space in the store is no help.
fn help_to_free(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Full { path, .. } if path.to_string_lossy().starts_with("postgres") => {
            Some("free space on the disk of its server".to_owned())
        }
        StoreError::Full { .. } => {
            let backup = RunOptions::of_store(NAMED.get().cloned().unwrap_or_default())
                .render_command(PrintedCommand::Backup("FILE"));
            Some(format!(
                "free space on its disk, or copy the store to another disk with `{backup}`, and use the copy with `--store FILE`"
            ))
        }
        error => store_advice(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_free_space_in_a_full_store_is_no_advice_to_whoever_does_so() {
        let full = |path: &str| StoreError::Full { path: path.into(), why: "database or disk is full".to_owned() };
        assert!(store_advice(&full("runs.db")).unwrap().contains("trefoil store prune"));
        let help = help_to_free(&full("runs.db")).unwrap();
        assert!(help.starts_with("free space on its disk") && help.contains("trefoil store backup"), "{help}");
        let help = help_to_free(&full("postgres://me@host/runs")).unwrap();
        assert_eq!(help, "free space on the disk of its server");
        let other = StoreError::ReadOnly { path: "runs.db".into() };
        assert_eq!(help_to_free(&other).as_deref(), other.help_text());
    }
}
