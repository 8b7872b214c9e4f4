//! `trefoil runs list`

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::{Value as Json, json};
use trefoil::store::{Record, RunCursor, RunFilter, RunPage, Status};
use trefoil_host::durable::with_called_usage;
use trefoil_host::stored_runs::parse_moment;
use trefoil_machine::event::{AwaitedActivity, QuestionClosure};
use trefoil_runtime::RunError;
use trefoil_view::trace::OpenWait;

use super::run_history;
use super::{print_json, print_lines, record};
#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::{OutputFormat, StoreArgs, parse_label_arg};
use crate::columns::format_columns;
use crate::refusal::refuse_store;
use crate::store::await_store;
use crate::terminal_text::escape_line;
use crate::words::{count_of, format_cost};
use crate::{exit, output};

/// List runs, newest first
#[derive(Args)]
pub struct RunsListArgs {
    /// Only runs with this status: pending, running, interrupted, waiting, completed, failed (or error), cancelled (repeatable)
    #[arg(long, value_name = "STATUS")]
    pub status: Vec<Status>,
    /// Only runs of this flow
    #[arg(long, value_name = "NAME")]
    pub flow: Option<String>,
    /// Only runs started since then: a duration (`30m`, `2h`, `2d`), a date (`2026-11-01`), or a time in RFC 3339
    /// (`2026-11-01T09:05:00Z`); dates are in UTC
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<u64>,
    /// Only runs with this label (repeatable: with all of them)
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label_arg)]
    pub labels: Vec<(String, String)>,
    /// Only runs with this text in their id, flow, error or labels
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value = "50", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,
    /// Continue after the end of an earlier list
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: OutputFormat,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

const SINCE: &str = "write `2d`, `2h`, `2026-11-01` or `2026-11-01T09:05:00Z`";

fn since(text: &str) -> Result<u64, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        let at = SystemTime::now().checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH);
        let since: Duration = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        return Ok(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    }
    // A date means its first moment.
    let date = format!("{text}T00:00:00Z");
    match parse_moment(text).or_else(|| parse_moment(&date)) {
        Some(at) => Ok(at),
        None => Err(SINCE.to_owned()),
    }
}

impl RunsListArgs {
    fn filter(&self) -> RunFilter {
        RunFilter {
            status: self.status.clone(),
            flow: self.flow.clone(),
            since: self.since,
            text: self.text.clone(),
            labels: self.labels.clone(),
            ..RunFilter::default()
        }
    }
}

pub fn run(args: &RunsListArgs) -> Result<u8, u8> {
    let after = match &args.after {
        Some(after) => Some(RunCursor::parse(after).map_err(|error| refuse_store(&error))?),
        None => None,
    };
    let filter = args.filter();
    let store = args.store.open_if_present()?;
    let page = match &store {
        Some(store) => await_store(async {
            let mut page = store.list_runs(&filter, after, usize::from(args.limit)).await?;
            for record in &mut page.runs {
                *record = with_called_usage(&**store, record.clone()).await?;
            }
            Ok(page)
        })?,
        None => RunPage::default(),
    };
    let next = page.next.map(|cursor| cursor.to_string());
    let waits = match &store {
        Some(store) => run_history::open_waits(store, &page.runs)?,
        None => BTreeMap::new(),
    };
    if args.output.is_json() {
        let runs: Vec<_> = page.runs.iter().map(|record| as_json(record, &waits)).collect();
        return Ok(print_json(&[json!({ "runs": runs, "next": next })]));
    }
    match store {
        Some(store) if page.runs.is_empty() => {
            let all = filter == RunFilter::default() && after.is_none();
            let what = if all { "no runs yet" } else { "no runs match" };
            output::print_note(format!("{what} in `{}`", store.display_location()));
            Ok(exit::OK)
        }
        Some(_) => {
            let code = print_lines(&table(&page.runs, &waits));
            if let Some(next) = next {
                output::print_note(format!("for more, add `--after {next}`"));
            }
            Ok(code)
        }
        None => Ok(exit::OK),
    }
}

/// A run, with what it waits for.
fn as_json(record: &Record, waits: &BTreeMap<String, OpenWait>) -> Json {
    let mut json = record::record_json(record);
    if let (Some(members), Some(wait)) = (json.as_object_mut(), waits.get(&record.run)) {
        wait.add_to(members);
    }
    json
}

/// The steps that a run waits for.
fn named(waiting: &[AwaitedActivity]) -> Option<String> {
    let open: Vec<&AwaitedActivity> = waiting.iter().filter(|activity| activity.settled.is_none()).collect();
    let first = open.first().copied().or(waiting.first())?;
    let verb = match (&first.settled, &first.prompt) {
        (Some(QuestionClosure::Answered(_)), _) => return Some("answered".to_owned()),
        (Some(QuestionClosure::Late), _) => return None,
        (None, Some(_)) => "asks",
        (None, None) if first.is_unknown() => "unknown outcome of",
        (None, None) => "stopped at",
    };
    let more = match open.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    Some(format!("{verb} {}{more}", first.step))
}

/// Why a run waits for permission, and the step that it stopped before.
fn denied(why: &RunError) -> String {
    let step = match &why.key {
        Some(key) => key.display_name(),
        None => "",
    };
    let with = |word: &str| if step.is_empty() { String::new() } else { format!(" {word} {step}") };
    match why.code.as_str() {
        "REFUSED" => format!("needs permission{}", with("before")),
        "WOULD_REPEAT" => format!("needs permission{}", with("to repeat")),
        "BUDGET_EXCEEDED" => format!("limit reached{}", with("before")),
        code => format!("{code}{}", with("at")),
    }
}

/// What a run waits for, and until when. `wake_at`: when it can continue without an answer.
pub fn wait_text(wake_at: Option<u64>, wait: &OpenWait) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(named(&wait.waiting));
    if let Some(why) = &wait.stopped {
        parts.push(denied(why));
    }
    if let Some(at) = wait.due_time(wake_at) {
        parts.push(format!("due {}", record::time(at)));
    }
    parts.join(", ")
}

fn table(runs: &[Record], waits: &BTreeMap<String, OpenWait>) -> Vec<String> {
    let none = OpenWait::default();
    let rows = runs.iter().map(|record| {
        let what = match (&record.error, record.items) {
            (Some((code, _)), _) => code.clone(),
            (None, Some(items)) => items.to_string(),
            (None, None) => wait_text(record.wake_at, waits.get(&record.run).unwrap_or(&none)),
        };
        [
            escape_line(&record.run).into_owned(),
            record.status.to_string(),
            record::time(record.started),
            count_of(record.spent.calls, "call"),
            format_cost(&record.spent.usage),
            escape_line(&record.flow).into_owned(),
            escape_line(&what).into_owned(),
        ]
    });
    format_columns(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_a_moment_or_how_long_ago() {
        let day = since("2026-11-01").unwrap();
        assert_eq!(day, 1_793_491_200_000);
        for (text, after) in [
            ("2026-11-01T09:05:00Z", 9 * 3_600 + 300),
            ("2026-11-01 09:05:00", 9 * 3_600 + 300),
            ("2026-11-01T09:05:00.5Z", 9 * 3_600 + 300),
            ("2026-11-01T09:05:00+01:30", 7 * 3_600 + 35 * 60),
            ("2026-11-01T09:05:00-01:00", 10 * 3_600 + 300),
        ] {
            assert_eq!((since(text).unwrap() - day) / 1_000, after, "{text}");
        }
        let then = since("2d").unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        let ago = u64::try_from(now).unwrap() - then;
        assert!((172_800_000..172_860_000).contains(&ago), "{ago}");
        for wrong in ["", "soon", "2026-13-01", "2026-11", "2026-11-01T09:05:00+xx:30", "é+01:00", "9"] {
            assert_eq!(since(wrong), Err(SINCE.to_owned()), "{wrong}");
        }
    }
}
