//! The store, and what is kept in it.

use std::ffi::OsString;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use trefoil::store::{
    LabelFault, Store, StoreDurability, StoreError, StoreLocation, StoreOptions, check_user_labels, parse_label,
};
use trefoil_host::command::store_option;
use trefoil_host::engine::Engine;
use trefoil_project::file_access::path_exists;

use crate::output;
use crate::refusal::{refuse_space, refuse_store, remember_store, store_advice};
use crate::store::block_on;

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
            matches!(command.try_get_matches_from(["trefoil"]), Ok(read) if read.get_flag("no_content"))
        };
        Self { no_content: no_content || of_environment() }
    }

    /// Whether new runs keep their prompts and answers when they have succeeded.
    pub fn keeps_prompts(&self) -> bool {
        !self.no_content
    }

    /// An engine whose new runs keep what they may.
    pub fn configure_engine(&self, engine: Engine) -> Engine {
        if self.no_content { engine.no_content() } else { engine }
    }
}

/// `--label` of a new run
#[derive(Args)]
pub struct LabelArgs {
    /// Label for the run, with which it is found again (repeatable)
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = user_label)]
    labels: Vec<(String, String)>,
}

impl LabelArgs {
    /// The labels.
    #[cfg(feature = "server")]
    pub fn given_labels(&self) -> &[(String, String)] {
        &self.labels
    }

    /// An engine whose new runs have these labels.
    pub fn configure_engine(&self, engine: Engine) -> Result<Engine, u8> {
        match check_user_labels(&self.labels) {
            Ok(()) => Ok(engine.labels(self.labels.clone())),
            Err(fault) => Err(output::report_not_started(&fault.to_string(), Some(fault.help_text()))),
        }
    }

    /// Refuses labels of a run that is not stored: nobody would find it by them.
    pub fn refuse_unless_empty(&self) -> Result<(), u8> {
        if self.labels.is_empty() {
            return Ok(());
        }
        let why = "`--label` cannot be used with `--ephemeral`: a run that is not stored has no labels";
        Err(output::report_not_started(why, Some("remove `--label`, or `--ephemeral` (or unset `TREFOIL_EPHEMERAL`)")))
    }
}

/// Parses a label of a new run.
fn user_label(text: &str) -> Result<(String, String), String> {
    let label = parse_label_arg(text)?;
    match check_user_labels(std::slice::from_ref(&label)) {
        Ok(()) => Ok(label),
        Err(fault) => Err(label_message(&fault)),
    }
}

/// Parses a label of runs that are looked for: those of the engine, too.
pub fn parse_label_arg(text: &str) -> Result<(String, String), String> {
    parse_label(text).map_err(|fault| label_message(&fault))
}

fn label_message(fault: &LabelFault) -> String {
    format!("{fault}; {}", fault.help_text())
}

/// `--durability`
#[derive(Args)]
pub struct DurabilityArg {
    /// What a run can lose if the power fails: `sync`: nothing that was shown or sent; `batch`: the last steps. If only
    /// the process ends, nothing is lost
    #[arg(long, value_name = "LEVEL", default_value = "sync", hide_possible_values = true)]
    durability: DurabilityLevel,
}

#[derive(Clone, Copy, ValueEnum)]
enum DurabilityLevel {
    Sync,
    Batch,
}

impl DurabilityArg {
    /// The options of a process that works on runs: it waits for a server that is being restarted, and says so.
    fn options(&self) -> StoreOptions {
        let durability = match self.durability {
            DurabilityLevel::Sync => StoreDurability::Sync,
            DurabilityLevel::Batch => StoreDurability::Batch,
        };
        StoreOptions { durability, ..StoreOptions::default() }.with_patience(|text| output::print_note(text))
    }
}

impl StoreArgs {
    /// Whether a store is named on the command line.
    #[cfg(feature = "server")]
    pub fn is_named(&self) -> bool {
        self.place.is_some()
    }

    /// The location of the store.
    pub fn store_location(&self) -> Result<StoreLocation, StoreError> {
        remember_store(|| self.store_option());
        match &self.place {
            Some(place) => StoreLocation::parse(place, env),
            None => StoreLocation::of_user(env),
        }
    }

    /// Opens the store for a new run. If that fails, the help suggests a run without a store.
    pub fn open_for_new_run(&self, durability: &DurabilityArg) -> Result<Arc<dyn Store>, u8> {
        self.open(durability.options()).map_err(|error| match store_advice(&error) {
            Some(help) if error.is_of_the_store() => {
                // Joins the alternatives into one list.
                let help = help.replace(", or ", ", ");
                output::report_not_started(
                    &error.to_string(),
                    Some(&format!("{help}, or store nothing with `--ephemeral`")),
                )
            }
            _ => refuse_store(&error),
        })
    }

    /// Opens the store to resume runs. Only what makes runs creates a store.
    pub fn open_to_resume(&self, durability: &DurabilityArg) -> Result<Arc<dyn Store>, u8> {
        self.existing(durability.options())
    }

    /// Opens the store to change something.
    pub fn open_to_change(&self) -> Result<Arc<dyn Store>, u8> {
        self.existing(StoreOptions::default())
    }

    /// Opens the store to free space.
    pub fn open_to_shrink(&self) -> Result<Arc<dyn Store>, u8> {
        self.open_with(StoreOptions::default(), refuse_space)
    }

    fn open(&self, options: StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
        self.store_location()?.open(options)
    }

    fn existing(&self, options: StoreOptions) -> Result<Arc<dyn Store>, u8> {
        self.open_with(options, refuse_store)
    }

    fn open_with(&self, options: StoreOptions, refuse: fn(&StoreError) -> u8) -> Result<Arc<dyn Store>, u8> {
        let opened = self.open(StoreOptions { create: false, ..options });
        let store = opened.map_err(|error| refuse(&error))?;
        block_on(store.reclaim_runs(store.clock().wall_ms()))?.map_err(|error| refuse(&error))?;
        Ok(store)
    }

    /// Opens the store for reading, without write access. If there is no store yet, reports that and returns `None`.
    pub fn open_if_present(&self) -> Result<Option<Arc<dyn Store>>, u8> {
        match self.try_open_to_read() {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing { path }) => {
                let why = if path_exists(&path) { "is empty" } else { "does not exist" };
                output::print_note(format!("no runs yet: `{}` {why}", path.display()));
                Ok(None)
            }
            Err(error) => Err(refuse_store(&error)),
        }
    }

    /// Opens the store to read one run.
    pub fn open_to_read(&self) -> Result<Arc<dyn Store>, u8> {
        self.try_open_to_read().map_err(|error| refuse_store(&error))
    }

    /// Opens the store for reading.
    pub fn try_open_to_read(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.store_location()?.open_to_read(StoreOptions::default())
    }

    /// The option for suggested commands, without a password.
    pub fn store_option(&self) -> String {
        match self.named_location() {
            Some(location) => store_option(&location),
            None => String::new(),
        }
    }

    /// The same for commands that are used in any folder.
    #[cfg(feature = "mcp")]
    pub fn store_option_anywhere(&self) -> String {
        match self.named_location() {
            Some(StoreLocation::File(path)) => {
                let path = std::path::absolute(&path).unwrap_or(path);
                store_option(&StoreLocation::File(path))
            }
            Some(server) => store_option(&server),
            None => String::new(),
        }
    }

    fn named_location(&self) -> Option<StoreLocation> {
        StoreLocation::parse(self.place.as_ref()?, env).ok()
    }
}

fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
