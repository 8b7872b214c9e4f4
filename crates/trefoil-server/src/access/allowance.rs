//! What keys and flows may still use: requests a minute, runs in progress, money a day. All servers of a store count together.
//!
//! Starts under a limit take turns, so that two of them never count the same room. A run in progress counts with all that it
//! may still spend: give runs a limit of their own, or the first one has all that is left. A run may exceed its own limit by
//! what its last call was estimated too low.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use trefoil_machine::CostBudget;
use trefoil_runtime::limits::ProviderLimits;
use trefoil_runtime::limits::shared_limits::{SharedLimits, SharedPermit};
use trefoil_runtime::locks::lock;
use trefoil_store::{Document, Record, RunFilter, SpendingFilter, Status, Store};
use trefoil_template::read_json_bytes;
use utoipa::ToSchema;

use super::Caller;
use super::day_spending::{BudgetSubject, DAY_MS, DaySpending};
use crate::problem::{ApiResult, Problem};

/// The label with the key that has started a run.
pub const KEY_LABEL: &str = "trefoil.key";
/// The label with what a run may cost, in millionths of a dollar, where it counts for a budget.
pub const COST_LABEL: &str = "trefoil.cost_limit";

/// The collection of documents with the rules of flows.
const COLLECTION: &str = "flow-rule";
/// How long a start waits for its turn.
const TURN: Duration = Duration::from_secs(10);
/// The statuses of runs that may still spend something.
const OPEN: [Status; 4] = [Status::Pending, Status::Running, Status::Interrupted, Status::Waiting];
/// The statuses of runs that are in progress. One that waits for a person is not.
const IN_PROGRESS: [Status; 3] = [Status::Pending, Status::Running, Status::Interrupted];
/// The most runs in a page.
const PAGE: usize = 1_000;

/// What the operator says of a flow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowRule {
    /// Whether no run of it starts.
    #[serde(default)]
    pub stopped: bool,
    /// Why it is stopped, for whoever wants to start a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What its runs may cost in a day (UTC), in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_day_micro: Option<u64>,
}

/// Counts what keys and flows use.
pub struct UsageGate {
    store: Arc<dyn Store>,
    limits: Arc<dyn SharedLimits>,
    day_spending: DaySpending,
    /// The requests with an idempotency key that are starting a run, by its id.
    starting: Mutex<HashMap<String, Weak<AsyncMutex<()>>>>,
}

/// That a run may start. Others under the same limits wait until this is dropped, which is when the run is stored.
#[derive(Debug, Default)]
pub struct StartAllowance {
    /// What the run may cost at most, in millionths of a dollar.
    pub cost_micro: Option<u64>,
    /// Of which budget that is what is left. `None`: it was asked for.
    pub budget: Option<CostBudget>,
    turns: Vec<SharedPermit>,
}

impl StartAllowance {
    /// Whether the run counts for a budget.
    pub fn is_budgeted(&self) -> bool {
        !self.turns.is_empty() && self.cost_micro.is_some()
    }
}

/// A budget for a day.
struct DayBudget {
    /// Whose it is, for messages.
    whose: String,
    sort: CostBudget,
    most_micro: u64,
    subject: BudgetSubject,
}

impl DayBudget {
    fn spending_filter(&self) -> SpendingFilter {
        match &self.subject {
            BudgetSubject::Key(key) => SpendingFilter { flow: None, label: Some((KEY_LABEL.to_owned(), key.clone())) },
            BudgetSubject::Flow(flow) => SpendingFilter { flow: Some(flow.clone()), label: None },
        }
    }

    fn run_filter(&self) -> RunFilter {
        match &self.subject {
            BudgetSubject::Key(key) => {
                RunFilter { labels: vec![(KEY_LABEL.to_owned(), key.clone())], ..RunFilter::default() }
            }
            BudgetSubject::Flow(flow) => RunFilter { flow: Some(flow.clone()), ..RunFilter::default() },
        }
    }
}

/// What is to begin.
struct AskedStart<'a> {
    flow: &'a str,
    cost_micro: Option<u64>,
    /// The run that goes on, if it is not a new one: what it has reserved for itself does not count against it.
    resumed: Option<&'a str>,
}

impl UsageGate {
    /// Counts in a store, with the limits that its processes share.
    pub fn new(store: Arc<dyn Store>, limits: Arc<dyn SharedLimits>) -> Self {
        Self { day_spending: DaySpending::new(store.clone()), store, limits, starting: Mutex::default() }
    }

    /// Waits until no other request to this server starts the run with this id, which is made of an idempotency key.
    pub async fn wait_same_request(&self, run: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut starting = lock(&self.starting);
            starting.retain(|_, turn| turn.strong_count() > 0);
            match starting.get(run).and_then(Weak::upgrade) {
                Some(turn) => turn,
                None => {
                    let turn = Arc::new(AsyncMutex::new(()));
                    starting.insert(run.to_owned(), Arc::downgrade(&turn));
                    turn
                }
            }
        };
        turn.lock_owned().await
    }

    /// Refuses a request of a key that has sent too many in the last minute.
    ///
    /// # Errors
    ///
    /// 429 with the time after which there is room.
    pub async fn admit_request(&self, caller: &Caller) -> ApiResult<()> {
        let (Some(key), Some(most)) = (&caller.key, caller.rights.requests_per_minute) else { return Ok(()) };
        let limits = ProviderLimits { requests_per_minute: Some(most), ..ProviderLimits::default() };
        match SharedPermit::take_now(self.limits.clone(), format!("key:{key}"), limits).await {
            Ok(_) => Ok(()),
            Err(wait) => {
                let seconds = wait.wait_ms.unwrap_or(1_000).div_ceil(1_000).max(1);
                let detail = format!("the key `{}` may send {} a minute", caller.name, count_of(most, "request"));
                let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", detail);
                Err(problem.with_retry_after(seconds))
            }
        }
    }

    /// Refuses a run for which a key or a flow has no room.
    ///
    /// # Errors
    ///
    /// 409 for a flow that is stopped, 429 for a limit of runs or money.
    pub async fn admit_start(
        &self,
        caller: &Caller,
        flow: &str,
        asked_micro: Option<u64>,
    ) -> ApiResult<StartAllowance> {
        self.admit_run(caller, &AskedStart { flow, cost_micro: asked_micro, resumed: None }).await
    }

    /// Refuses to let a run go on for which a key or a flow has no room: it is like a start of what the run may still spend.
    ///
    /// # Errors
    ///
    /// As [`Self::admit_start`]; 429 also for a run whose cost nothing limits, if there is a budget.
    pub async fn admit_resume(&self, caller: &Caller, record: &Record) -> ApiResult<StartAllowance> {
        let unspent = unspent_micro(record);
        let asked = AskedStart { flow: &record.flow, cost_micro: unspent, resumed: Some(&record.run) };
        let allowance = self.admit_run(caller, &asked).await?;
        if !allowance.is_budgeted() {
            return Ok(allowance);
        }
        let Some(unspent) = unspent else {
            let detail = "the run has no limit of cost, and would exceed the budget of the day";
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "BUDGET_EXHAUSTED", detail);
            return Err(problem.with_help("fork it, with a limit (`max_cost`)"));
        };
        if allowance.cost_micro < Some(unspent) {
            let detail = "the run may still spend more than what is left of the budget of the day";
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "BUDGET_EXHAUSTED", detail);
            return Err(problem.with_help("resume it tomorrow, or fork it with a lower limit (`max_cost`)"));
        }
        let of_today = record.started >= self.day_spending.start_of_day();
        if !of_today {
            self.day_spending.add_cost(&BudgetSubject::Flow(record.flow.clone()), unspent).await?;
        }
        if let Some(key) = &caller.key
            && !(of_today && key_of(record) == Some(&**key))
        {
            self.day_spending.add_cost(&BudgetSubject::Key(key.to_string()), unspent).await?;
        }
        Ok(allowance)
    }

    /// Notes what runs have spent that are about to be deleted: budgets of today go on counting it. `top` is the one that was started;
    /// the others are those that it has called.
    ///
    /// # Errors
    ///
    /// The store.
    pub async fn note_deletion(&self, top: &Record, spent_micro: u64) -> ApiResult<()> {
        if top.started < self.day_spending.start_of_day() {
            return Ok(());
        }
        self.day_spending.add_cost(&BudgetSubject::Flow(top.flow.clone()), spent_micro).await?;
        if let Some(key) = key_of(top) {
            self.day_spending.add_cost(&BudgetSubject::Key(key.to_owned()), spent_micro).await?;
        }
        Ok(())
    }

    async fn admit_run(&self, caller: &Caller, asked: &AskedStart<'_>) -> ApiResult<StartAllowance> {
        let flow = asked.flow;
        let rule = self.read_rule(flow).await?.unwrap_or_default();
        if rule.stopped {
            let why = rule.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let problem = Problem::new_conflict("FLOW_STOPPED", format!("runs of `{flow}` are stopped{why}"));
            return Err(problem.with_help("somebody with the scope `admin` can let them start again"));
        }
        let mut allowance = StartAllowance { cost_micro: asked.cost_micro, ..StartAllowance::default() };
        if let Some(most_micro) = rule.cost_per_day_micro {
            allowance.turns.push(self.take_turn(format!("start:flow:{flow}")).await?);
            let budget = DayBudget {
                whose: format!("the flow `{flow}`"),
                sort: CostBudget::Flow,
                most_micro,
                subject: BudgetSubject::Flow(flow.to_owned()),
            };
            self.lower_cost(&budget, asked, &mut allowance).await?;
        }
        let Some(key) = &caller.key else { return Ok(allowance) };
        let rights = &caller.rights;
        if rights.runs_in_flight.is_none() && rights.cost_per_day_micro.is_none() {
            return Ok(allowance);
        }
        allowance.turns.push(self.take_turn(format!("start:key:{key}")).await?);
        if let Some(most) = rights.runs_in_flight {
            let labels = vec![(KEY_LABEL.to_owned(), key.to_string())];
            let filter = RunFilter { status: IN_PROGRESS.to_vec(), labels, ..RunFilter::default() };
            let mut found = self.store.list_runs(&filter, None, most as usize + 1).await?.runs;
            found.retain(|record| Some(&*record.run) != asked.resumed);
            if found.len() >= most as usize {
                let detail = format!("the key `{}` may have {} in progress", caller.name, count_of(most, "run"));
                let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "RUNS_IN_FLIGHT", detail);
                return Err(problem.with_retry_after(1));
            }
        }
        if let Some(most_micro) = rights.cost_per_day_micro {
            let subject = BudgetSubject::Key(key.to_string());
            let whose = format!("the key `{}`", caller.name);
            let budget = DayBudget { whose, sort: CostBudget::Key, most_micro, subject };
            self.lower_cost(&budget, asked, &mut allowance).await?;
        }
        Ok(allowance)
    }

    /// Waits until no other start is counting.
    async fn take_turn(&self, subject: String) -> ApiResult<SharedPermit> {
        let limits = ProviderLimits { in_flight: Some(1), ..ProviderLimits::default() };
        let mut permit = SharedPermit::for_subject(self.limits.clone(), subject, limits, 0);
        let turn = async {
            while let Some(wait) = permit.try_take().await {
                permit.wait_for_return(&wait).await;
            }
        };
        if tokio::time::timeout(TURN, turn).await.is_err() {
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "BUSY", "too many runs start at the same time");
            return Err(problem.with_retry_after(1));
        }
        if let Some(why) = permit.unavailable_reason() {
            let detail = format!("nobody can say what is left of the limits: {why}");
            let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE", detail);
            return Err(problem.with_retry_after(2));
        }
        Ok(permit)
    }

    /// Lowers what a run may cost, so that the budget of the day holds whatever the other runs still do.
    async fn lower_cost(
        &self,
        budget: &DayBudget,
        asked: &AskedStart<'_>,
        allowance: &mut StartAllowance,
    ) -> ApiResult<()> {
        let now = self.store.clock().wall_ms();
        let today = self.day_spending.start_of_day();
        let spent = self.store.spending_since(&budget.spending_filter(), today).await?.usage.cost_micro;
        let other = self.day_spending.read_sum(&budget.subject).await?;
        let mut left = budget.most_micro.saturating_sub(spent).saturating_sub(other);
        let mut after = None;
        loop {
            // Also those that have started on an earlier day: what they still spend, they spend today.
            let filter = RunFilter { status: OPEN.to_vec(), ..budget.run_filter() };
            let page = self.store.list_runs(&filter, after, PAGE).await?;
            for record in &page.runs {
                if Some(&*record.run) != asked.resumed {
                    left = left.saturating_sub(unspent_micro(record).unwrap_or_default());
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        if left == 0 {
            let detail =
                format!("the budget of {} for today is used up, or reserved for runs in progress", budget.whose);
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "BUDGET_EXHAUSTED", detail);
            let help = "give runs a limit of their own (`max_cost`), so that several fit into the budget";
            return Err(problem.with_help(help).with_retry_after((today + DAY_MS - now).div_ceil(1_000)));
        }
        if allowance.cost_micro.is_none_or(|micro| micro > left) {
            allowance.cost_micro = Some(left);
            allowance.budget = Some(budget.sort);
        }
        Ok(())
    }

    /// What the operator says of a flow.
    ///
    /// # Errors
    ///
    /// The store.
    pub async fn read_rule(&self, flow: &str) -> ApiResult<Option<FlowRule>> {
        let document = self.store.read_document(COLLECTION, flow, self.store.clock().wall_ms()).await?;
        Ok(document.and_then(|document| read_json_bytes(document.value.as_bytes()).ok()))
    }

    /// Sets what the operator says of a flow. It holds at once, on all servers.
    ///
    /// # Errors
    ///
    /// The store.
    pub async fn write_rule(&self, flow: &str, rule: &FlowRule) -> ApiResult<()> {
        let value = serde_json::to_string(rule).unwrap_or_default();
        loop {
            let now = self.store.clock().wall_ms();
            let before = self.store.read_document(COLLECTION, flow, now).await?;
            let version = before.map(|document| document.version).unwrap_or_default();
            let document = Document {
                collection: COLLECTION.to_owned(),
                name: flow.to_owned(),
                version,
                value: value.clone(),
                expires: None,
            };
            if self.store.write_document(document).await?.is_some() {
                return Ok(());
            }
        }
    }
}

/// `1 run`, `2 runs`
fn count_of(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// What a run may still spend, as far as it counts for a budget. `None`: nothing has limited it.
fn unspent_micro(record: &Record) -> Option<u64> {
    let limit: u64 = find_label(record, COST_LABEL)?.parse().ok()?;
    Some(limit.saturating_sub(record.spent.usage.cost_micro))
}

/// The id of the key that has started a run.
fn key_of(record: &Record) -> Option<&str> {
    find_label(record, KEY_LABEL)
}

fn find_label<'r>(record: &'r Record, name: &str) -> Option<&'r str> {
    let label = record.labels.iter().find(|(key, _)| key == name);
    label.map(|(_, value)| value.as_str())
}
