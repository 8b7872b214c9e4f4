//! Finds the runs of a list, newest first: see the search of the SQLite store. Which index is used follows from the conditions, and not
//! from what the server knows of the values, so that a list takes no time to learn.

use tokio_postgres::types::ToSql;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::{int, text};
use crate::list::{RARE, RECENT, RunCursor, RunFilter, SORTED, StatusRange};
use crate::record::Status;

/// A parameter of a query.
type FilterParameter = Box<dyn ToSql + Sync + Send>;

/// A query that is put together.
#[derive(Default)]
pub struct QueryText {
    /// Its text.
    pub sql: String,
    /// Its parameters.
    pub values: Vec<FilterParameter>,
}

impl QueryText {
    /// Adds text, in which each `#` is the place of a parameter.
    pub fn add_text(&mut self, sql: &str, values: Vec<FilterParameter>) {
        let mut parts = sql.split('#');
        self.sql.push_str(parts.next().unwrap_or_default());
        for (rest, value) in parts.zip(values) {
            self.values.push(value);
            self.sql.push_str(&format!("${}{rest}", self.values.len()));
        }
    }

    /// Runs it, planned for its values.
    pub async fn query_all(self, s: &mut PostgresSession) -> PostgresResult<Vec<tokio_postgres::Row>> {
        let values: Vec<&(dyn ToSql + Sync)> =
            self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        s.begin_to_search().await?;
        let rows = s.query_generated(&self.sql, &values).await?;
        s.commit_transaction().await?;
        Ok(rows)
    }
}

/// A text as a parameter.
pub fn text_value(value: &str) -> FilterParameter {
    Box::new(text(value).into_owned())
}

/// The numbers of the first runs that match, newest first.
pub async fn find_runs(
    s: &mut PostgresSession,
    filter: &RunFilter,
    after: Option<RunCursor>,
    limit: usize,
) -> PostgresResult<Vec<i64>> {
    let search = RunSelection { filter, after, limit };
    if filter.labels.is_empty() {
        return search.find_with(s, &LabelSearch::Nothing).await;
    }
    let rare = labels_of_few(s, &filter.labels, RARE).await?;
    if !rare.is_empty() {
        return search.find_with(s, &LabelSearch::Sorted(rare)).await;
    }
    let found = search.find_with(s, &LabelSearch::Recent).await?;
    if found.len() == limit {
        return Ok(found);
    }
    let mut first = labels_of_few(s, &filter.labels, SORTED).await?;
    if first.is_empty() {
        first.push(0);
    }
    search.find_with(s, &LabelSearch::Sorted(first)).await
}

/// The labels that fewer runs have than `most`, by their indexes.
async fn labels_of_few(
    s: &mut PostgresSession,
    labels: &[(String, String)],
    most: usize,
) -> PostgresResult<Vec<usize>> {
    let mut few = Vec::new();
    for (at, (key, value)) in labels.iter().enumerate() {
        let count = "SELECT count(*) FROM (SELECT 1 FROM label WHERE key = $1 AND value = $2 LIMIT $3) AS first";
        let row = s.query_row(count, &[&text(key), &text(value), &(most as i64)]).await?;
        if let Some(row) = row
            && row.try_get::<_, i64>(0)? < most as i64
        {
            few.push(at);
        }
    }
    Ok(few)
}

/// How the runs with the labels of a filter are found.
enum LabelSearch {
    /// The filter has none.
    Nothing,
    /// The runs that have the labels of these indexes are sorted.
    Sorted(Vec<usize>),
    /// The newest runs that match otherwise are looked at.
    Recent,
}

/// What is looked for.
struct RunSelection<'f> {
    filter: &'f RunFilter,
    after: Option<RunCursor>,
    limit: usize,
}

const NEWEST: &str = " ORDER BY started DESC, no DESC LIMIT #";
/// Of each run: not as `EXISTS`, of which the server may make a join with all runs that have the label.
const HAS_LABEL: &str = " AND (SELECT true FROM label WHERE run = no AND key = # AND value = #)";

impl RunSelection<'_> {
    async fn find_with(&self, s: &mut PostgresSession, labels: &LabelSearch) -> PostgresResult<Vec<i64>> {
        let mut query = QueryText::default();
        let mut looked_at: Vec<&(String, String)> = Vec::new();
        match labels {
            LabelSearch::Nothing => {}
            LabelSearch::Recent => looked_at.extend(&self.filter.labels),
            LabelSearch::Sorted(first) => {
                // Otherwise the server could look for the label at each run.
                let mut word = "WITH labelled AS MATERIALIZED (SELECT run FROM label WHERE key = # AND value = #";
                for (at, label) in self.filter.labels.iter().enumerate() {
                    if first.contains(&at) {
                        query.add_text(word, vec![text_value(&label.0), text_value(&label.1)]);
                        word = " INTERSECT SELECT run FROM label WHERE key = # AND value = #";
                    } else {
                        looked_at.push(label);
                    }
                }
                query.add_text(") ", Vec::new());
            }
        }
        query.add_text("SELECT no FROM (", Vec::new());
        if let LabelSearch::Recent = labels {
            query.add_text("SELECT no, started FROM (", Vec::new());
            self.add_ranges(&mut query, RECENT, "", &[]);
            query.add_text(&format!(") AS recent{NEWEST}"), vec![Box::new(RECENT as i64)]);
        } else if let LabelSearch::Sorted(_) = labels {
            self.add_ranges(&mut query, self.limit, " JOIN labelled ON labelled.run = no", &looked_at);
            looked_at.clear();
        } else {
            self.add_ranges(&mut query, self.limit, "", &[]);
        }
        query.add_text(") AS found WHERE true", Vec::new());
        for (key, value) in looked_at {
            query.add_text(HAS_LABEL, vec![text_value(key), text_value(value)]);
        }
        query.add_text(NEWEST, vec![Box::new(self.limit as i64)]);
        let rows = query.query_all(s).await?;
        Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
    }

    /// Adds a query for each range of the status, so that each has its order from an index.
    fn add_ranges(&self, query: &mut QueryText, limit: usize, join: &str, labels: &[&(String, String)]) {
        for (at, range) in self.filter.status_ranges().into_iter().enumerate() {
            let word = if at == 0 { "(" } else { " UNION ALL (" };
            query.add_text(&format!("{word}SELECT no, started FROM run{join} WHERE "), Vec::new());
            add_status(query, range);
            add_conditions(query, self.filter, self.after);
            for (key, value) in labels {
                query.add_text(HAS_LABEL, vec![text_value(key), text_value(value)]);
            }
            query.add_text(&format!("{NEWEST})"), vec![Box::new(limit as i64)]);
        }
    }
}

/// Adds the condition for a status.
fn add_status(query: &mut QueryText, range: StatusRange) {
    match range {
        StatusRange::Any => query.add_text("true", Vec::new()),
        StatusRange::Recorded(status) => query.add_text("status = #", vec![text_value(status.name())]),
        StatusRange::Running => query.add_text(
            concat!("status = # AND ", shown_status!(), " = 'running'"),
            vec![text_value(Status::Running.name())],
        ),
        StatusRange::Left => query.add_text(
            concat!("status = # AND ", shown_status!(), " = 'interrupted'"),
            vec![text_value(Status::Running.name())],
        ),
    }
}

/// Adds the conditions of a filter without its status and its labels, each after `AND`.
fn add_conditions(query: &mut QueryText, filter: &RunFilter, after: Option<RunCursor>) {
    let RunFilter { status: _, flow, since, until, text: part, labels: _, parent, base } = filter;
    if let Some(flow) = flow {
        query.add_text(" AND flow = #", vec![text_value(flow)]);
    }
    if let Some(since) = since {
        query.add_text(" AND started >= #", vec![Box::new(int(*since))]);
    }
    if let Some(until) = until {
        query.add_text(" AND started < #", vec![Box::new(int(*until))]);
    }
    if let Some(parent) = parent {
        query.add_text(" AND parent = #", vec![text_value(parent)]);
    }
    if let Some(base) = base {
        let of_run =
            concat!(" AND (SELECT ", basis_run!(), " FROM entry WHERE entry.run = run.no AND entry.seq = 0) = #");
        query.add_text(of_run, vec![text_value(base)]);
    }
    if let Some(part) = part {
        // With byte collation, only ASCII letters are compared without case.
        let part = part.to_ascii_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let like = format!("%{part}%");
        let places =
            ["id", "flow", "error_code", "error"].map(|column| format!("lower({column} COLLATE \"C\") LIKE #"));
        let labels =
            "EXISTS (SELECT 1 FROM label WHERE label.run = run.no AND lower(label.value COLLATE \"C\") LIKE #)";
        let condition = format!(" AND ({} OR {labels})", places.join(" OR "));
        query.add_text(&condition, (0..5).map(|_| text_value(&like)).collect());
    }
    if let Some(RunCursor { started, no }) = after {
        query.add_text(" AND (started, no) < (#, #)", vec![Box::new(int(started)), Box::new(no)]);
    }
}
