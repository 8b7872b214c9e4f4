//! Prepared answers to steps that ask a person: which steps ask, their names, and which answer applies.
//!
//! A step is named by its key (labels from the entry, `outer/inner`), or by its label if no other step has it.

mod rehearsal;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use trefoil_ir::{FlowId, HumanCall, Program, StepId, StepKind, walk};
use trefoil_machine::key::{segment, unmarked};
use trefoil_runtime::ports::{CallSite, NoHumans, Received};
use trefoil_runtime::{Arrived, Asked, Decided, HumanInbox, HumanRequest, Key};

pub use rehearsal::QuestionTrial;

/// The maximum number of visited steps; beyond it, questions are known by their labels only.
const LIMIT: usize = 20_000;

/// A question that a run can reach.
#[derive(Debug, Clone)]
pub struct HumanQuestion<'p> {
    /// The innermost label around it.
    pub label: String,
    /// Its structural key, without the marks of passes, items, attempts and tries.
    pub key: String,
    /// Its step.
    pub id: StepId,
    /// The question.
    pub call: &'p HumanCall,
}

/// Every question that a run can reach, once for each sequence of calls that leads to it.
pub fn questions(program: &Program) -> Vec<HumanQuestion<'_>> {
    let mut all: Vec<HumanQuestion<'_>> = Vec::new();
    let mut left = LIMIT;
    let Some(entry) = program.flow(program.entry) else { return all };
    let mut stack: Vec<StepPlace> = vec![StepPlace {
        id: entry.body,
        label: program.name.to_string(),
        key: String::new(),
        within: vec![program.entry],
    }];
    while let Some(StepPlace { id, mut label, mut key, within }) = stack.pop() {
        let Some(step) = program.step(id) else { continue };
        left = left.saturating_sub(1);
        if left == 0 {
            break;
        }
        if let Some(own) = &step.label {
            label = own.to_string();
            if !key.is_empty() {
                key.push('/');
            }
            key.push_str(&segment(own));
        }
        if let StepKind::Human(call) = &step.kind
            && !all.iter().any(|q| q.id == id && q.key == key && q.label == label)
        {
            all.push(HumanQuestion { label: label.clone(), key: key.clone(), id, call });
        }
        // In reverse, because the last one pushed is visited first; this gives the order of the manifest.
        for flow in walk::callees(step).into_iter().rev() {
            if let Some(body) = program.flow(flow).map(|f| f.body)
                && !within.contains(&flow)
            {
                let within = within.iter().copied().chain([flow]).collect();
                stack.push(StepPlace { id: body, label: label.clone(), key: key.clone(), within });
            }
        }
        for child in walk::children(step).into_iter().rev() {
            stack.push(StepPlace { id: child, label: label.clone(), key: key.clone(), within: within.clone() });
        }
    }
    all
}

struct StepPlace {
    id: StepId,
    label: String,
    key: String,
    /// The enclosing flows.
    within: Vec<FlowId>,
}

/// The step that the name of an answer refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerTarget {
    /// The step has this key.
    Key,
    /// It is the only step with this label.
    Label,
    /// Several steps have this label; their keys.
    Several(Vec<String>),
    /// No step.
    Nobody,
}

/// The step that a name refers to.
pub fn meant(questions: &[HumanQuestion<'_>], name: &str) -> AnswerTarget {
    let bare = unmarked(name);
    if questions.iter().any(|q| q.key == name || q.key == bare) {
        return AnswerTarget::Key;
    }
    let with_label: Vec<_> = questions.iter().filter(|q| q.label == name).collect();
    let steps: HashSet<StepId> = with_label.iter().map(|q| q.id).collect();
    match steps.len() {
        0 => AnswerTarget::Nobody,
        1 => AnswerTarget::Label,
        _ => AnswerTarget::Several(with_label.iter().map(|q| q.key.clone()).collect()),
    }
}

/// The question with a key of a run.
pub fn about<'q, 'p>(questions: &'q [HumanQuestion<'p>], key: &str) -> Option<&'q HumanQuestion<'p>> {
    let bare = unmarked(key);
    questions.iter().find(|question| question.key == bare)
}

/// Whether an answer to `name` answers a question.
pub fn answers(questions: &[HumanQuestion<'_>], name: &str, question: &HumanQuestion<'_>) -> bool {
    match meant(questions, name) {
        AnswerTarget::Key => question.key == name || question.key == unmarked(name),
        AnswerTarget::Label => question.label == name,
        AnswerTarget::Several(_) | AnswerTarget::Nobody => false,
    }
}

/// The accepted word that an answer means, ignoring case and surrounding spaces. Used for all answers, so that an
/// answer has the same meaning on the command line, in a terminal and in a letter.
pub fn word<'a, W: AsRef<str>>(accepts: &'a [W], given: &str) -> Option<&'a str> {
    let given = given.trim().to_lowercase();
    accepts.iter().map(AsRef::as_ref).find(|word| word.to_lowercase() == given)
}

/// Prepared answers; then a person is asked.
pub(crate) struct PreparedAnswers {
    given: Mutex<HashMap<String, VecDeque<String>>>,
    /// Names that are labels, not keys.
    labels: HashSet<String>,
    /// Visits whose question accepted none of the answers, so that a person must answer.
    spent: Mutex<HashSet<String>>,
    then: Arc<dyn HumanInbox>,
}

impl PreparedAnswers {
    /// Answers for a program, by key or label.
    pub fn new(program: &Program, given: &[(String, String)], then: Option<Arc<dyn HumanInbox>>) -> Self {
        let asked = questions(program);
        let mut all: HashMap<String, VecDeque<String>> = HashMap::new();
        let mut labels = HashSet::new();
        for (step, answer) in given {
            if meant(&asked, step) != AnswerTarget::Key {
                labels.insert(step.clone());
            }
            all.entry(step.clone()).or_default().push_back(answer.clone());
        }
        Self {
            given: Mutex::new(all),
            labels,
            spent: Mutex::default(),
            then: then.unwrap_or_else(|| Arc::new(NoHumans)),
        }
    }
    fn known(&self, key: &Key, request: &HumanRequest) -> Option<String> {
        let bare = key.unmarked();
        let label = Some(&*request.step).filter(|label| self.labels.contains(*label));
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let name = [Some(&*key.0), Some(&*bare), label].into_iter().flatten().find(|name| given.contains_key(*name))?;
        let all = given.get_mut(name)?;
        if all.len() > 1 {
            return all.pop_front();
        }
        // The last answer is used for all further visits, but not for a question that rejected it.
        let visit = key.without_try();
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if request.refused.is_some() && request.refused.as_deref() == all.front().map(String::as_str) {
            spent.insert(visit.to_owned());
        }
        all.front().filter(|_| !spent.contains(visit)).cloned()
    }
}

#[async_trait]
impl HumanInbox for PreparedAnswers {
    async fn ask(&self, at: CallSite<'_>, request: &HumanRequest) -> Asked {
        match self.known(at.key, request) {
            Some(answer) => Asked::Answer(word(&request.accepts, &answer).map(str::to_owned).unwrap_or(answer)),
            None => self.then.ask(at, request).await,
        }
    }
    async fn decided(&self, at: CallSite<'_>) -> Option<Received<Decided>> {
        self.then.decided(at).await
    }
    async fn arrived(&self, run: &str) -> Received<Arrived> {
        self.then.arrived(run).await
    }
    async fn waiting(&self, run: &str) -> Option<Received<Arrived>> {
        self.then.waiting(run).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trefoil_runtime::conformance::{People, people};

    struct Beforehand(Arc<dyn HumanInbox>, Asked);

    #[async_trait]
    impl People for Beforehand {
        fn inbox(&self) -> Arc<dyn HumanInbox> {
            self.0.clone()
        }
        async fn send(&self, _run: &str, _what: Arrived) -> bool {
            false
        }
        fn asked(&self) -> &Asked {
            &self.1
        }
    }

    #[test]
    fn answers_given_beforehand_conform() {
        let program = Program {
            name: "main".into(),
            flows: Vec::new(),
            steps: Vec::new(),
            schemas: Vec::new(),
            entry: FlowId(0),
            hash: 0,
            missing_agents: Vec::new(),
        };
        let given = [("ask".to_owned(), " YES".to_owned())];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for (given, asked) in [(&given[..], Asked::Answer("yes".to_owned())), (&[], Asked::Nobody)] {
            let answers = Beforehand(Arc::new(PreparedAnswers::new(&program, given, None)), asked);
            assert_eq!(runtime.block_on(people(&answers)), Ok(()));
        }
    }
}
