//! The store, and what is kept in it.

use std::ffi::OsString;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use trefoil::store::{Durability, Location, Options, Store, StoreError};
use trefoil_host::command::store_option;
use trefoil_host::engine::Engine;
use trefoil_project::door::is_there;

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
        remember_store(|| self.option());
        match &self.place {
            Some(place) => Location::parse(place, env),
            None => Location::of_user(env),
        }
    }

    /// Opens the store for a new run. If that fails, the help suggests a run without a store.
    pub fn create(&self, durability: &DurabilityArg) -> Result<Arc<dyn Store>, u8> {
        let opened = self.location().and_then(|location| location.open(durability.options()));
        opened.map_err(|error| match store_advice(&error).filter(|_| error.is_of_the_store()) {
            Some(help) => {
                // Joins the alternatives into one list.
                let help = help.replace(", or ", ", ");
                output::not_started(&error.to_string(), Some(&format!("{help}, or store nothing with `--ephemeral`")))
            }
            None => refuse_store(&error),
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
        self.opened(Options::default(), refuse_space)
    }

    fn existing(&self, options: Options) -> Result<Arc<dyn Store>, u8> {
        self.opened(options, refuse_store)
    }

    fn opened(&self, options: Options, refuse: fn(&StoreError) -> u8) -> Result<Arc<dyn Store>, u8> {
        let opened = self.location().and_then(|location| location.open(Options { create: false, ..options }));
        let store = opened.map_err(|error| refuse(&error))?;
        block_on(store.reclaim(store.clock().wall_ms()))?.map_err(|error| refuse(&error))?;
        Ok(store)
    }

    /// Opens the store for reading, without write access. If there is no store yet, reports that and returns `None`.
    pub fn look(&self) -> Result<Option<Arc<dyn Store>>, u8> {
        match self.try_look() {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing { path }) => {
                let why = if is_there(&path) { "is empty" } else { "does not exist" };
                output::note(format!("no runs yet: `{}` {why}", path.display()));
                Ok(None)
            }
            Err(error) => Err(refuse_store(&error)),
        }
    }

    /// Opens the store to read one run.
    pub fn look_into(&self) -> Result<Arc<dyn Store>, u8> {
        self.try_look().map_err(|error| refuse_store(&error))
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
