//! Runs that are stored in a file, and resumed from it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use trefoil::ports::{CallSite, ModelAnswer, ModelError, ModelProvider, ModelRequest, Usage};
use trefoil::store::{ContentHash, SqliteStore, Status, Store, StoreError, StoreOptions};
use trefoil::{Engine, Error, Flow};

const MAIN: &str =
    "id: main\nkind: sequential\nsteps:\n  - ref: first\n  - ref: second\n    input: { text: \"{{first}}\" }\n";
const FIRST: &str =
    "id: first\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: You write.\nprompt: One.\n";
const SECOND: &str = "id: second\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninputSchema: { text: string }\ninstruction: You write.\nprompt: \"{{text}} Two.\"\n";

fn flow() -> Flow {
    Flow::from_files("#main", [("main.yaml", MAIN), ("first.yaml", FIRST), ("second.yaml", SECOND)]).unwrap()
}

/// Answers with its request, counts calls, and hangs at one step.
#[derive(Clone, Default)]
struct Model {
    calls: Arc<Mutex<BTreeMap<String, u32>>>,
    hangs: Option<&'static str>,
}

#[async_trait]
impl ModelProvider for Model {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        *self.calls.lock().unwrap().entry(at.key.to_string()).or_default() += 1;
        if self.hangs.is_some_and(|step| at.key.as_str().contains(step)) {
            std::future::pending::<()>().await;
        }
        let text = request.messages.last().unwrap().content.to_text().to_string();
        Ok(ModelAnswer::new(text, Usage { input_tokens: 5, output_tokens: 2, ..Usage::default() }))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "own".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_handle_was_dropped_is_continued_by_another_engine() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap());
    let flow = flow();
    let (model, store) = (Model { hangs: Some("second"), ..Model::default() }, open());
    let engine = Engine::new().provider(model.clone()).store(store.clone());
    let run = engine.start_run(&flow, ()).unwrap();
    let id = run.id().to_owned();
    while model.calls.lock().unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let other = Engine::new().provider(Model::default()).store(open());
    assert!(matches!(other.resume_run(&id).await, Err(Error::Store(StoreError::Held { .. }))));
    drop(run);
    while store.record(&id).await.unwrap().owner.is_some() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // Its files are in the store, by the hashes in its journal.
    for text in [MAIN, FIRST, SECOND] {
        assert_eq!(
            store.read_blob(ContentHash::from_bytes(text.as_bytes())).await.unwrap().as_deref(),
            Some(text.as_bytes())
        );
    }
    let (again, store) = (Model::default(), open());
    let engine = Engine::new().provider(again.clone()).store(store.clone());
    let outcome = engine.resume_run(&id).await.unwrap().wait_outcome().await;
    assert_eq!(outcome.result.unwrap().to_json(), serde_json::json!("One. Two."));
    assert_eq!((outcome.calls, outcome.usage.input_tokens), (3, 10), "the call in progress was made, too");
    assert_eq!(again.calls.lock().unwrap().len(), 1, "only what had not come back was asked again");
    let record = store.record(&id).await.unwrap();
    assert_eq!((record.status, record.flow.as_str(), record.spent.calls), (Status::Completed, "main", 3));
    // Resuming a run that has ended returns its outcome.
    let output: String = engine.resume_run(&id).await.unwrap().wait_output().await.unwrap();
    assert_eq!(output, "One. Two.");
    assert_eq!(again.calls.lock().unwrap().len(), 1);
    let nobody = engine.resume_run("nobody").await.unwrap_err().to_string();
    assert_eq!(nobody, "unknown run `nobody`\n\nlist the runs of the store");
}

#[tokio::test]
async fn an_engine_that_is_done_gives_its_runs_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap());
    let model = Model { hangs: Some("first"), ..Model::default() };
    let engine = Engine::new().provider(model.clone()).store(store.clone());
    let run = engine.start_run(&flow(), ()).unwrap();
    while model.calls.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    engine.release_runs().await.unwrap();
    assert_eq!(store.record(run.id()).await.unwrap().owner, None);
}
