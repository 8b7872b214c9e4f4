//! Lists: newest first, filters, and cursors that stay correct while runs are added.

use trefoil_machine::RunError;

use super::{begun, done, ended, equal, expect};
use crate::list::{Cursor, Filter};
use crate::port::{NewRun, Store};
use crate::record::Status;

/// Later than the runs of the other parts of the suite.
const AT: u64 = 1_000_000;

pub async fn all(store: &dyn Store) -> Result<(), String> {
    for n in 0..10 {
        let (run, flow) = (format!("list-{n}"), if n % 2 == 0 { "even" } else { "odd" });
        // Pairs of runs have the same start time.
        let at = AT + n / 2;
        match n % 3 {
            0 => ended(store, &run, flow, at, None).await?,
            1 => ended(store, &run, flow, at, Some(RunError::new("TOOL_ERROR", "100% of_it broke"))).await?,
            _ => drop(begun(store, &run, flow, at).await?),
        }
    }
    done(store.label("list-4", "who", Some("Ada")).await, "setting a label")?;
    let mine = |filter: Filter| Filter {
        since: Some(filter.since.unwrap_or(AT)),
        until: Some(filter.until.unwrap_or(2 * AT)),
        ..filter
    };
    let cases: [(&str, Filter, &[u64]); 12] = [
        ("everything", Filter::default(), &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ("one status", Filter { status: vec![Status::Failed], ..Filter::default() }, &[7, 4, 1]),
        (
            "two",
            Filter { status: vec![Status::Failed, Status::Completed], ..Filter::default() },
            &[9, 7, 6, 4, 3, 1, 0],
        ),
        ("a flow", Filter { flow: Some("odd".into()), ..Filter::default() }, &[9, 7, 5, 3, 1]),
        (
            "flow and status",
            Filter { flow: Some("odd".into()), status: vec![Status::Failed], ..Filter::default() },
            &[7, 1],
        ),
        ("since", Filter { since: Some(AT + 3), ..Filter::default() }, &[9, 8, 7, 6]),
        ("until", Filter { until: Some(AT + 1), ..Filter::default() }, &[1, 0]),
        ("text of an id", Filter { text: Some("LIST-7".into()), ..Filter::default() }, &[7]),
        ("text of an error", Filter { text: Some("100% OF_IT".into()), ..Filter::default() }, &[7, 4, 1]),
        ("text that is no pattern", Filter { text: Some("list_".into()), ..Filter::default() }, &[]),
        ("text of a label", Filter { text: Some("ada".into()), ..Filter::default() }, &[4]),
        ("a label", Filter { label: Some(("who".into(), "Ada".into())), ..Filter::default() }, &[4]),
    ];
    for (what, filter, wanted) in cases {
        let page = done(store.list(&mine(filter), None, 100).await, what)?;
        let runs: Vec<String> = page.runs.into_iter().map(|record| record.run).collect();
        equal(&runs, &wanted.iter().map(|n| format!("list-{n}")).collect(), &format!("the list of {what}"))?;
        expect(page.next.is_none(), "a page with everything is the last one")?;
    }
    pages(store, &mine(Filter::default())).await?;
    let child = NewRun { run: "child".into(), parent: Some("list-0".into()), now: AT, ..NewRun::default() };
    done(store.create(child).await, "creating a run for another one")?;
    let children = Filter { parent: Some("list-0".into()), ..Filter::default() };
    let page = done(store.list(&children, None, 100).await, "listing children")?;
    equal(&page.runs.iter().map(|record| record.run.as_str()).collect::<Vec<_>>(), &vec!["child"], "the children")
}

async fn pages(store: &dyn Store, filter: &Filter) -> Result<(), String> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = done(store.list(filter, after, 3).await, "listing a page")?;
        expect(page.runs.len() <= 3, "a page is not longer than was asked for")?;
        seen.extend(page.runs.into_iter().map(|record| record.run));
        // A new run between two pages does not move the cursor.
        begun(store, &format!("new-{}", seen.len()), "new", AT + 100).await?;
        let Some(next) = page.next else { break };
        let text = next.to_string();
        after = Some(Cursor::parse(&text).map_err(|e| format!("a cursor as text: {e}"))?);
    }
    equal(&seen, &(0..10).rev().map(|n| format!("list-{n}")).collect(), "all pages together")?;
    expect(Cursor::parse("yesterday").is_err(), "what is not a cursor is refused")
}
