//! Questions that only the driver can answer: each is asked once for a step, then the work continues.

use super::eval::DriverQuestion;
use super::frame::{FrameId, FrameOutcome, MachineTask, PendingQuestion};
use super::turn::{ActivityPurpose, MachineTurn};
use crate::content::QuestionContent;
use crate::error::RunError;
use crate::key::Key;
use crate::request::Request;

/// The maximum number of questions of one step. More would mean that an answer did not settle its question.
const MAX_QUESTIONS: usize = 1000;

impl MachineTurn<'_> {
    /// Asks the driver, and repeats `task` when the answer has arrived.
    pub fn ask_driver(&mut self, f: FrameId, DriverQuestion { question, places }: DriverQuestion, task: MachineTask) {
        let asked = QuestionContent::from_question(&question);
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        let aside = frame.aside.get_or_insert_default();
        if let Some(asking) = aside.asking.iter_mut().find(|a| a.question == asked) {
            asking.tasks.push(task);
            return;
        }
        if aside.decided.len() >= MAX_QUESTIONS || aside.decided.iter().any(|(known, _)| *known == asked) {
            let error = RunError::new("LIMIT_EXCEEDED", "a condition on the environment could not be evaluated");
            return self.push_task(MachineTask::Settle(f, FrameOutcome::Failed(Box::new(error))));
        }
        // Identified by its content, because the order of a step's questions may depend on timing.
        let digits = asked.short_digest();
        let request = Request::Decide(question);
        let key = self.own_activity(f, ActivityPurpose::Decide, request, |path, above| {
            path.push_own_name("decide", above).push_digits(digits);
        });
        if let (Some(aside), Some(key)) = (self.extras_of_mut(f), key) {
            aside.asking.push(PendingQuestion { key, question: asked, tasks: vec![task], places });
        }
    }

    /// There is no answer: the step fails at the place of the hole that could not be filled.
    pub fn fail_question(&mut self, f: FrameId, key: &Key, mut error: RunError) {
        if let Some(asking) = self.take_question(f, key)
            && let Some(unresolved) = &error.interpolation
            && let Some((_, place)) = asking.places.iter().find(|(path, _)| *path == unresolved.expression)
        {
            error.location = error.location.or(Some(*place));
        }
        self.push_task(MachineTask::Settle(f, FrameOutcome::Failed(Box::new(error))));
    }

    fn take_question(&mut self, f: FrameId, key: &Key) -> Option<PendingQuestion> {
        let aside = self.extras_of_mut(f)?;
        let at = aside.asking.iter().position(|asking| asking.key == *key)?;
        Some(aside.asking.swap_remove(at))
    }

    /// An answer has arrived: the tasks that wait for it continue.
    pub fn answer_question(&mut self, f: FrameId, key: &Key, answer: bool) {
        let Some(asking) = self.take_question(f, key) else { return };
        if let Some(aside) = self.extras_of_mut(f) {
            aside.decided.push((asking.question, answer));
        }
        self.core.tasks.extend(asking.tasks.into_iter().rev());
    }
}
