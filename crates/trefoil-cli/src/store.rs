//! The store of the command line.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::{Args, ValueEnum};
use trefoil::internals::engine::Engine;
use trefoil::internals::settings::Keep;
use trefoil::store::{Durability, Filter, Location, Options, Pruned, Retention, Store, StoreError};

use crate::commands::count;
use crate::run::command::{PrintedCommand, RunOptions, store_option};
use crate::{exit, output};

/// `--store`
#[derive(Args)]
#[group(id = "store_args")]
pub struct StoreArgs {
    /// Store for runs: a file, or `postgres://USER@HOST/DATABASE` (default: `$TREFOIL_STORE`, or `trefoil/runs.db` in the
    /// user's data folder)
    #[arg(id = "store", long = "store", value_name = "PATH|URL", global = true)]
    place: Option<OsString>,
}

/// `--no-content`
#[derive(Args)]
pub struct ContentArg {
    /// Keep only the prompts and answers needed to resume the run, and remove them when it is completed or cancelled; a result
    /// that was not shown stays for a day
    #[arg(long, env = "TREFOIL_NO_CONTENT", value_parser = clap::builder::FalseyValueParser::new())]
    no_content: bool,
}

impl ContentArg {
    /// What is asked for by an option without the variable of the environment, or by that. Of a command that can start a run and
    /// need not: a variable that is set is no reason to refuse the other thing that it does.
    pub fn or_of_environment(no_content: bool) -> Self {
        let of_environment = || {
            let command = Self::augment_args(clap::Command::new("trefoil"));
            command.try_get_matches_from(["trefoil"]).is_ok_and(|read| read.get_flag("no_content"))
        };
        Self { no_content: no_content || of_environment() }
    }

    /// Whether new runs keep their prompts and answers when they have succeeded.
    pub fn keeps_prompts(&self) -> bool {
        !self.no_content
    }

    /// An engine whose new runs keep what they may.
    pub fn apply(&self, engine: Engine) -> Engine {
        if self.no_content { engine.no_content() } else { engine }
    }
}

/// `--durability`
#[derive(Args)]
pub struct DurabilityArg {
    /// What a run can lose if the power fails: `sync`: nothing that was shown or sent; `batch`: the last steps. If only
    /// the process ends, nothing is lost
    #[arg(long, value_name = "LEVEL", default_value = "sync", hide_possible_values = true)]
    durability: Level,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    Sync,
    Batch,
}

impl DurabilityArg {
    /// The options of a process that works on runs: it waits for a server that is being restarted, and says so.
    fn options(&self) -> Options {
        let durability = match self.durability {
            Level::Sync => Durability::Sync,
            Level::Batch => Durability::Batch,
        };
        Options { durability, ..Options::default() }.patiently(|text| output::note(text))
    }
}

impl StoreArgs {
    /// The location of the store.
    pub fn location(&self) -> Result<Location, StoreError> {
        NAMED.get_or_init(|| self.option());
        match &self.place {
            Some(place) => Location::parse(place, env),
            None => Location::of_user(env),
        }
    }

    /// Opens the store for a new run. If that fails, the help suggests a run without a store.
    pub fn create(&self, durability: &DurabilityArg) -> Result<Arc<dyn Store>, u8> {
        let opened = self.location().and_then(|location| location.open(durability.options()));
        opened.map_err(|error| match advice(&error).filter(|_| error.is_of_the_store()) {
            Some(help) => {
                // Joins the alternatives into one list.
                let help = help.replace(", or ", ", ");
                output::refuse(&error.to_string(), Some(&format!("{help}, or store nothing with `--ephemeral`")));
                exit::NOT_STARTED
            }
            None => refuse(&error),
        })
    }

    /// Opens the store to resume runs. Only what makes runs creates a store.
    pub fn resume(&self, durability: &DurabilityArg) -> Result<Arc<dyn Store>, u8> {
        self.existing(durability.options())
    }

    /// Opens the store to change something.
    pub fn change(&self) -> Result<Arc<dyn Store>, u8> {
        self.existing(Options::default())
    }

    /// Opens the store to free space.
    pub fn shrink(&self) -> Result<Arc<dyn Store>, u8> {
        self.opened(Options::default(), refuse_to_free)
    }

    fn existing(&self, options: Options) -> Result<Arc<dyn Store>, u8> {
        self.opened(options, refuse)
    }

    fn opened(&self, options: Options, refuse: fn(&StoreError) -> u8) -> Result<Arc<dyn Store>, u8> {
        let opened = self.location().and_then(|location| location.open(Options { create: false, ..options }));
        let store = opened.map_err(|error| refuse(&error))?;
        block_on(store.reclaim(now(&*store)))?.map_err(|error| refuse(&error))?;
        Ok(store)
    }

    /// Opens the store for reading, without write access. If there is no store yet, reports that and returns `None`.
    pub fn look(&self) -> Result<Option<Arc<dyn Store>>, u8> {
        match self.try_look() {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing { path }) => {
                output::note(format!("no runs yet: `{}` does not exist", path.display()));
                Ok(None)
            }
            Err(error) => Err(refuse(&error)),
        }
    }

    /// Opens the store to read one run.
    pub fn look_into(&self) -> Result<Arc<dyn Store>, u8> {
        self.try_look().map_err(|error| refuse(&error))
    }

    /// Opens the store for reading.
    pub fn try_look(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.location()?.open_to_read(Options::default())
    }

    /// The option for suggested commands, without a password.
    pub fn option(&self) -> String {
        let place = self.place.as_ref().and_then(|place| Location::parse(place, env).ok());
        place.as_ref().map(store_option).unwrap_or_default()
    }

    /// The same for commands that are used in any folder.
    #[cfg(feature = "mcp")]
    pub fn option_anywhere(&self) -> String {
        let place = self.place.as_ref().and_then(|place| Location::parse(place, env).ok());
        let place = place.map(|place| match place {
            Location::File(path) => Location::File(std::path::absolute(&path).unwrap_or(path)),
            server => server,
        });
        place.as_ref().map(store_option).unwrap_or_default()
    }
}

fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The runs that may be deleted now.
pub fn retention(store: &dyn Store, keep: Keep) -> Retention {
    let before = |keep: Duration| now(store).saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
    Retention {
        ended_before: keep.ended.map(before),
        failed_before: keep.failed.map(before),
        max_bytes: keep.max_bytes,
    }
}

/// Deletes runs past their retention period. A failure is only a warning, so that it does not prevent a new run.
pub fn tidy(store: &dyn Store, keep: Keep, quiet: bool) -> Result<(), u8> {
    match block_on(store.prune_some(&retention(store, keep)))? {
        Ok(gone) if gone.runs > 0 && !quiet => {
            let (runs, failed) = (count(gone.runs, "run"), failed(&gone));
            output::note(format!("deleted {runs} past the retention period{failed} (see `[store]` in the settings)"));
        }
        Ok(_) => {}
        Err(error) => output::warning(format!("runs past the retention period were not deleted: {error}")),
    }
    Ok(())
}

/// Says how many of the deleted runs had failed and could have been resumed.
pub fn failed(gone: &Pruned) -> String {
    match gone.failed {
        0 => String::new(),
        1 => "; 1 of them had failed and can no longer be resumed".to_owned(),
        n => format!("; {n} of them had failed and can no longer be resumed"),
    }
}

/// Waits for an operation of a store.
pub fn wait<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, u8> {
    block_on(work)?.map_err(|error| refuse(&error))
}

/// Waits for an operation that frees space in a store.
pub fn wait_to_free<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, u8> {
    block_on(work)?.map_err(|error| refuse_to_free(&error))
}

/// Waits for a future.
pub fn block_on<T>(work: impl Future<Output = T>) -> Result<T, u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| crate::commands::run::cannot_start(&error))?;
    Ok(runtime.block_on(work))
}

/// Milliseconds since 1970-01-01 UTC, by the store's clock.
pub fn now(store: &dyn Store) -> u64 {
    store.clock().wall_ms()
}

/// The word for the run that was started last.
const LAST: &str = "last";

/// The run that was started last, apart from those that tools have started.
async fn last_id(store: &dyn Store) -> Result<Option<String>, StoreError> {
    let mut after = None;
    loop {
        let page = store.list(&Filter::default(), after, 100).await?;
        let found = page.runs.into_iter().find(|record| record.parent.is_none());
        after = page.next;
        if found.is_some() || after.is_none() {
            return Ok(found.map(|record| record.run));
        }
    }
}

/// The only id that starts with this text, or the last run.
pub async fn full_id(store: &dyn Store, start: &str) -> Result<String, StoreError> {
    if start == LAST {
        return last_id(store).await?.ok_or_else(|| StoreError::NoRun { run: start.to_owned() });
    }
    let unknown = match store.record(start).await {
        Ok(record) => return Ok(record.run),
        Err(StoreError::NoRun { run }) if !run.is_empty() => StoreError::NoRun { run },
        Err(error) => return Err(error),
    };
    let filter = Filter { text: Some(start.to_owned()), ..Filter::default() };
    let found = store.list(&filter, None, 100).await?.runs;
    let mut ids: Vec<String> =
        found.into_iter().map(|record| record.run).filter(|run| run.starts_with(start)).collect();
    ids.sort();
    match ids.as_slice() {
        [] => Err(unknown),
        [only] => Ok(only.clone()),
        _ => {
            ids.truncate(5);
            Err(StoreError::Ambiguous { start: start.to_owned(), runs: ids })
        }
    }
}

/// The option that names the store of this process, once one was asked for.
static NAMED: OnceLock<String> = OnceLock::new();

/// Reports an error of the store.
pub fn refuse(error: &StoreError) -> u8 {
    output::refuse(&error.to_string(), advice(error).as_deref());
    exit::NOT_STARTED
}

/// How to fix it, with the command that helps.
pub fn advice(error: &StoreError) -> Option<String> {
    let options = RunOptions::of_store(NAMED.get().cloned().unwrap_or_default());
    let text = |command| options.text(command);
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
        other => return other.help().map(str::to_owned),
    };
    Some(help)
}

/// Reports an error of an operation that frees space.
fn refuse_to_free(error: &StoreError) -> u8 {
    output::refuse(&error.to_string(), help_to_free(error).as_deref());
    exit::NOT_STARTED
}

/// The help if freeing space fails. A full store needs some space for that, so freeing space in the store is no help.
fn help_to_free(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Full { path, .. } if path.to_string_lossy().starts_with("postgres") => {
            Some("free space on the disk of its server".to_owned())
        }
        StoreError::Full { .. } => {
            let backup =
                RunOptions::of_store(NAMED.get().cloned().unwrap_or_default()).text(PrintedCommand::Backup("FILE"));
            Some(format!(
                "free space on its disk, or copy the store to another disk with `{backup}`, and use the copy with `--store FILE`"
            ))
        }
        error => advice(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_free_space_in_a_full_store_is_no_advice_to_whoever_does_so() {
        let full = |path: &str| StoreError::Full { path: path.into(), why: "database or disk is full".to_owned() };
        assert!(advice(&full("runs.db")).unwrap().contains("trefoil store prune"));
        let help = help_to_free(&full("runs.db")).unwrap();
        assert!(help.starts_with("free space on its disk") && help.contains("trefoil store backup"), "{help}");
        let help = help_to_free(&full("postgres://me@host/runs")).unwrap();
        assert_eq!(help, "free space on the disk of its server");
        let other = StoreError::ReadOnly { path: "runs.db".into() };
        assert_eq!(help_to_free(&other).as_deref(), other.help());
    }
}
