//! Finds the runs of a list, newest first.
//!
//! The indexes of runs that end with their start have the newest ones of any flow, of any status and of both at once, without a look
//! at the rows. Several statuses are merged from one index. Labels have an index of their own, in which runs have no order by time. So the
//! runs with a rare label are sorted, and the runs with any other one are first looked for among the newest.

use rusqlite::types::Value as Parameter;
use rusqlite::{Connection, params, params_from_iter};

use super::fault::SqliteResult;
use super::int;
use super::owner_locks::GoneOwners;
use crate::list::{RARE, RECENT, RunCursor, RunFilter, SORTED, StatusRange};
use crate::record::Status;

/// The numbers of the first runs that match, newest first.
pub fn find_runs(
    c: &Connection,
    departed: &GoneOwners,
    filter: &RunFilter,
    after: Option<RunCursor>,
    limit: usize,
) -> SqliteResult<Vec<i64>> {
    let search = RunQuery { c, departed, filter, after, limit };
    if filter.labels.is_empty() {
        return search.find_with(LabelOrder::Nothing);
    }
    if let Some(rarest) = find_rarest(c, &filter.labels, RARE)? {
        return search.find_with(LabelOrder::Sorted(rarest));
    }
    if let Some(found) = search.find_recent()? {
        return Ok(found);
    }
    match find_rarest(c, &filter.labels, SORTED)? {
        Some(rarest) => search.find_with(LabelOrder::Sorted(rarest)),
        None => search.find_with(LabelOrder::All),
    }
}

/// The label that the fewest runs have, if they are fewer than `most`.
fn find_rarest(c: &Connection, labels: &[(String, String)], most: usize) -> SqliteResult<Option<usize>> {
    let mut rarest = (most, None);
    for (at, label) in labels.iter().enumerate() {
        let runs = count_labelled(c, label, rarest.0)?;
        if runs < rarest.0 {
            rarest = (runs, Some(at));
        }
    }
    Ok(rarest.1)
}

/// How many runs have a label, up to a number.
pub fn count_labelled(c: &Connection, (key, value): &(String, String), most: usize) -> SqliteResult<usize> {
    let count = "SELECT count(*) FROM (SELECT 1 FROM label WHERE key = ?1 AND value = ?2 LIMIT ?3)";
    let found: i64 = c.prepare_cached(count)?.query_row(params![key, value, int(most as u64)], |row| row.get(0))?;
    Ok(usize::try_from(found).unwrap_or(most))
}

/// How the runs with the labels of a filter are found.
#[derive(Clone, Copy)]
enum LabelOrder {
    /// The filter has none.
    Nothing,
    /// Those with the label of this index are sorted.
    Sorted(usize),
    /// The newest runs that match otherwise are looked at.
    Recent,
    /// All runs that match otherwise are compared with all that have the labels.
    All,
}

/// What is looked for.
struct RunQuery<'s> {
    c: &'s Connection,
    departed: &'s GoneOwners,
    filter: &'s RunFilter,
    after: Option<RunCursor>,
    limit: usize,
}

impl RunQuery<'_> {
    fn find_with(&self, labels: LabelOrder) -> SqliteResult<Vec<i64>> {
        let (mut sql, mut values) = self.query_text(labels);
        sql.push_str(" LIMIT ?");
        values.push(Parameter::Integer(int(self.limit as u64)));
        let mut select = self.c.prepare_cached(&sql)?;
        let found = select.query_map(params_from_iter(values), |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Looks at the newest runs that match otherwise, until a page is full. `None`: it is not, and there are more runs.
    fn find_recent(&self) -> SqliteResult<Option<Vec<i64>>> {
        let (sql, values) = self.query_text(LabelOrder::Recent);
        let mut select = self.c.prepare_cached(&sql)?;
        let mut rows = select.query(params_from_iter(values))?;
        let mut has_label = self.c.prepare_cached("SELECT 1 FROM label WHERE run = ?1 AND key = ?2 AND value = ?3")?;
        let mut found = Vec::new();
        for _ in 0..RECENT {
            let Some(row) = rows.next()? else { return Ok(Some(found)) };
            let no: i64 = row.get(0)?;
            let mut has_all = true;
            for (key, value) in &self.filter.labels {
                has_all = has_all && has_label.exists(params![no, key, value])?;
            }
            if has_all {
                found.push(no);
            }
            if found.len() == self.limit {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The query for runs in their order, one part for each range of the status, and its parameters.
    fn query_text(&self, labels: LabelOrder) -> (String, Vec<Parameter>) {
        let (mut parts, mut parameters) = (Vec::new(), Vec::new());
        for range in self.filter.status_ranges() {
            let mut part = String::from("SELECT no, started FROM run WHERE ");
            if let LabelOrder::Sorted(_) = labels {
                // The label decides which runs are looked at.
                part = "SELECT no, started FROM label CROSS JOIN run ON run.no = label.run WHERE ".to_owned();
            }
            for (at, (key, value)) in self.filter.labels.iter().enumerate() {
                part.push_str(match labels {
                    LabelOrder::Sorted(first) if at == first => "label.key = ? AND label.value = ? AND ",
                    LabelOrder::Sorted(_) => {
                        "EXISTS (SELECT 1 FROM label AS other WHERE other.run = run.no AND other.key = ? AND other.value = ?) AND "
                    }
                    // The sign keeps the runs with the label from being looked at first.
                    LabelOrder::All => "+run.no IN (SELECT run FROM label WHERE key = ? AND value = ?) AND ",
                    LabelOrder::Nothing | LabelOrder::Recent => continue,
                });
                parameters.extend([Parameter::Text(key.clone()), Parameter::Text(value.clone())]);
            }
            let (condition, values) = status_condition(range, self.departed);
            part.push_str(&condition);
            parameters.extend(values);
            let (condition, values) = conditions(self.filter, self.after);
            part.push_str(&condition);
            parameters.extend(values);
            parts.push(part);
        }
        (format!("{} ORDER BY started DESC, no DESC", parts.join(" UNION ALL ")), parameters)
    }
}

/// The condition for a status, and its parameters.
fn status_condition(range: StatusRange, departed: &GoneOwners) -> (String, Vec<Parameter>) {
    let (condition, values) = match range {
        StatusRange::Any => ("1", Vec::new()),
        StatusRange::Recorded(status) => ("status = ?", vec![Parameter::Text(status.name().to_owned())]),
        StatusRange::Running => (
            "status = ? AND coalesce(owner, '') NOT IN (SELECT value FROM json_each(?))",
            vec![Parameter::Text(Status::Running.name().to_owned()), Parameter::Text(departed.to_json())],
        ),
        StatusRange::Left => (
            "status = ? AND owner IN (SELECT value FROM json_each(?))",
            vec![Parameter::Text(Status::Running.name().to_owned()), Parameter::Text(departed.to_json())],
        ),
    };
    (condition.to_owned(), values)
}

/// The conditions of a filter without its status and its labels, each after `AND`, and their parameters.
fn conditions(filter: &RunFilter, after: Option<RunCursor>) -> (String, Vec<Parameter>) {
    let RunFilter { status: _, flow, since, until, text, labels: _, parent, base } = filter;
    let (mut all, mut parameters) = (String::new(), Vec::new());
    let mut add = |condition: &str, values: Vec<Parameter>| {
        all.push_str(&format!(" AND {condition}"));
        parameters.extend(values);
    };
    if let Some(flow) = flow {
        add("flow = ?", vec![Parameter::Text(flow.clone())]);
    }
    if let Some(since) = since {
        add("started >= ?", vec![Parameter::Integer(int(*since))]);
    }
    if let Some(until) = until {
        add("started < ?", vec![Parameter::Integer(int(*until))]);
    }
    if let Some(parent) = parent {
        add("parent = ?", vec![Parameter::Text(parent.clone())]);
    }
    if let Some(base) = base {
        let of_run = concat!("(SELECT ", base!(), " FROM entry WHERE entry.id = run.no << 32) = ?");
        add(of_run, vec![Parameter::Text(base.clone())]);
    }
    if let Some(text) = text {
        let like = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let places = ["id", "flow", "error_code", "error"].map(|column| format!("{column} LIKE ? ESCAPE '\\'"));
        let labels = "EXISTS (SELECT 1 FROM label AS any_label WHERE any_label.run = run.no AND any_label.value LIKE ? ESCAPE '\\')";
        add(&format!("({} OR {labels})", places.join(" OR ")), vec![Parameter::Text(like); 5]);
    }
    if let Some(RunCursor { started, no }) = after {
        add("(started, no) < (?, ?)", vec![Parameter::Integer(int(started)), Parameter::Integer(no)]);
    }
    (all, parameters)
}
