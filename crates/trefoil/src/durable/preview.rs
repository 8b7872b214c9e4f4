//! What a run of an edited flow would keep and do, without doing it.

use std::sync::Arc;

use trefoil_machine::Prepared;
use trefoil_runtime::RunError;
use trefoil_runtime::driver::{self, Options};
use trefoil_runtime::ports::{EnvSecrets, NoTools, Secrets, ToolHost};
use trefoil_store::Store;

use super::edit::{Edit, Lines, memo};
use super::history::program_of;
use super::{Line, Stored};
use crate::error::Result;
use crate::flow::Flow;

/// What a run of an edited flow would do.
#[derive(Debug, Clone)]
pub struct Preview {
    /// What becomes of the steps that the run comes to before anything has to be called: kept, or done, and because of what.
    pub lines: Vec<Line>,
    /// What the earlier run has and this one has not come to: what becomes of it depends on what is done before it.
    pub later: Vec<Line>,
    /// Why the run would end there.
    pub error: Option<RunError>,
}

impl Preview {
    /// Whether nothing would be called: the edit changes nothing that was asked for.
    pub fn is_up_to_date(&self) -> bool {
        self.error.is_none() && self.lines.iter().all(|line| line.fate.is_kept())
    }
}

/// What [`Engine::edit`](crate::Engine::edit) with these would do first, with the models of the earlier run. Nothing is called, and no
/// key is needed.
///
/// # Errors
///
/// As [`Engine::edit`](crate::Engine::edit).
pub async fn preview(store: Arc<dyn Store>, run: &str, flow: &Flow, edit: &Edit) -> Result<Preview> {
    let stored = Stored::read(&*store, run).await?;
    let now = stored.now();
    let own = &flow.loaded().program;
    // What the manifest says of models may be what was edited.
    let program = if now.answers == "manifest" { own.clone() } else { program_of(own, &now) };
    let prepared = Prepared::new(program);
    let memo = memo(store, &stored, edit).await?.used_by(&prepared);
    let lines = Lines::of(flow.clone(), prepared.program.clone(), memo.decisions()).with(memo.results());
    let options = Options { seed: Some(stored.started.flags.seed), memo: Some(memo), ..Options::default() };
    let hosts: (Arc<dyn ToolHost>, Arc<dyn Secrets>) = (Arc::new(NoTools), Arc::new(EnvSecrets::new()));
    let ended = driver::preview(prepared, stored.started.input.clone(), hosts, options);
    let error = ended.and_then(|outcome| outcome.result.err());
    Ok(Preview { lines: lines.all(), later: lines.unused(), error })
}
