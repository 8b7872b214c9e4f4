//! What an embedder does with stored runs: edit the flow, fork, compare, verify, reuse answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use trefoil::ports::{CallSite, ModelAnswer, ModelError, ModelProvider, ModelRequest, Usage};
use trefoil::runs::{ChangeReason, ReuseDecision, ReuseRequest, StoredRun, TextSource, compare_runs, verify_run};
use trefoil::store::{SqliteStore, Store, StoreOptions};
use trefoil::{Engine, Error, Flow};

use crate::Folder;

fn flow(second: &str) -> Flow {
    let agent = |id: &str, prompt: &str| {
        format!(
            "id: {id}\nkind: llm\nmodel: {{ provider: openai, name: gpt-x }}\ninstruction: I.\nprompt: '{prompt}'\n"
        )
    };
    let main =
        "id: main\nkind: sequential\nsteps:\n  - ref: first\n  - ref: second\n    input: { text: '{{first}}' }\n";
    let second = agent("second", second) + "inputSchema: { text: string }\n";
    Flow::from_files(
        "#main",
        [("main.yaml", main.to_owned()), ("first.yaml", agent("first", "One.")), ("second.yaml", second)],
    )
    .unwrap()
}

/// Answers with its request, and counts calls.
#[derive(Clone, Default)]
struct Model(Arc<AtomicU32>);

#[async_trait]
impl ModelProvider for Model {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let asked = request.messages.last().map(|m| m.content.to_text().to_string()).unwrap_or_default();
        Ok(ModelAnswer::new(asked, Usage { input_tokens: 10, output_tokens: 3, ..Usage::default() }))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "own:model".to_owned()
    }
}

#[test]
fn an_embedder_edits_forks_compares_verifies_and_uses_answers_again() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = Folder::with(&[]);
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(folder.0.join("runs.db"), StoreOptions::default()).unwrap());
        let model = Model::default();
        let engine = Engine::new().provider(model.clone()).store(store.clone());
        let asked = || model.0.swap(0, Ordering::SeqCst);
        let run = engine.start_run(&flow("{{text}} Two."), ()).unwrap();
        let first = run.id().to_owned();
        assert_eq!((run.wait_output::<String>().await.unwrap().as_str(), asked()), ("One. Two.", 2));

        // An edited flow: one step is kept, and the other one is repeated because of two words.
        let edited = engine.edit_run(&flow("{{text}} And two."), &ReuseRequest::for_whole_run(&first)).await.unwrap();
        let lines = edited.step_decisions();
        let run = edited.start_run().unwrap();
        let second = run.id().to_owned();
        assert_eq!((run.wait_output::<String>().await.unwrap().as_str(), asked()), ("One. And two.", 1));
        let all = lines.activity_decisions();
        let saved = Usage { input_tokens: 10, output_tokens: 3, unpriced_calls: 1, ..Usage::default() };
        assert_eq!(all[0].fate, ReuseDecision::Kept { run: first.clone(), was: None, saved: Some(saved) });
        let [ChangeReason::Text(reason)] = all[1].reasons.as_slice() else { panic!("{all:?}") };
        assert!(matches!(&reason.source, TextSource::File(Some(place)) if place.file == "second.yaml"), "{reason:?}");
        assert_eq!(&reason.diff.now[reason.diff.hunks[0].now.clone()], "And two");

        // The savings are also known in a chain of runs.
        let from = |step: &str| ReuseRequest { from: Some(step.to_owned()), ..ReuseRequest::for_whole_run(&second) };
        let forked = engine.fork_run(&from("second")).await.unwrap();
        let lines = forked.step_decisions();
        forked.start_run().unwrap().wait_output::<String>().await.unwrap();
        assert_eq!(asked(), 1);
        let all = lines.activity_decisions();
        assert_eq!(all[0].fate, ReuseDecision::Kept { run: second.clone(), was: None, saved: Some(saved) });
        assert_eq!(
            (&all[1].fate, all[1].reasons.as_slice()),
            (&ReuseDecision::Again, [ChangeReason::Wanted].as_slice())
        );
        let unknown = engine.fork_run(&from("third")).await;
        assert!(matches!(unknown, Err(Error::NotStarted(_))));

        let diff = compare_runs(store.clone(), &first, &second).await.unwrap();
        assert_eq!(diff.steps.iter().map(|step| step.is_same()).collect::<Vec<_>>(), [true, false]);
        assert_eq!(diff.steps[0].b.as_ref().unwrap().kept.as_ref().unwrap().run, first);
        assert_eq!((diff.a.calls, diff.b.calls), (2, 1));
        let verified = verify_run(store.clone(), &StoredRun::read_run(&*store, &second).await.unwrap()).await.unwrap();
        assert!(verified.matches_program() && verified.ended && verified.cited[&first] == 1, "{verified:?}");

        // Answers of any run are reused for equal requests.
        let ready = engine.clone().reuse_answers(None).prepare_run(&flow("{{text}} Two.")).unwrap();
        let reused = ready.step_decisions();
        ready.start_run(()).unwrap().wait_output::<String>().await.unwrap();
        assert_eq!((asked(), reused.activity_decisions().len()), (0, 2));
        assert!(reused.activity_decisions().iter().all(|line| matches!(line.fate, ReuseDecision::Kept { .. })));
        let without = Engine::new().provider(model.clone()).reuse_answers(None).prepare_run(&flow("x")).err();
        assert!(matches!(without, Some(Error::NotStarted(_))), "there is no store");
    });
}
