//! Prepared answers to steps that ask a person: which steps ask, and which answer applies.

mod called_people;
mod rehearsal;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use trefoil_ir::{HumanCall, Program, Step, StepKind};
use trefoil_machine::AnswerSender;
use trefoil_machine::step_path::{RunPath, StepPath as _, StepPlace, find_steps, step_places};
use trefoil_runtime::ports::{CallSite, NoHumans, ReceivedMessage};
use trefoil_runtime::{HumanInbox, HumanRequest, Key, QuestionState, RawDecision, RawRunMessage};

use trefoil_runtime::locks::lock;

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
    let mut questions = Vec::new();
    for place in step_places(program, is_human) {
        if let StepKind::Human(call) = &program.steps[place.id].kind {
            questions.push(HumanQuestion { place, call });
        }
    }
    questions
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
    let places = questions.iter().enumerate().map(|(at, question)| (&question.place, at));
    let (mut found, mut steps) = (Vec::new(), HashSet::new());
    for at in find_steps(name, places) {
        if let Some(question) = questions.get(at) {
            found.push(question);
            steps.insert(question.place.id);
        }
    }
    if steps.len() > 1 {
        return Err(found.iter().map(|question| question.place.key.as_str()).collect());
    }
    Ok(found)
}

/// The question with a key of a run.
pub fn question_with_key<'q, 'p>(questions: &'q [HumanQuestion<'p>], key: &Key) -> Option<&'q HumanQuestion<'p>> {
    questions.iter().find(|question| question.place.is_of(RunPath::from_key(key)))
}

/// Whether an answer to `name` answers a question.
pub fn answers_question(questions: &[HumanQuestion<'_>], name: &str, question: &HumanQuestion<'_>) -> bool {
    let Ok(found) = match_questions(questions, name) else { return false };
    found.iter().any(|meant| meant.place.key == question.place.key)
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
    sender: AnswerSender,
    then: Arc<dyn HumanInbox>,
}

impl PreparedAnswers {
    /// Answers for the steps of a program, and who gave them.
    pub fn new(
        program: &Program,
        (given, sender): (&[(String, String)], Option<AnswerSender>),
        then: Option<Arc<dyn HumanInbox>>,
    ) -> Self {
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
            sender: sender.unwrap_or_else(|| AnswerSender::new("", AnswerSender::BEFORE_RUN)),
            then: then.unwrap_or_else(|| Arc::new(NoHumans)),
        }
    }
    fn known(&self, key: &Key, request: &HumanRequest) -> Option<String> {
        let (visit, path) = (key.without_try(), RunPath::from_key(key));
        let is_of = |name: &str| path.is_named(name) && (path.is_whole(name) || !self.whole.contains(name));
        let mut given = lock(&self.given);
        let names = given.iter_mut().filter(|(name, _)| is_of(name));
        // The name that says most about this visit.
        let (_, all) = names.max_by_key(|(name, _)| (**name == visit, path.is_whole(name), name.len()))?;
        if all.len() > 1 {
            return all.pop_front();
        }
        // The last answer is used for all further visits, but not for a question that rejected it.
        let mut spent = lock(&self.spent);
        let last = all.front()?;
        if request.refused.as_deref() == Some(last.as_str()) {
            spent.insert(visit.to_owned());
        }
        if spent.contains(visit) { None } else { Some(last.clone()) }
    }
}

#[async_trait]
impl HumanInbox for PreparedAnswers {
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        match self.known(at.key, request) {
            Some(answer) => {
                let answer = match accepted_word(&request.accepts, &answer) {
                    Some(word) => word.to_owned(),
                    None => answer,
                };
                QuestionState::AnswerFrom(answer, self.sender.clone())
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
            let answers = Beforehand(Arc::new(PreparedAnswers::new(&program, (given, None), None)), asked);
            assert_eq!(runtime.block_on(check_inbox(&answers)), Ok(()));
        }
    }
}
