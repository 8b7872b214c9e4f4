//! Conformance of the lists of runs that a store returns: the newest run comes first, filters select the right runs, and pages stay
//! correct while runs are added.

use trefoil_machine::RunError;

use super::{begin_run, end_run, equal, expect, require_success};
use crate::list::{RunCursor, RunFilter};
use crate::port::{NewRun, Store};
use crate::record::Status;

/// When the first run of this part starts: later than the runs of the other parts of the suite, which are in the same store.
const START: u64 = 1_000_000;

/// Adds ten runs `list-0` to `list-9`, and compares the lists of these filters.
// reason: a table of filters and what they find.
pub async fn check_lists(store: &dyn Store) -> Result<(), String> {
    for n in 0..10 {
        let (run, flow) = (format!("list-{n}"), if n % 2 == 0 { "even" } else { "odd" });
        // Pairs of runs have the same start time.
        let at = START + n / 2;
        match n % 3 {
            0 => end_run(store, &run, flow, at, None).await?,
            1 => end_run(store, &run, flow, at, Some(RunError::new("TOOL_ERROR", "100% of_it broke"))).await?,
            _ => drop(begin_run(store, &run, flow, at).await?),
        }
    }
    require_success(store.set_label("list-4", "who", Some("Ada")).await, "setting a label")?;
    for n in 0..10 {
        let parity = if n % 2 == 0 { "even" } else { "odd" };
        require_success(store.set_label(&format!("list-{n}"), "parity", Some(parity)).await, "setting a label")?;
    }
    let labels = |labels: &[(&str, &str)]| {
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    // The store also has runs of the other parts of the suite.
    let in_this_part = |filter: RunFilter| RunFilter {
        since: Some(filter.since.unwrap_or(START)),
        until: Some(filter.until.unwrap_or(2 * START)),
        ..filter
    };
    let cases: [(&str, RunFilter, &[u64]); 20] = [
        ("everything", RunFilter::default(), &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ("one status", RunFilter { status: vec![Status::Failed], ..RunFilter::default() }, &[7, 4, 1]),
        (
            "two",
            RunFilter { status: vec![Status::Failed, Status::Completed], ..RunFilter::default() },
            &[9, 7, 6, 4, 3, 1, 0],
        ),
        ("a flow", RunFilter { flow: Some("odd".into()), ..RunFilter::default() }, &[9, 7, 5, 3, 1]),
        (
            "flow and status",
            RunFilter { flow: Some("odd".into()), status: vec![Status::Failed], ..RunFilter::default() },
            &[7, 1],
        ),
        ("since", RunFilter { since: Some(START + 3), ..RunFilter::default() }, &[9, 8, 7, 6]),
        ("until", RunFilter { until: Some(START + 1), ..RunFilter::default() }, &[1, 0]),
        ("text of an id", RunFilter { text: Some("LIST-7".into()), ..RunFilter::default() }, &[7]),
        ("text of an error", RunFilter { text: Some("100% OF_IT".into()), ..RunFilter::default() }, &[7, 4, 1]),
        ("text that is no pattern", RunFilter { text: Some("list_".into()), ..RunFilter::default() }, &[]),
        ("text of a label", RunFilter { text: Some("ada".into()), ..RunFilter::default() }, &[4]),
        ("a label", RunFilter { labels: labels(&[("who", "Ada")]), ..RunFilter::default() }, &[4]),
        (
            "a label of many",
            RunFilter { labels: labels(&[("parity", "odd")]), ..RunFilter::default() },
            &[9, 7, 5, 3, 1],
        ),
        ("a label with another value", RunFilter { labels: labels(&[("who", "Bob")]), ..RunFilter::default() }, &[]),
        (
            "two labels",
            RunFilter { labels: labels(&[("parity", "even"), ("who", "Ada")]), ..RunFilter::default() },
            &[4],
        ),
        (
            "two labels that no run has together",
            RunFilter { labels: labels(&[("parity", "odd"), ("who", "Ada")]), ..RunFilter::default() },
            &[],
        ),
        (
            "label and status",
            RunFilter {
                labels: labels(&[("parity", "even")]),
                status: vec![Status::Failed, Status::Completed],
                ..RunFilter::default()
            },
            &[6, 4, 0],
        ),
        (
            "label, flow and since",
            RunFilter {
                labels: labels(&[("parity", "odd")]),
                flow: Some("odd".into()),
                since: Some(START + 2),
                ..RunFilter::default()
            },
            &[9, 7, 5],
        ),
        (
            "all statuses",
            RunFilter { status: Status::ALL.to_vec(), ..RunFilter::default() },
            &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        ),
        (
            "flow, statuses and since",
            RunFilter {
                flow: Some("even".into()),
                status: vec![Status::Failed, Status::Completed],
                since: Some(START + 1),
                ..RunFilter::default()
            },
            &[6, 4],
        ),
    ];
    for (what, filter, expected) in cases {
        let page = require_success(store.list_runs(&in_this_part(filter), None, 100).await, what)?;
        let runs: Vec<String> = page.runs.into_iter().map(|record| record.run).collect();
        equal(&runs, &expected.iter().map(|n| format!("list-{n}")).collect(), &format!("the list of {what}"))?;
        expect(page.next.is_none(), "a page with everything is the last one")?;
    }
    let labelled = RunFilter { labels: labels(&[("parity", "even")]), ..RunFilter::default() };
    check_pages(store, &in_this_part(labelled), &[8, 6, 4, 2, 0], false).await?;
    let ended = RunFilter { status: vec![Status::Failed, Status::Completed], ..RunFilter::default() };
    check_pages(store, &in_this_part(ended), &[9, 7, 6, 4, 3, 1, 0], false).await?;
    check_pages(store, &in_this_part(RunFilter::default()), &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0], true).await?;
    let child = NewRun { run: "child".into(), parent: Some("list-0".into()), now: START, ..NewRun::default() };
    require_success(store.create_run(child).await, "creating a run for another one")?;
    let children = RunFilter { parent: Some("list-0".into()), ..RunFilter::default() };
    let page = require_success(store.list_runs(&children, None, 100).await, "listing children")?;
    equal(&page.runs.iter().map(|record| record.run.as_str()).collect::<Vec<_>>(), &vec!["child"], "the children")
}

/// Reads the list in pages of three. `adds`: after each page, a run is added that matches.
async fn check_pages(store: &dyn Store, filter: &RunFilter, expected: &[u64], adds: bool) -> Result<(), String> {
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = require_success(store.list_runs(filter, after, 3).await, "listing a page")?;
        expect(page.runs.len() <= 3, "a page is not longer than was asked for")?;
        listed.extend(page.runs.into_iter().map(|record| record.run));
        // A new run between two pages does not move the cursor.
        if adds {
            begin_run(store, &format!("new-{}", listed.len()), "new", START + 100).await?;
        }
        let Some(next) = page.next else { break };
        let text = next.to_string();
        after = Some(RunCursor::parse(&text).map_err(|e| format!("a cursor as text: {e}"))?);
    }
    equal(&listed, &expected.iter().map(|n| format!("list-{n}")).collect(), "all pages together")?;
    expect(RunCursor::parse("yesterday").is_err(), "what is not a cursor is refused")
}
