//! Answers of people: who gave them, from where and when; which of two counts; and all questions that are open.

use std::sync::Arc;

use trefoil::ports::{CallSite, HumanInbox, HumanRequest, QuestionState};
use trefoil::runs::{AwaitedActivity, QuestionFilter, QuestionPage};
use trefoil::store::{RunCursor, SqliteStore, Status, Store, StoreOptions};
use trefoil::{AnswerRefusal, AnswerSender, Engine, EventKind, Flow, Runs};
use trefoil_machine::event::QuestionClosure;
use trefoil_machine::{AnswerReceipt, EntryKind};
use trefoil_project::settings::{FlowTool, Settings};
use trefoil_project::target::LoadTarget;
use trefoil_runtime::ports::CollectEvents;
use trefoil_view::run_view::{RunView, ViewDetail};

const GATE: &str = r#"
apiVersion: 100monkeys.ai/v1
kind: Workflow
metadata: { name: gate, version: "1.0.0" }
spec:
  initial_state: ASK
  states:
    ASK:
      kind: Human
      prompt: Publish it?
      transitions:
        - { condition: input_equals_yes, target: DONE }
        - { condition: input_equals_no, target: DONE }
    DONE: { kind: Human, prompt: "Where?", transitions: [] }
"#;

struct Scene {
    folder: tempfile::TempDir,
    engine: Engine,
    runs: Runs,
}

fn opened(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap())
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::new().store(opened(&folder));
        let runs = Runs::new(opened(&folder));
        Self { folder, engine, runs }
    }

    /// A run of the flow that waits for the first answer.
    async fn waiting(&self, text: &str) -> String {
        let run = self.engine.submit_run(&Flow::from_text("gate.yaml", text).unwrap(), ()).await.unwrap();
        self.drive(&run).await;
        run
    }

    async fn drive(&self, run: &str) {
        assert!(self.engine.resume_run(run).await.unwrap().wait_outcome().await.suspended);
        while self.runs.record(run).await.unwrap().owner.is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    async fn question(&self, run: &str) -> AwaitedActivity {
        self.runs.waiting_steps(run).await.unwrap().into_iter().next().unwrap()
    }

    async fn answer_receipt(&self, run: &str, step: &str) -> Option<AnswerReceipt> {
        let entries = self.runs.store().read_entries(run, 0).await.unwrap();
        for entry in entries {
            if let EntryKind::Completed { key, about, .. } = entry.kind
                && key.display_name() == step
            {
                return about.given_by.map(|given_by| *given_by);
            }
        }
        None
    }
}

/// Somebody who chats, and does not answer when asked again.
struct Chatty;

#[async_trait::async_trait]
impl HumanInbox for Chatty {
    async fn ask_question(&self, _at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        match request.refused {
            None => QuestionState::AnswerFrom("yes please".to_owned(), sender("ada").unwrap()),
            Some(_) => QuestionState::Later,
        }
    }
}

fn sender(name: &str) -> Option<AnswerSender> {
    Some(AnswerSender::new(name, "api 203.0.113.7"))
}

#[tokio::test]
async fn an_answer_names_who_gave_it_when_and_from_where_in_the_journal_and_in_every_view() {
    let scene = Scene::new();
    let run = scene.waiting(GATE).await;
    let before = scene.runs.store().clock().wall_ms();
    let question = scene.question(&run).await;
    scene.runs.answer_question(&run, &question, " YES ", sender("ada")).await.unwrap();
    let after = scene.runs.store().clock().wall_ms();
    // Before the run goes on, whoever looks sees it, too.
    let Some(QuestionClosure::Answered(given)) = scene.question(&run).await.settled else { panic!("it is open") };
    let receipt = given.receipt.clone().unwrap();
    assert_eq!((given.text.as_str(), Some(&receipt.sender)), ("yes", sender("ada").as_ref()));
    assert!((before..=after).contains(&receipt.at), "{receipt:?}");

    // The answer of the second question is given before the process that asks it.
    let engine = scene.engine.clone().answer("DONE", "everywhere");
    let mut live = engine.resume_run(&run).await.unwrap();
    let mut told = Vec::new();
    while let Some(event) = live.next_event().await {
        told.push(event);
    }
    let answers = |events: &[trefoil::Event]| {
        let mut all = Vec::new();
        for event in events {
            if let EventKind::EffectFinished { value, given_by: Some(given_by), .. } = &event.kind {
                let AnswerReceipt { sender, .. } = &**given_by;
                let (name, origin) = (sender.sender_name().to_owned(), sender.sender_origin().to_owned());
                all.push((value.to_text().to_string(), name, origin));
            }
        }
        all
    };
    let expected = [
        ("yes".to_owned(), "ada".to_owned(), "api 203.0.113.7".to_owned()),
        ("everywhere".to_owned(), String::new(), AnswerSender::BEFORE_RUN.to_owned()),
    ];
    assert_eq!(answers(&told), expected);
    assert_eq!(scene.answer_receipt(&run, "ASK").await, Some(receipt.clone()));

    // The same from the journal, and in the picture of the run.
    let collected = Arc::new(CollectEvents::new());
    scene.runs.send_events(&run, collected.clone()).await.unwrap();
    let events = collected.collected_events();
    assert_eq!(answers(&events), expected);
    for detail in [ViewDetail::Full, ViewDetail::Rows] {
        let mut view = RunView::new(detail);
        for event in &events {
            view.apply_event(event);
        }
        let asked = view.numbered_steps().find(|(_, step)| &*step.label == "ASK").unwrap().1;
        assert_eq!(asked.given_by.as_deref(), Some(&receipt), "{detail:?}");
        if detail == ViewDetail::Full {
            // The process that asked first has no answer.
            assert_eq!(asked.calls.last().unwrap().given_by.as_deref(), Some(&receipt));
        }
    }
}

#[tokio::test]
async fn an_answer_without_a_sender_counts_and_names_nobody() {
    let scene = Scene::new();
    let run = scene.waiting(GATE).await;
    let question = scene.question(&run).await;
    scene.runs.answer_question(&run, &question, "no", None).await.unwrap();
    scene.drive(&run).await;
    assert_eq!(scene.answer_receipt(&run, "ASK").await, None);
    assert_eq!(scene.question(&run).await.step, "DONE");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_at_the_same_time_one_counts_and_the_other_is_told_who_was_first() {
    let scene = Scene::new();
    for _ in 0..5 {
        let run = scene.waiting(GATE).await;
        let question = scene.question(&run).await;
        let answering = |name: &'static str, answer: &'static str| {
            // Each has a connection of its own, as two servers have.
            let (runs, run, question) = (Runs::new(opened(&scene.folder)), run.clone(), question.clone());
            tokio::spawn(async move { (answer, runs.answer_question(&run, &question, answer, sender(name)).await) })
        };
        let tasks = [answering("ada", "yes"), answering("bo", "no")];
        let mut results = Vec::new();
        for task in tasks {
            results.push(task.await.unwrap());
        }
        results.sort_by_key(|(_, result)| result.is_err());
        let [(first, Ok(())), (_, Err(AnswerRefusal::Settled(Some(QuestionClosure::Answered(given)))))] = &results[..]
        else {
            panic!("{results:?}");
        };
        let winner = if *first == "yes" { "ada" } else { "bo" };
        assert_eq!(given.text, *first);
        assert_eq!(given.receipt.as_ref().unwrap().sender, sender(winner).unwrap());
        let [(_, Ok(())), (_, Err(refusal))] = &results[..] else { panic!() };
        assert!(refusal.to_string().contains(&format!("already answered with `{first}`, by {winner}, ")), "{refusal}");
        assert_eq!(scene.runs.store().read_inbox(&run).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn only_what_the_question_accepts_approves() {
    let scene = Scene::new();
    let run = scene.waiting(GATE).await;
    let question = scene.question(&run).await;
    let chat = [
        "",
        " ",
        "ye",
        "ok",
        "yes please",
        "yes, go ahead",
        "yes\nno",
        "\"yes\"",
        "approve it",
        "yes.",
        "{\"answer\":\"yes\"}",
        "да",
        "y\u{435}s",
        "yes\0",
    ];
    for text in chat {
        let refused = scene.runs.answer_question(&run, &question, text, sender("ada")).await;
        assert!(
            matches!(&refused, Err(AnswerRefusal::NotAccepted(words)) if words == &["yes", "no"]),
            "{text}: {refused:?}"
        );
        assert_eq!(scene.runs.store().read_inbox(&run).await.unwrap(), [], "{text}");
    }
    // What comes to the run another way is asked again, and does not approve either.
    let engine = scene.engine.clone().humans(Chatty);
    assert!(engine.resume_run(&run).await.unwrap().wait_outcome().await.suspended);
    while scene.runs.record(&run).await.unwrap().owner.is_some() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(scene.question(&run).await.step, "ASK");
    assert_eq!(scene.runs.record(&run).await.unwrap().status, Status::Waiting);
}

async fn all_pages(runs: &Runs, filter: &QuestionFilter, limit: usize) -> Vec<(String, String)> {
    let (mut all, mut after): (_, Option<RunCursor>) = (Vec::new(), None);
    loop {
        let page: QuestionPage = runs.open_questions(filter, after, limit).await.unwrap();
        assert!(page.unreadable.is_empty());
        all.extend(page.questions.into_iter().map(|open| (open.record.run.clone(), open.question.step)));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn open_questions_are_listed_over_all_runs_until_they_are_answered() {
    let scene = Scene::new();
    let other = GATE.replace("name: gate", "name: door");
    let (first, second) = (scene.waiting(GATE).await, scene.waiting(&other).await);
    let third = scene.waiting(GATE).await;
    scene.runs.store().set_label(&third, "person", Some("ada")).await.unwrap();
    let finished = scene.engine.clone().answer("ASK", "yes").answer("DONE", "here");
    let run = finished.submit_run(&Flow::from_text("gate.yaml", GATE).unwrap(), ()).await.unwrap();
    finished.resume_run(&run).await.unwrap().wait_outcome().await.result.unwrap();

    let asks = |run: &str| (run.to_owned(), "ASK".to_owned());
    let everything = QuestionFilter::default();
    for limit in [1, 2, 100] {
        let all = all_pages(&scene.runs, &everything, limit).await;
        assert_eq!(all, [asks(&third), asks(&second), asks(&first)], "{limit} at a time");
    }
    let flow = QuestionFilter { flow: Some("door".to_owned()), ..QuestionFilter::default() };
    assert_eq!(all_pages(&scene.runs, &flow, 10).await, [asks(&second)]);
    let of_run = QuestionFilter { run: Some(first.clone()), ..QuestionFilter::default() };
    assert_eq!(all_pages(&scene.runs, &of_run, 10).await, [asks(&first)]);
    let label = QuestionFilter { labels: vec![("person".to_owned(), "ada".to_owned())], ..QuestionFilter::default() };
    assert_eq!(all_pages(&scene.runs, &label, 10).await, [asks(&third)]);
    let both = QuestionFilter { run: Some(first.clone()), ..flow };
    assert_eq!(all_pages(&scene.runs, &both, 10).await, []);

    // Answered, so not open any more, although the run has not continued yet; then its next question.
    let question = scene.question(&second).await;
    Runs::new(opened(&scene.folder)).answer_question(&second, &question, "yes", sender("ada")).await.unwrap();
    assert_eq!(all_pages(&scene.runs, &everything, 10).await, [asks(&third), asks(&first)]);
    scene.drive(&second).await;
    let goes_on = (second.clone(), "DONE".to_owned());
    assert_eq!(all_pages(&scene.runs, &everything, 10).await, [asks(&third), goes_on, asks(&first)]);
    // A run that is deleted asks nothing.
    scene.runs.cancel_run(&third).await.unwrap();
    let now = scene.runs.store().clock().wall_ms();
    scene.runs.store().delete_run(&third, now).await.unwrap();
    assert_eq!(all_pages(&scene.runs, &everything, 10).await.len(), 2);
}

const ASKER: &str = "id: asker\nkind: tool\ntool: { kind: local, name: gate, params: {} }\n";

#[tokio::test]
async fn the_question_of_a_called_run_is_listed_once_with_the_run_that_was_started() {
    let scene = Scene::new();
    let (gate, asker) = (scene.folder.path().join("gate.yaml"), Flow::from_text("asker.yaml", ASKER).unwrap());
    std::fs::write(&gate, GATE).unwrap();
    let flow = LoadTarget::parse(gate.to_str().unwrap());
    let flows = vec![FlowTool { name: "gate".to_owned(), description: None, flow }];
    let engine = scene.engine.clone().settings(Settings { flows, ..Settings::default() });
    let run = engine.submit_run(&asker, ()).await.unwrap();
    assert!(engine.resume_run(&run).await.unwrap().wait_outcome().await.suspended);
    let page = scene.runs.open_questions(&QuestionFilter::default(), None, 10).await.unwrap();
    let [open] = &page.questions[..] else { panic!("{page:?}") };
    assert_eq!((open.record.run.as_str(), open.question.step.as_str()), (run.as_str(), "ASK"));
    let called = open.question.run.clone().unwrap();
    // Asked for by its own flow, it is that of the called run.
    let flow = QuestionFilter { flow: Some("gate".to_owned()), ..QuestionFilter::default() };
    let page = scene.runs.open_questions(&flow, None, 10).await.unwrap();
    let [own] = &page.questions[..] else { panic!("{page:?}") };
    assert_eq!((own.record.run.as_str(), own.question.run.as_ref()), (called.as_str(), None));
    // Either is answered.
    scene.runs.answer_question(&open.record.run, &open.question, "yes", sender("ada")).await.unwrap();
    let late = scene.runs.answer_question(&own.record.run, &own.question, "no", sender("bo")).await;
    assert!(matches!(late, Err(AnswerRefusal::Settled(Some(_)))), "{late:?}");
    assert!(scene.runs.open_questions(&QuestionFilter::default(), None, 10).await.unwrap().questions.is_empty());
}
