//! Starts runs for any of the interfaces: with labels, limits and an idempotency key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedMutexGuard, oneshot};
use trefoil_host::catalog::CatalogFlow;
use trefoil_host::engine::{Engine, ReadyRun};
use trefoil_host::service::StartedRun;
use trefoil_machine::{RunLimits, RunSpec};
use trefoil_runtime::RunOutcome;
use trefoil_store::{StoreError, check_user_labels};

use crate::access::{COST_LABEL, Caller, StartAllowance};
use crate::problem::{ApiResult, Problem};
use crate::state::{AppState, KEY_LABEL};

/// The label with what a request with an idempotency key asked for.
const REQUEST_LABEL: &str = "trefoil.request";

/// The limits that a request sets.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunLimitsRequest {
    /// The most model calls.
    pub calls: Option<u64>,
    /// The most dollars.
    pub cost_usd: Option<f64>,
}

/// A run to start.
pub struct StartRequest {
    /// Its flow.
    pub flow: Arc<CatalogFlow>,
    /// Its input; null: none.
    pub input: Json,
    /// What else is asked for.
    pub start: LabelledStart,
}

/// What a request may ask for with any new run.
#[derive(Debug, Default)]
pub struct LabelledStart {
    /// Labels of the run.
    pub labels: BTreeMap<String, String>,
    /// Its limits.
    pub limits: RunLimitsRequest,
    /// The key by which the same request is recognized when it is sent again.
    pub idempotency_key: Option<String>,
    /// What is asked for, to tell another request with the same key from the same one.
    pub asked: Json,
}

/// What becomes of a request for a new run.
pub enum StartDecision {
    /// A new run starts.
    New(PreparedStart),
    /// The same request has started this one.
    Known(StartedRun),
}

/// A request for a new run that was found to be right.
pub struct PreparedStart {
    labels: Vec<(String, String)>,
    spec: RunSpec,
    run_id: Option<String>,
    /// Others under the same limits wait until the run is stored.
    _allowance: StartAllowance,
    /// The same request waits as well.
    _turn: Option<OwnedMutexGuard<()>>,
}

impl LabelledStart {
    /// Checks a request, and finds the run that the same one has started before. The id of a run with an idempotency key is made of
    /// that key, so that no crash between two writes can start it twice.
    ///
    /// # Errors
    ///
    /// What is wrong with it; 422 if the idempotency key was used for another request; 503 if the server is stopping.
    pub async fn prepare_start(self, state: &AppState, caller: &Caller, flow: &str) -> ApiResult<StartDecision> {
        if state.phase.is_stopping() {
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "STOPPING", "the server is stopping");
            return Err(problem.with_retry_after(5));
        }
        let mut limits = run_limits(self.limits)?;
        let mut labels: Vec<(String, String)> = self.labels.into_iter().collect();
        check_user_labels(&labels).map_err(|why| Problem::bad_request(why.to_string()))?;
        if let Some(key) = &caller.key {
            labels.push((KEY_LABEL.to_owned(), key.to_string()));
        }
        let (mut run_id, mut turn) = (None, None);
        if let Some(key) = &self.idempotency_key {
            let asked = (&self.asked, &labels, limits.calls, limits.cost_micro);
            let fingerprint = hash_text(&serde_json::to_string(&asked).unwrap_or_default());
            let id = run_of_key(caller, key);
            turn = Some(state.gate.wait_same_request(&id).await);
            if let Some(known) = known_run(state, &id, &fingerprint).await? {
                return Ok(StartDecision::Known(known));
            }
            labels.push((REQUEST_LABEL.to_owned(), fingerprint));
            run_id = Some(id);
        }
        let allowance = state.gate.admit_start(caller, flow, limits.cost_micro).await?;
        if allowance.is_budgeted()
            && let Some(micro) = allowance.cost_micro
        {
            labels.push((COST_LABEL.to_owned(), micro.to_string()));
        }
        limits.cost_micro = allowance.cost_micro;
        let spec = RunSpec { limits, cost_budget: allowance.budget, ..RunSpec::NONE };
        Ok(StartDecision::New(PreparedStart { labels, spec, run_id, _allowance: allowance, _turn: turn }))
    }
}

impl PreparedStart {
    /// An engine whose runs have the limits of the request.
    pub fn limit_engine(&self, engine: Engine) -> Engine {
        if self.spec == RunSpec::NONE { engine } else { engine.run_spec(self.spec) }
    }

    /// The run with its id and its labels.
    pub fn apply_to(&self, ready: ReadyRun) -> ReadyRun {
        let ready = ready.with_labels(self.labels.clone());
        match &self.run_id {
            Some(id) => ready.with_run_id(id.clone()),
            None => ready,
        }
    }

    /// What came of the start. If somebody else has sent the same request at the same time, the run of the faster one.
    pub async fn resolve_start(
        &self,
        state: &AppState,
        started: trefoil_project::Result<StartedRun>,
    ) -> ApiResult<StartedRun> {
        let error = match started {
            Ok(started) => {
                state.metrics.runs_started.fetch_add(1, Ordering::Relaxed);
                return Ok(started);
            }
            Err(error) => error,
        };
        let mut asked = "";
        for (key, value) in &self.labels {
            if key == REQUEST_LABEL {
                asked = value;
            }
        }
        if let Some(id) = &self.run_id
            && let Some(known) = known_run(state, id, asked).await?
        {
            return Ok(known);
        }
        Err(error.into())
    }
}

/// Starts a run, and returns when it is stored.
///
/// # Errors
///
/// What prevents the run, and as [`LabelledStart::prepare_start`].
pub async fn begin_run(state: &AppState, caller: &Caller, request: StartRequest) -> ApiResult<StartedRun> {
    let mut start = request.start;
    start.asked = serde_json::json!([request.flow.name, request.input]);
    let prepared = match start.prepare_start(state, caller, &request.flow.name).await? {
        StartDecision::New(prepared) => prepared,
        StartDecision::Known(known) => return Ok(known),
    };
    let engine = prepared.limit_engine((*request.flow.engine).clone());
    let ready = prepared.apply_to(engine.prepare_run(&request.flow.flow)?);
    let started = state.local.start_run(ready, request.input).await;
    prepared.resolve_start(state, started).await
}

/// The run that a request with this key has started before.
async fn known_run(state: &AppState, id: &str, fingerprint: &str) -> ApiResult<Option<StartedRun>> {
    let record = match state.store().record(id).await {
        Ok(record) => record,
        Err(StoreError::NoRun { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_same = record.labels.iter().any(|(key, value)| key == REQUEST_LABEL && value == fingerprint);
    if is_same {
        return Ok(Some(StartedRun { run: record.run, outcome: None }));
    }
    Err(key_reused())
}

/// The idempotency key of a request was used for another one.
pub fn key_reused() -> Problem {
    let detail = "this `Idempotency-Key` was used for another request";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "IDEMPOTENCY_KEY_REUSED", detail)
}

/// The id of the run that a request with an idempotency key starts.
pub fn run_of_key(caller: &Caller, key: &str) -> String {
    let whose = caller.key.as_deref().unwrap_or_default();
    let hash = hash_text(&format!("{whose}\n{key}"));
    hash.chars().take(16).collect()
}

/// A hash, in hexadecimal digits.
pub fn hash_text(text: &str) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(text) {
        hex.push_str(&format!("{byte:02x}"));
    }
    hex
}

/// The limits of a run.
pub fn run_limits(asked: RunLimitsRequest) -> ApiResult<RunLimits> {
    let mut limits = RunLimits { calls: asked.calls, ..RunLimits::NONE };
    if let Some(usd) = asked.cost_usd {
        if !(usd.is_finite() && usd > 0.0 && usd <= 1e9) {
            return Err(Problem::bad_request("`max_cost` is an amount in dollars above 0"));
        }
        limits.cost_micro = Some((usd * 1e6).round() as u64);
    }
    Ok(limits)
}

/// Waits until a run has ended, or waits for a person. `false`: not within this time.
///
/// # Errors
///
/// The store cannot be read.
pub async fn wait_for_run(
    state: &AppState,
    run: &str,
    outcome: Option<oneshot::Receiver<RunOutcome>>,
    at_most: Duration,
) -> ApiResult<bool> {
    let until = tokio::time::Instant::now() + at_most;
    if let Some(outcome) = outcome {
        // This process may have lost the run, which then goes on elsewhere.
        let _ = tokio::time::timeout_at(until, outcome).await;
    }
    loop {
        let record = state.store().record(run).await?;
        if record.status.is_end() || record.status == trefoil_store::Status::Waiting {
            return Ok(true);
        }
        if tokio::time::Instant::now() >= until {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
