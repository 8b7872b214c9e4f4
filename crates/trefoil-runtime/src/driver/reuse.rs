//! What a run need not do because it was done before: by itself, before it was reopened, or by an earlier run.

use std::sync::Arc;

use super::activity::{Done, World};
use super::memo::Memo;
use super::recovery;
use super::turns::Driver;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::{About, EntryKind};
use trefoil_machine::machine::Kept;
use trefoil_machine::request::Activity;

impl Driver {
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
            if let Some(error) = would_repeat(&self.world, memo, lacking) {
                // Whoever says that it may run again goes on with the run.
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
        self.done.push(Done { activity, result: Ok(value), about });
    }
}

/// Why a run that goes by an earlier one stops here, if it does.
fn would_repeat<'a>(world: &World, memo: &Memo, lacking: impl Iterator<Item = &'a Arc<Activity>>) -> Option<RunError> {
    let mut lacking = lacking.filter(|asked| memo.before(&asked.key).is_some());
    let asked = lacking.find(|asked| !recovery::may_repeat(world, &asked.request) && !memo.may_rerun(asked))?;
    let (key, sort) = (asked.key.clone(), asked.request.sort());
    let message = format!("this {sort} was run by the earlier run, and is not known to be safe to run again");
    let location = world.prepared.program.step(asked.step).map(|step| step.origin);
    let label = asked.labels.last().map_or_else(|| key.as_str().to_owned(), ToString::to_string);
    let help = format!("if it may run again, say so: `--rerun {label}`");
    Some(RunError { key: Some(key), location, ..RunError::new("WOULD_REPEAT", message) }.help(help))
}
