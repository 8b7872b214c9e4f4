//! Prepared answers to steps that ask a person: which steps ask, and which answer applies.

mod called_people;
mod rehearsal;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use trefoil_ir::{HumanCall, Program, Step, StepKind};
use trefoil_machine::step_path::{RunPath, StepPath as _, StepPlace, find_steps, step_places};
use trefoil_runtime::ports::{CallSite, NoHumans, ReceivedMessage};
use trefoil_runtime::{HumanInbox, HumanRequest, Key, QuestionState, RawDecision, RawRunMessage};

pub(crate) use called_people::CalledPeople;
pub use rehearsal::QuestionTrial;

/// A question that a run can reach.
#[derive(Debug, Clone)]
pub struct HumanQuestion<'p> {
    /// Its step.
    pub place: StepPlace,
    /// The question.
    pub call: &'p HumanCall,
}

/// Every question that a run can reach, once for each sequence of calls that leads to it.
pub fn find_questions(program: &Program) -> Vec<HumanQuestion<'_>> {
    let all = step_places(program, is_human).into_iter();
    let question = |place: StepPlace| match &program.steps[place.id].kind {
        StepKind::Human(call) => Some(HumanQuestion { place, call }),
        _ => None,
    };
    all.filter_map(question).collect()
}

/// Whether a step asks a person.
pub(crate) fn is_human(step: &Step) -> bool {
    matches!(step.kind, StepKind::Human(_))
}

/// The questions that the name of an answer means. They are several only if they are several places of one step.
///
/// # Errors
///
/// The keys of the steps that it may mean.
pub fn match_questions<'q, 'p>(
    questions: &'q [HumanQuestion<'p>],
    name: &str,
) -> Result<Vec<&'q HumanQuestion<'p>>, Vec<&'q str>> {
    let found = find_steps(name, questions.iter().enumerate().map(|(at, one)| (&one.place, at)));
    let found: Vec<_> = found.into_iter().filter_map(|at| questions.get(at)).collect();
    let steps: HashSet<_> = found.iter().map(|one| one.place.id).collect();
    if steps.len() > 1 { Err(found.iter().map(|one| one.place.key.as_str()).collect()) } else { Ok(found) }
}

/// The question with a key of a run.
pub fn question_with_key<'q, 'p>(questions: &'q [HumanQuestion<'p>], key: &Key) -> Option<&'q HumanQuestion<'p>> {
    questions.iter().find(|question| question.place.is_of(RunPath::from_key(key)))
}

/// Whether an answer to `name` answers a question.
pub fn answers_question(questions: &[HumanQuestion<'_>], name: &str, question: &HumanQuestion<'_>) -> bool {
    let is_it = |one: &&HumanQuestion<'_>| one.place.key == question.place.key;
    match_questions(questions, name).is_ok_and(|found| found.iter().any(is_it))
}

/// The accepted word that an answer means, ignoring case and surrounding spaces. Used for all answers, so that an
/// answer has the same meaning on the command line, in a terminal and in a message.
pub fn accepted_word<'a, W: AsRef<str>>(accepts: &'a [W], given: &str) -> Option<&'a str> {
    let given = given.trim().to_lowercase();
    accepts.iter().map(AsRef::as_ref).find(|word| word.to_lowercase() == given)
}

/// Prepared answers; then a person is asked.
pub(crate) struct PreparedAnswers {
    given: Mutex<HashMap<String, VecDeque<String>>>,
    /// Names that are whole keys. They mean no other step.
    whole: HashSet<String>,
    /// Visits whose question accepted none of the answers, so that a person must answer.
    spent: Mutex<HashSet<String>>,
    then: Arc<dyn HumanInbox>,
}

impl PreparedAnswers {
    /// Answers for the steps of a program.
    pub fn new(program: &Program, given: &[(String, String)], then: Option<Arc<dyn HumanInbox>>) -> Self {
        let asked = find_questions(program);
        let mut all: HashMap<String, VecDeque<String>> = HashMap::new();
        for (step, answer) in given {
            all.entry(step.clone()).or_default().push_back(answer.clone());
        }
        let is_key = |name: &&String| asked.iter().any(|one| one.place.is_whole(name));
        Self {
            whole: all.keys().filter(is_key).cloned().collect(),
            given: Mutex::new(all),
            spent: Mutex::default(),
            then: then.unwrap_or_else(|| Arc::new(NoHumans)),
        }
    }
    fn known(&self, key: &Key, request: &HumanRequest) -> Option<String> {
        let (visit, path) = (key.without_try(), RunPath::from_key(key));
        let is_of = |name: &str| path.is_named(name) && (path.is_whole(name) || !self.whole.contains(name));
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let names = given.iter_mut().filter(|(name, _)| is_of(name));
        // The name that says most about this visit.
        let (_, all) = names.max_by_key(|(name, _)| (**name == visit, path.is_whole(name), name.len()))?;
        if all.len() > 1 {
            return all.pop_front();
        }
        // The last answer is used for all further visits, but not for a question that rejected it.
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if request.refused.is_some() && request.refused.as_deref() == all.front().map(String::as_str) {
            spent.insert(visit.to_owned());
        }
        all.front().filter(|_| !spent.contains(visit)).cloned()
    }
}

#[async_trait]
impl HumanInbox for PreparedAnswers {
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        match self.known(at.key, request) {
            Some(answer) => {
                QuestionState::Answer(accepted_word(&request.accepts, &answer).map(str::to_owned).unwrap_or(answer))
            }
            None => self.then.ask_question(at, request).await,
        }
    }
    async fn find_decision(&self, at: CallSite<'_>) -> Option<ReceivedMessage<RawDecision>> {
        self.then.find_decision(at).await
    }
    async fn next_message(&self, run: &str) -> ReceivedMessage<RawRunMessage> {
        self.then.next_message(run).await
    }
    async fn waiting_message(&self, run: &str) -> Option<ReceivedMessage<RawRunMessage>> {
        self.then.waiting_message(run).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_runtime::conformance::{InboxFixture, check_inbox};

    struct Beforehand(Arc<dyn HumanInbox>, QuestionState);

    #[async_trait]
    impl InboxFixture for Beforehand {
        fn inbox(&self) -> Arc<dyn HumanInbox> {
            self.0.clone()
        }
        async fn send(&self, _run: &str, _what: RawRunMessage) -> bool {
            false
        }
        fn expected_state(&self) -> &QuestionState {
            &self.1
        }
    }

    #[test]
    fn answers_given_beforehand_conform() {
        let mut build = testbed::build::Build::new();
        let body = build.mark("step");
        let main = build.flow("main", body, None);
        let program = build.program(main);
        let given = [("ask".to_owned(), " YES".to_owned())];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for (given, asked) in [(&given[..], QuestionState::Answer("yes".to_owned())), (&[], QuestionState::Nobody)] {
            let answers = Beforehand(Arc::new(PreparedAnswers::new(&program, given, None)), asked);
            assert_eq!(runtime.block_on(check_inbox(&answers)), Ok(()));
        }
    }
}
