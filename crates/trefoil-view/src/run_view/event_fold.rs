//! Adds events to the picture of a run: what each says about the run, a step or an item.

use std::sync::Arc;

use trefoil_machine::PrivateValue;
use trefoil_machine::key::parent_key;
use trefoil_runtime::{Event, EventKind, RunError, RunStatus};

use super::{CallView, ItemCounts, ItemView, OpenWait, RunView, RunViewEnd, StepState, StepView, ViewDetail};

impl RunView {
    /// Adds an event. Returns the number of the step or item that it is about. reason: one arm a kind of event.
    pub fn apply_event(&mut self, event: &Event) -> Option<usize> {
        self.run.clone_from(&event.run);
        self.at_ms = event.at_ms;
        match &event.kind {
            EventKind::RunStarted { flow, at, input, effective_input, .. } => {
                self.started_at = Some(*at);
                self.flow.clone_from(flow);
                self.input.clone_from(input);
                self.effective_input.clone_from(effective_input);
            }
            EventKind::RunResumed { .. } => {
                (self.end, self.open, self.is_suspended) = (None, OpenWait::default(), false)
            }
            EventKind::RunSuspended { waiting, why, .. } => {
                let open = OpenWait { waiting: waiting.clone(), stopped: why.clone() };
                if self.is_full() {
                    if why.is_some() {
                        self.end_open(StepState::Stopped, |_| true);
                    }
                    self.waits_for(&open);
                }
                (self.open, self.is_suspended) = (open, true);
            }
            EventKind::Warning { .. } | EventKind::Verdict(_) if !self.is_full() => {}
            EventKind::RunFinished { output, error, items, usage, calls, duration_ms } => {
                let how = match RunStatus::of_end(error.as_ref()) {
                    RunStatus::Completed => StepState::Done,
                    RunStatus::Cancelled => StepState::Cancelled,
                    RunStatus::Interrupted => StepState::Interrupted,
                    _ => StepState::Stopped,
                };
                if self.is_full() {
                    self.end_open(how, |_| true);
                }
                let output = output.as_ref().map(PrivateValue::visible_value);
                let error = error.clone().map(|error| self.located(error));
                let (items, usage, calls) = (*items, *usage, *calls);
                (self.open, self.is_suspended) = (OpenWait::default(), false);
                self.end = Some(RunViewEnd { output, error, items, usage, calls, duration_ms: *duration_ms });
            }
            EventKind::StepStarted { label, kind } => {
                return Some(self.begin_step(StepView { kind, ..new_step(event, label) }));
            }
            EventKind::StepSkipped { label, reason } => {
                let (ended_ms, reason) = (Some(self.at_ms), Some(reason.clone()));
                let step = new_step(event, &label.as_str().into());
                let number = self.begin_step(StepView { state: StepState::Skipped, ended_ms, reason, ..step });
                return self.settle_step(number);
            }
            EventKind::StepFinished { output, items } => {
                let output = if self.is_full() { Some(output.clone()) } else { None };
                let has_failures = matches!(items, Some(items) if items.failed > 0);
                let state = if has_failures { StepState::Partly } else { StepState::Done };
                return self.end_step(self.index.get(&event.key.as_ref()?.0).copied(), state, |step| {
                    (step.items, step.output) = (*items, output);
                    let counts = items.map(|of| ItemCounts { total: of.total, ended: of.total, failed: of.failed });
                    step.counts = step.counts.or(counts);
                });
            }
            EventKind::StepFailed { error, handled_as } => {
                // A step around it, or a sibling, ended first.
                let state = if *handled_as == "cancel" { StepState::Cancelled } else { StepState::Failed };
                let error = Some((error.clone(), *handled_as));
                return self
                    .end_step(self.index.get(&event.key.as_ref()?.0).copied(), state, |step| step.error = error);
            }
            EventKind::ItemStarted { index, total, item } => {
                let value = if self.is_full() { item.clone() } else { None };
                let item = Some(ItemView { number: index.saturating_add(1), total: *total, value });
                let number =
                    self.begin_step(StepView { is_item: true, kind: "item", item, ..new_step(event, &"".into()) });
                self.counts(number, |counts| counts.total = *total);
                return Some(number);
            }
            EventKind::ItemFinished { error } => {
                let number = self.items.get(&event.key.as_ref()?.0).copied()?;
                self.counts(number, |counts| {
                    counts.ended += 1;
                    counts.failed += u32::from(error.is_some());
                });
                let state = if error.is_some() { StepState::Failed } else { StepState::Done };
                let error = error.clone().map(|error| (error, "skip"));
                return self.end_step(Some(number), state, |item| item.error = error);
            }
            EventKind::Warning { message } => {
                if event.key.is_some() {
                    self.add_note(event, || format!("warning: {message}"));
                }
                self.warnings.push(message.clone());
            }
            EventKind::Verdict(verdict) => self.record_verdict(event, verdict),
            _ => return self.about_call(event),
        }
        None
    }

    /// The failure of the run with its place, which is not stored: that of the step that failed.
    fn located(&self, mut error: RunError) -> RunError {
        if error.location.is_none()
            && let Some(key) = &error.key
            && let Some(step) = self.step_with_key(key.without_try())
            && let Some((own, _)) = &step.error
            && own.code == error.code
        {
            error.location = own.location;
        }
        error
    }

    pub(super) fn is_full(&self) -> bool {
        self.detail == ViewDetail::Full
    }

    /// The events were those of a stored run that has not ended, and that stands like this.
    pub fn set_standing(&mut self, status: RunStatus, open: OpenWait) {
        if matches!(status, RunStatus::Interrupted | RunStatus::Pending) {
            let waiting = open.waiting.iter().filter(|one| one.prompt.is_some()).cloned().collect();
            self.waits_for(&OpenWait { waiting, stopped: None });
            // What called nothing yet has not started, if no process had the run and it was not interrupted.
            let has_begun = |step: &StepView| !step.calls.is_empty() || !step.state.is_running();
            if status == RunStatus::Pending && !self.numbered_steps().any(|(_, step)| !step.is_item && has_begun(step))
            {
                self.steps.clear();
                self.index.clear();
            }
            self.end_open(StepState::Interrupted, |step| step.state.is_running());
        } else {
            self.waits_for(&open);
        }
        self.is_suspended = !open.is_empty();
        self.open = open;
    }

    /// Marks the steps that wait.
    fn waits_for(&mut self, open: &OpenWait) {
        for key in open.keys() {
            if let Some(number) = self.step_around(key)
                && let Some(step) = self.step_mut(number)
            {
                (step.state, step.ended_ms) = (StepState::Waiting, None);
            }
        }
    }

    /// Ends open steps: the run has ended or waits, or its process has ended. A step that was only inferred has no event for its end:
    /// its state is that of its last call.
    pub fn end_open(&mut self, how: StepState, which: impl Fn(&StepView) -> bool) {
        for step in self.steps.values_mut() {
            if step.ended_ms.is_some() || !which(step) {
                continue;
            }
            let step = Arc::make_mut(step);
            let (mut state, mut end) = (how, None);
            if let Some(last) = step.calls.last() {
                end = last.ended_ms();
                if last.error.is_some() {
                    state = StepState::Failed;
                } else if end.is_some() {
                    state = StepState::Done;
                }
            }
            step.end_step(state, end.unwrap_or(self.at_ms));
        }
    }

    /// The run only waits: what is in progress is not stopped, but rests in this state.
    pub fn rest_running_steps(&mut self, state: StepState) {
        for step in self.steps.values_mut() {
            if step.state == StepState::Running {
                Arc::make_mut(step).state = state;
            }
        }
    }

    /// The journal has been read: what has ended is kept. What failed or stopped with the run is about to start again.
    pub fn caught_up(&mut self) {
        for step in self.steps.values_mut() {
            let starts_again = matches!(step.error, Some((_, "fail" | "cancel")));
            Arc::make_mut(step).kept = step.ended_ms.is_some() && !starts_again;
        }
    }

    /// Removes a step or item with all that is inside it. Returns their numbers.
    pub fn remove_step(&mut self, number: usize) -> Vec<usize> {
        let (mut open, mut all) = (vec![number], Vec::new());
        if let Some(step) = self.step_by_number(number)
            && let Some(around) = step.parent
            && let Some(around) = self.step_mut(around)
        {
            around.children.remove(&number);
        }
        while let Some(number) = open.pop() {
            let Some(step) = self.steps.remove(&number) else { continue };
            let index = if step.is_item { &mut self.items } else { &mut self.index };
            if let Some(key) = &step.key
                && index.get(&key.0) == Some(&number)
            {
                index.remove(&key.0);
            }
            open.extend(&step.children);
            all.push(number);
        }
        all
    }

    pub(super) fn begin_step(&mut self, mut step: StepView) -> usize {
        if let Some(key) = &step.key {
            step.parent = parent_key(&key.0).and_then(|key| self.around(key, true));
            if step.item.is_none() {
                step.item = self.item(&key.0);
            }
        }
        // A step inside has started, so the try that those around it waited for has started.
        let mut around = step.parent;
        while let Some(number) = around {
            let Some(above) = self.steps.get_mut(&number) else { break };
            if above.state == StepState::Retrying {
                Arc::make_mut(above).resume_step(false);
            }
            around = above.parent;
        }
        let number = self.next;
        self.next += 1;
        if let Some(parent) = step.parent
            && let Some(above) = self.step_mut(parent)
        {
            above.children.insert(number);
        }
        if let Some(key) = &step.key {
            let index = if step.is_item { &mut self.items } else { &mut self.index };
            index.insert(key.0.clone(), number);
        }
        self.steps.insert(number, Arc::new(step));
        number
    }

    /// Ends a step or item. Its items that are open have no event for their end.
    fn end_step(
        &mut self,
        number: Option<usize>,
        state: StepState,
        change: impl FnOnce(&mut StepView),
    ) -> Option<usize> {
        let (number, at) = (number?, self.at_ms);
        let mut open: Vec<usize> = self.step_by_number(number)?.children.iter().copied().collect();
        while let Some(inside) = open.pop() {
            let Some(step) = self.steps.get_mut(&inside) else { continue };
            if step.ended_ms.is_some() {
                continue;
            }
            open.extend(&step.children);
            if step.is_item {
                Arc::make_mut(step).end_step(StepState::Cancelled, at);
            }
        }
        let step = self.step_mut(number)?;
        change(step);
        step.end_step(state, at);
        self.settle_step(number)
    }

    /// A step has ended: whether it is kept, and whether the one around it is.
    pub(super) fn settle_step(&mut self, number: usize) -> Option<usize> {
        let step = self.step_mut(number)?;
        step.kept |= step.keeps && !step.called;
        let (called, kept, parent) = (step.called, step.kept, step.parent);
        if let Some(parent) = parent
            && let Some(around) = self.step_mut(parent)
        {
            (around.called, around.keeps) = (around.called | called, around.keeps | kept);
        }
        Some(number)
    }

    /// Changes the counts of the fan-out to which an item belongs.
    fn counts(&mut self, item: usize, change: impl FnOnce(&mut ItemCounts)) {
        if let Some(item) = self.step_by_number(item)
            && let Some(around) = item.parent
            && let Some(around) = self.step_mut(around)
        {
            change(around.counts.get_or_insert_default());
        }
    }

    pub(super) fn step_mut(&mut self, number: usize) -> Option<&mut StepView> {
        self.steps.get_mut(&number).map(Arc::make_mut)
    }

    /// The item that directly contains a step, without another step in between.
    fn item(&self, mut key: &str) -> Option<ItemView> {
        loop {
            if let Some(number) = self.items.get(key) {
                return self.step_by_number(*number)?.item.clone();
            }
            key = parent_key(key)?;
            if self.index.contains_key(key) {
                return None;
            }
        }
    }
}

impl CallView {
    /// When it ended, since the start of the run.
    fn ended_ms(&self) -> Option<u64> {
        Some(self.started_ms + self.duration_ms?)
    }
}

impl StepView {
    pub(super) fn end_step(&mut self, state: StepState, at: u64) {
        // The try that it waits for does not start.
        if self.state != StepState::Retrying && self.ended_ms.is_none() {
            self.retry_ms = None;
        }
        (self.state, self.ended_ms) = (state, Some(at));
    }

    /// It is in progress in this state. `again`: even if it had ended.
    pub(super) fn open_step(&mut self, state: StepState, again: bool) {
        if again || self.state.is_running() {
            (self.state, self.ended_ms, self.retry_ms) = (state, None, None);
        }
    }

    /// Its next try, or a call of it, has started.
    pub(super) fn resume_step(&mut self, again: bool) {
        self.open_step(StepState::Running, again);
        self.kept = false;
    }
}

pub(super) fn key_of(event: &Event) -> &str {
    match &event.key {
        Some(key) => &key.0,
        None => "",
    }
}

pub(super) fn new_step(event: &Event, label: &Arc<str>) -> StepView {
    StepView {
        key: event.key.clone(),
        label: label.clone(),
        kind: "step",
        tries: 1,
        location: event.location,
        started_ms: event.at_ms,
        ..StepView::default()
    }
}
