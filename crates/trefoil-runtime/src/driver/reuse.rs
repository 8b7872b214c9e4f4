//! What a run need not do because it was done before: by itself, before it was reopened, or by an earlier run.

use std::sync::Arc;

use super::Options;
use super::activity::{Done, World};
use super::memo::Memo;
use super::recovery;
use super::turns::Driver;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::{About, EntryKind};
use trefoil_machine::machine::Kept;
use trefoil_machine::request::{Activity, Request};
use trefoil_prices::Dollars;

/// Limits on what a run pays for that uses results of earlier runs. The machine has none then: it counts what it asks for, and does not
/// know before what of that is there already.
#[derive(Debug, Default)]
pub struct Guard {
    max_calls: Option<u64>,
    max_cost_micro: Option<u64>,
}

impl Guard {
    /// Of a run that begins.
    pub fn begin(options: &mut Options) -> Self {
        if options.memo.is_none() {
            return Self::default();
        }
        let guard = Self { max_calls: options.max_calls.take(), max_cost_micro: options.max_cost_micro.take() };
        if let Some(basis) = &mut options.basis {
            (basis.max_calls, basis.max_cost_micro) = (guard.max_calls, guard.max_cost_micro);
        }
        guard
    }

    /// Of a run that goes on: as it began, unless somebody wants otherwise.
    pub fn go_on(options: &mut Options) -> Self {
        let (Some(_), Some(basis)) = (&options.memo, &options.basis) else { return Self::default() };
        let changes = &mut options.changes;
        Self {
            max_calls: changes.max_calls.take().or(basis.max_calls),
            max_cost_micro: changes.max_cost_micro.take().or(basis.max_cost_micro),
        }
    }
}

impl Driver {
    /// Why nothing of this is done, if that would pass a limit.
    fn over_limit(&self, next: &[&Arc<Activity>]) -> Option<RunError> {
        let Guard { max_calls, max_cost_micro } = self.guard;
        let is_call = |a: &Activity| matches!(a.request, Request::Model(_));
        let first = next.iter().find(|a| is_call(a))?;
        let count = |a: &&Arc<Activity>| is_call(a) && !a.again;
        let asked = self.asked.iter().filter(count).count() as u64;
        let (made, more) =
            (self.machine.calls().saturating_sub(asked), next.iter().copied().filter(count).count() as u64);
        let (message, help) = match (max_calls, max_cost_micro) {
            (Some(limit), _) if made.saturating_add(more) > limit => {
                let calls = if more == 1 { "1 more is needed".to_owned() } else { format!("{more} more are needed") };
                (format!("call limit reached: {made} of {limit} calls made, and {calls}"), "--max-calls")
            }
            (_, Some(limit)) => {
                let cost = |all: &mut dyn Iterator<Item = &Arc<Activity>>| {
                    all.map(|a| self.machine.may_cost(a)).fold(0, u64::saturating_add)
                };
                let starting = self.starting.iter().map(|(activity, _)| activity);
                let under_way = self.under_way.values().map(|one| &one.activity);
                let open = cost(&mut starting.chain(under_way).chain(self.queue.calls()));
                let (spent, more) = (self.machine.usage().cost_micro, cost(&mut next.iter().copied()));
                if spent.saturating_add(open).saturating_add(more) <= limit {
                    return None;
                }
                let said = format!("cost limit reached: {} of {} spent", Dollars(spent), Dollars(limit));
                (format!("{said}, and what is next may cost {}", Dollars(open.saturating_add(more))), "--max-cost")
            }
            _ => return None,
        };
        let location = self.world.prepared.program.step(first.step).map(|step| step.origin);
        let error = RunError { key: Some(first.key.clone()), location, ..RunError::new("BUDGET_EXCEEDED", message) };
        Some(error.help(format!("allow more with `{help}`")))
    }

    /// Looks for answers of earlier runs to what was asked for.
    pub(super) async fn look_up(&mut self) {
        let (run, models) = (&self.world.watch.run, &self.world.ports.models);
        if let Some(memo) = self.memo.as_mut().filter(|_| !self.asked.is_empty()) {
            memo.fetch(run, &self.asked, |request| models.label(request)).await;
        }
    }

    /// Takes from what was asked for what has a result already. An error: the run has come to something that was done by an earlier
    /// run, that is different now, and that must not be done twice.
    pub(super) fn reuse(&mut self) -> Result<(), RunError> {
        let again = |activity: &Activity, kept: &Kept| kept.content == activity.content;
        let is_kept = |a: &Arc<Activity>| self.kept.get(&a.key).is_some_and(|kept| again(a, kept));
        let mut found = Vec::new();
        if let Some(memo) = &mut self.memo {
            let open: Vec<_> = self.asked.iter().filter(|a| !is_kept(a)).cloned().collect();
            found = memo.find(&open);
            let lacking = open.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(asked, _)| asked);
            let error = would_repeat(&self.world, memo, lacking.clone());
            let lacking: Vec<_> = lacking.collect();
            if let Some(error) = error.or_else(|| self.over_limit(&lacking)) {
                self.memo.iter().for_each(|memo| memo.stop(lacking.iter().copied()));
                // Whoever says that it may go on, goes on with the run.
                self.stays = true;
                self.record(EntryKind::Suspended { wake_at: None });
                return Err(error);
            }
        }
        let mut found = found.into_iter();
        for activity in std::mem::take(&mut self.asked) {
            if let Some(Kept { seq, value, about, .. }) =
                self.kept.remove(&activity.key).filter(|kept| again(&activity, kept))
            {
                let about = About { usage: None, kept: Some(seq), ..about };
                self.is_done(activity, value, about);
                continue;
            }
            let taken = self.memo.as_mut().and_then(|memo| memo.take(&activity, found.next().flatten()));
            match taken {
                Some((earlier, cited)) => {
                    let about = About { usage: None, kept: None, from: Some(Box::new(cited)), ..earlier.about };
                    self.is_done(activity, earlier.value, about);
                }
                None => self.asked.push(activity),
            }
        }
        Ok(())
    }

    fn is_done(&mut self, activity: Arc<Activity>, value: trefoil_template::Value, about: About) {
        self.tell_began(&activity);
        self.done.push(Done { activity, result: Ok(value), about, spent: Vec::new() });
    }
}

/// Why a run that goes by an earlier one stops here, if it does.
fn would_repeat<'a>(world: &World, memo: &Memo, lacking: impl Iterator<Item = &'a Arc<Activity>>) -> Option<RunError> {
    let mut lacking = lacking.filter(|asked| memo.may_be_done(&asked.key));
    let asked = lacking.find(|asked| !recovery::may_repeat(world, &asked.request) && !memo.may_rerun(asked))?;
    let (key, sort) = (asked.key.clone(), asked.request.sort());
    let message = match memo.before(&key) {
        Some(_) => format!("this {sort} ran in the earlier run, and may not be safe to run again"),
        None => format!("this {sort} may have run in one of many earlier runs, and may not be safe to run again"),
    };
    let location = world.prepared.program.step(asked.step).map(|step| step.origin);
    let label = asked.labels.last().map_or_else(|| key.as_str().to_owned(), ToString::to_string);
    let help = format!("to allow it, pass `--rerun {label}`");
    Some(RunError { key: Some(key), location, ..RunError::new("WOULD_REPEAT", message) }.help(help))
}
