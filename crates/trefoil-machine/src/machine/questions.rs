//! Questions that only the driver can answer, such as whether an environment variable is set. A step whose evaluation needs
//! an answer asks once, waits, and then repeats the task that asked.

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
    pub fn ask_driver(&mut self, f: FrameId, asked: DriverQuestion, task: MachineTask) {
        let DriverQuestion { question, hole_locations } = asked;
        let content = QuestionContent::from_question(&question);
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        let extras = frame.extras.get_or_insert_default();
        if let Some(pending) = extras.pending_questions.iter_mut().find(|pending| pending.question == content) {
            pending.tasks.push(task);
            return;
        }
        let answered = &extras.answered_questions;
        // A question that is asked again although it is answered would be asked forever.
        if answered.len() >= MAX_QUESTIONS || answered.iter().any(|(question, _)| *question == content) {
            let error = RunError::new("LIMIT_EXCEEDED", "a condition on the environment could not be evaluated");
            return self.push_task(MachineTask::Settle(f, FrameOutcome::Failed(Box::new(error))));
        }
        // The key contains a digest of the question, because the order of a step's questions may depend on timing.
        let digits = content.short_digest();
        let request = Request::Decide(question);
        let key = self.own_activity(f, ActivityPurpose::Decide, request, |path, above| {
            path.push_own_name("decide", above).push_digits(digits);
        });
        if let (Some(extras), Some(key)) = (self.extras_of_mut(f), key) {
            let pending = PendingQuestion { key, question: content, tasks: vec![task], hole_locations };
            extras.pending_questions.push(pending);
        }
    }

    /// A question could not be answered: the step fails. The error points at the hole that could not be filled.
    pub fn fail_question(&mut self, f: FrameId, key: &Key, mut error: RunError) {
        if let Some(pending) = self.take_question(f, key)
            && let Some(unresolved) = &error.interpolation
            && let Some((_, location)) = pending.hole_locations.iter().find(|(path, _)| *path == unresolved.expression)
        {
            error.location = error.location.or(Some(*location));
        }
        self.push_task(MachineTask::Settle(f, FrameOutcome::Failed(Box::new(error))));
    }

    /// Removes a pending question from its frame and returns it.
    fn take_question(&mut self, f: FrameId, key: &Key) -> Option<PendingQuestion> {
        let pending_questions = &mut self.extras_of_mut(f)?.pending_questions;
        let index = pending_questions.iter().position(|pending| pending.key == *key)?;
        Some(pending_questions.swap_remove(index))
    }

    /// An answer has arrived: the tasks that wait for it continue.
    pub fn answer_question(&mut self, f: FrameId, key: &Key, answer: bool) {
        let Some(pending) = self.take_question(f, key) else { return };
        if let Some(extras) = self.extras_of_mut(f) {
            extras.answered_questions.push((pending.question, answer));
        }
        // Tasks are taken from the end of the list, so the first one to run is pushed last.
        self.core.tasks.extend(pending.tasks.into_iter().rev());
    }
}
