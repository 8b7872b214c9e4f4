//! `trefoil store`: where runs are kept, how large that is, and looking after it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use trefoil::store::{Health, Retention, Store as _, StoreError};

use crate::store::{StoreArgs, block_on, now, refuse, wait};
use crate::{exit, output};

/// Show where runs are kept, check, copy or shrink it
#[derive(Args)]
pub struct Store {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Subcommand)]
enum What {
    /// Read everything and report what is wrong
    Check,
    /// Copy the store, as it is now, to a new file
    Backup {
        /// The new file
        #[arg(value_name = "FILE")]
        to: PathBuf,
    },
    /// Delete runs that ended long ago, and give their space back
    Prune(Prune),
}

#[derive(Args)]
struct Prune {
    /// How long to keep runs that were completed or cancelled
    #[arg(long, value_name = "TIME", default_value = "30days", value_parser = time)]
    keep: Duration,
    /// How long to keep runs that failed
    #[arg(long, value_name = "TIME", default_value = "90days", value_parser = time)]
    keep_failed: Duration,
    /// Delete the oldest ended runs until no more than this is in use: `500M`, `2G`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
}

fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "write `12h` or `30days`".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => 0,
    };
    let bytes = digits.parse().ok().filter(|_| unit > 0).and_then(|number: u64| number.checked_mul(unit));
    bytes.ok_or_else(|| "write `500M` or `2G`".to_owned())
}

/// Exit code 0: done; 1: something is wrong with the store; 2: it cannot be opened or written.
pub fn run(args: &Store) -> u8 {
    let done = match &args.what {
        None => show(args),
        Some(What::Check) => check(args),
        Some(What::Backup { to }) => backup(args, to),
        Some(What::Prune(prune)) => shrink(args, prune),
    };
    match done {
        Ok(code) | Err(code) => code,
    }
}

fn show(args: &Store) -> Result<u8, u8> {
    let store = match args.store.try_look() {
        Ok(store) => store,
        Err(StoreError::Missing { path }) => return Ok(output::answer(&format!("{}\nno runs yet", path.display()))),
        Err(error) => return Err(refuse(&error)),
    };
    let size = wait(store.size())?;
    let (path, runs) = (store.path().display(), count(size.runs, "run"));
    Ok(output::answer(&format!("{path}\n{runs}, {} on disk, {} in use", shown(size.disk), shown(size.used))))
}

fn check(args: &Store) -> Result<u8, u8> {
    let checked = match args.store.try_look() {
        Ok(store) => block_on(store.check())?,
        Err(StoreError::Missing { .. }) => return args.store.look().map(|_| exit::OK),
        Err(error) => Err(error),
    };
    let health = match checked {
        // So damaged that it cannot even be opened.
        Err(StoreError::Corrupt { why, .. }) => Health { problems: vec![why], ..Health::default() },
        checked => checked.map_err(|error| refuse(&error))?,
    };
    let (runs, entries) = (count(health.runs, "run"), count(health.entries, "entry"));
    if health.problems.is_empty() {
        output::note(&format!("no problems in {runs} with {entries}"));
        return Ok(exit::OK);
    }
    let code = output::answer(&health.problems.join("\n"));
    let problems = count(health.problems.len() as u64, "problem");
    let message = format!("the store has {problems}; {entries} of {runs} can be read");
    let help = "keep a copy of the file, and restore a backup; or save what can be read with `trefoil runs export RUN`, and \
                start another store with `--store PATH`";
    output::refuse(&message, Some(help));
    Ok(code.max(exit::FAILED))
}

fn backup(args: &Store, to: &std::path::Path) -> Result<u8, u8> {
    wait(args.store.look_into()?.backup(to))?;
    output::note(&format!("copied to {}", to.display()));
    Ok(exit::OK)
}

fn shrink(args: &Store, prune: &Prune) -> Result<u8, u8> {
    let before = |keep: Duration| Some(now().saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX)));
    let retention = Retention {
        ended_before: before(prune.keep),
        failed_before: before(prune.keep_failed),
        max_bytes: prune.max_size,
    };
    if args.store.look()?.is_none() {
        return Ok(exit::OK);
    }
    let store = args.store.change()?;
    let pruned = wait(store.prune(&retention))?;
    output::note(&format!("deleted {}, freed {}", count(pruned.runs, "run"), shown(pruned.bytes)));
    Ok(exit::OK)
}

fn count(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {what}s"),
    }
}

/// A size as people read it.
fn shown(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} B"),
    }
}
