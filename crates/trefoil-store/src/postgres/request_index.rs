//! An index of the model requests of runs, to find answers of earlier runs. As in the SQLite store, a run's requests
//! are indexed at the first lookup after its end.

use trefoil_machine::ContentKey;

use super::connection::PostgresSession;
use super::fault::PostgresResult;
use super::int;

/// Entries read in one transaction; other writers get their turn between transactions.
const ENTRIES: i64 = 20_000;
/// Maximum number of indexing transactions in one call. The rest is indexed in the next call.
const NOTED: usize = 5;
/// The index has half of each content key. Callers compare the full key.
const HALF: usize = 16;

/// Indexes the model requests of runs.
pub async fn index_requests(s: &mut PostgresSession) -> PostgresResult<()> {
    for _ in 0..NOTED {
        if !note_some(s).await? {
            break;
        }
    }
    // The newest runs in progress (or interrupted) are indexed at every call.
    let open = "SELECT no FROM run WHERE ended IS NULL AND content = 0 ORDER BY no DESC LIMIT 16";
    let open = s.query_rows(open, &[]).await?;
    let open: Vec<i64> = open.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    note_runs(s, &open).await
}

/// Indexes the requests of runs that have ended, newest first. Returns whether there are more.
async fn note_some(s: &mut PostgresSession) -> PostgresResult<bool> {
    s.begin_transaction().await?;
    let select = "SELECT no, next, content FROM run WHERE NOT noted AND ended IS NOT NULL ORDER BY no DESC LIMIT 1000 \
                  FOR UPDATE SKIP LOCKED";
    let (mut left, mut all, mut kept) = (ENTRIES, Vec::new(), Vec::new());
    let found = s.query_rows(select, &[]).await?;
    for row in &found {
        if left <= 0 {
            break;
        }
        let (no, entries, content): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        all.push(no);
        if content == 0 {
            kept.push(no);
            left = left.saturating_sub(entries);
        }
    }
    note_runs(s, &kept).await?;
    s.execute_statement("UPDATE run SET noted = true WHERE no = ANY ($1)", &[&all]).await?;
    s.commit_transaction().await?;
    Ok(!found.is_empty())
}

/// Matches calls and reused answers of earlier runs. Quotes in texts are escaped, so no text matches by accident. The
/// server's JSON functions are not used, because they reject some texts of models.
const NOTE: &str = r#"
INSERT INTO asked (content, run)
SELECT decode(left(hex, 32), 'hex'), run FROM (
  SELECT run, coalesce(
    CASE WHEN position('"sort":"model"' in body) > 0 THEN substring(body from '"content":"([0-9a-f]{64})"') END,
    substring(body from '"from":\{"run":.*?"content":"([0-9a-f]{64})"')) AS hex
  FROM entry WHERE run = ANY ($1) AND (position('"sort":"model"' in body) > 0 OR position('"from":{"run":' in body) > 0)
) AS found WHERE hex IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2 ON CONFLICT DO NOTHING"#;

async fn note_runs(s: &mut PostgresSession, runs: &[i64]) -> PostgresResult<()> {
    s.execute_statement(NOTE, &[&runs]).await?;
    Ok(())
}

/// The runs that may have an answer, newest first.
pub async fn runs_with_request(
    s: &mut PostgresSession,
    content: ContentKey,
    limit: usize,
) -> PostgresResult<Vec<String>> {
    let half = content.0.get(..HALF).unwrap_or_default();
    let select = "SELECT run.id FROM asked JOIN run ON run.no = asked.run \
                  WHERE asked.content = $1 AND run.content = 0 ORDER BY asked.run DESC LIMIT $2";
    let rows = s.query_rows(select, &[&half, &int(limit as u64)]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}
