//! Stored runs, as an embedder uses them.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use serde_json::{Value as Json, json};
use trefoil::store::{InboxMessage, MessageKind, SqliteStore, Status, Store, StoreOptions};
use trefoil::{Engine, Error, EventKind, Flow};
use trefoil_project::bundle::{PackedFlow, load_run_program};
use trefoil_store::{Blob, NewRun};

use crate::Folder;
use crate::root;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn store(folder: &Folder) -> SqliteStore {
    SqliteStore::open(folder.0.join("runs.db"), StoreOptions::default()).unwrap()
}

const TWO: &str =
    "id: two\nkind: sequential\nsteps:\n  - ref: first\n  - ref: second\n    input: { text: '{{first}}' }\n";
const FIRST: &str = "id: first\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Say one.\n";
const SECOND: &str =
    "id: second\nkind: llm\nmodel: { provider: openai, name: gpt-x }\ninstruction: Add two to {{text}}.\n";

fn two() -> Folder {
    Folder::with(&[("two.yaml", TWO), ("first.yaml", FIRST), ("second.yaml", SECOND)])
}

/// Answers with a counter, and hangs in one of its calls.
struct Counting {
    calls: Arc<AtomicU32>,
    stuck_at: u32,
}

#[async_trait::async_trait]
impl trefoil::ports::ModelProvider for Counting {
    async fn call_model(
        &self,
        _at: trefoil::ports::CallSite<'_>,
        _request: &trefoil::ports::ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<trefoil::ports::ModelAnswer, trefoil::ports::ModelError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if call == self.stuck_at {
            std::future::pending::<()>().await;
        }
        Ok(trefoil::ports::ModelAnswer::new(format!("answer {call}"), Default::default()))
    }
    fn label(&self, _request: &trefoil::ports::ModelRequest) -> String {
        "counting".to_owned()
    }
}

#[test]
fn a_run_that_was_cut_off_goes_on_elsewhere_with_the_files_it_began_with() {
    let folder = two();
    let calls = Arc::new(AtomicU32::new(0));
    let engine = |stuck_at| Engine::new().store(store(&folder)).provider(Counting { calls: calls.clone(), stuck_at });
    let id = runtime().block_on(async {
        let flow = Flow::load_from_disk(format!("{}#two", folder.0.display())).unwrap();
        let mut run = engine(2).start_run(&flow, ()).unwrap();
        let id = run.id().to_owned();
        while let Some(event) = run.next_event().await {
            if matches!(&event.kind, EventKind::ModelStarted { agent, .. } if &**agent == "second") {
                break;
            }
        }
        drop(run);
        tokio::time::sleep(Duration::from_millis(50)).await;
        id
    });
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    // Meanwhile one file is edited and another one removed.
    std::fs::write(folder.0.join("second.yaml"), SECOND.replace("two", "three")).unwrap();
    std::fs::remove_file(folder.0.join("first.yaml")).unwrap();
    runtime().block_on(async {
        let run = engine(0).resume_run(&id).await.unwrap();
        let text: String = run.wait_output().await.unwrap();
        assert_eq!(text, "answer 3", "the first call is not made again");
        let record = store(&folder).record(&id).await.unwrap();
        assert_eq!((record.status, record.spent.calls, record.spent.usage.unknown_calls), (Status::Completed, 3, 1));
        // It has ended, so resuming it returns the outcome.
        assert_eq!(engine(0).resume_run(&id).await.unwrap().wait_output::<String>().await.unwrap(), "answer 3");
        assert_eq!(calls.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn a_question_waits_in_the_store_for_its_answer() {
    let folder = Folder::with(&[]);
    let approval = root().join("examples/aegis/approval.yaml");
    let flow = Flow::load_from_disk(approval.to_str().unwrap()).unwrap();
    let engine = || Engine::new().store(store(&folder)).model("embedded");
    let input = json!({ "topic": "tide tables", "change": "x", "release": "1.2", "input": "x" });
    runtime().block_on(async {
        let run = engine().start_run(&flow, input).unwrap();
        let id = run.id().to_owned();
        let outcome = run.wait_outcome().await;
        assert_eq!(outcome.result.unwrap_err().code, "SUSPENDED");
        let [waiting] = outcome.waiting.as_slice() else { panic!("it waits for one") };
        assert_eq!(store(&folder).record(&id).await.unwrap().status, Status::Waiting);
        // Two processes cannot both resume it, and nothing changes until there is an answer.
        let again = engine().resume_run(&id).await.unwrap().wait_outcome().await;
        assert_eq!(again.result.unwrap_err().code, "SUSPENDED");
        let answer = waiting.accepts.first().cloned().unwrap_or_else(|| "yes".to_owned());
        let key = waiting.key.to_string();
        let as_of = store(&folder).record(&id).await.unwrap().entries;
        let (kind, value) = (MessageKind::Answer, answer.as_str().into());
        let letter = InboxMessage { kind, key, value, at: 1, as_of, sender: None };
        store(&folder).post_message(&id, letter).await.unwrap();
        let outcome = engine().resume_run(&id).await.unwrap().wait_outcome().await;
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        let kept = store(&folder);
        assert_eq!(kept.record(&id).await.unwrap().status, Status::Completed);
        assert_eq!(kept.read_inbox(&id).await.unwrap(), [], "a letter that was taken is gone");
    });
}

#[test]
fn a_run_is_one_engine_s_at_a_time() {
    let folder = two();
    runtime().block_on(async {
        let flow = Flow::load_from_disk(format!("{}#two", folder.0.display())).unwrap();
        let provider = || Counting { calls: Arc::default(), stuck_at: 1 };
        let mut run = Engine::new().store(store(&folder)).provider(provider()).start_run(&flow, ()).unwrap();
        while !matches!(run.next_event().await.unwrap().kind, EventKind::ModelStarted { .. }) {}
        let id = run.id().to_owned();
        let other = Engine::new().store(store(&folder)).provider(provider()).resume_run(&id).await;
        let Err(Error::Store(error)) = other else { panic!("it is in progress") };
        assert!(error.to_string().contains("in progress in another process"), "{error}");
    });
}

#[test]
fn a_run_that_nobody_knows_and_an_engine_without_a_store_say_so() {
    let folder = Folder::with(&[]);
    runtime().block_on(async {
        let unknown = Engine::new().store(store(&folder)).resume_run("0123").await.unwrap_err();
        expect!["unknown run `0123`"].assert_eq(unknown.to_string().lines().next().unwrap());
        let without = Engine::new().resume_run("0123").await.unwrap_err();
        expect![[r#"
            the run did not start

            error[no-store]: the engine has no store
             = help: set one with `Engine::store`"#]]
        .assert_eq(&without.to_string());
    });
}

/// Every example, loaded from its files in the store, gives the same program with the same fingerprint.
#[test]
fn what_the_store_keeps_makes_the_same_program() {
    let mut targets = Vec::new();
    for front in trefoil_front::FRONT_ENDS {
        let folder = root().join("examples").join(front.name());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "yaml") {
                targets.push(path);
            }
        }
    }
    assert!(targets.len() > 20);
    let folder = Folder::with(&[]);
    let kept = store(&folder);
    let failures = Mutex::new(Vec::new());
    runtime().block_on(async {
        for target in &targets {
            if let Err(why) = survives(&kept, target).await {
                failures.lock().unwrap().push(format!("{}: {why}", target.display()));
            }
        }
    });
    assert_eq!(failures.into_inner().unwrap(), Vec::<String>::new());
}

async fn survives(kept: &SqliteStore, target: &Path) -> Result<(), String> {
    let Ok(flow) = Flow::load_options().without_checks().load_from_disk(target.to_str().unwrap()) else {
        return Ok(());
    };
    let mut packed = PackedFlow::of_loaded(flow.loaded_target());
    let fingerprint = flow.loaded_target().program.fingerprint().to_string();
    // As if the folder had been deleted.
    let last = packed.blobs.pop().unwrap();
    let mut bundle: Json = serde_json::from_slice(last.content_bytes()).unwrap();
    bundle["root"] = Json::Null;
    let bundle = Blob::new(serde_json::to_vec(&bundle).unwrap());
    let hash = bundle.hash().to_string();
    packed.blobs.push(Arc::new(bundle));
    let run = target.to_string_lossy().into_owned();
    kept.create_run(NewRun { run: run.clone(), files: packed.blobs, ..NewRun::default() })
        .await
        .map_err(|e| e.to_string())?;
    let identity = trefoil_machine::ProgramIdentity { bundle: Some(hash), ..Default::default() };
    let (again, _) = load_run_program(kept, &run, &identity).await.map_err(|e| e.to_string())?;
    let now = again.program.fingerprint().to_string();
    if now == fingerprint { Ok(()) } else { Err("another program".to_owned()) }
}
