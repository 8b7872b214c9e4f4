//! Trefoil runs agent workflows written in YAML: agntz manifests, AEGIS agents and workflows, SirenSpec workflows.
//!
//! A [`Flow`] is a workflow that has been read and checked. An [`Engine`] starts runs of flows, with the models, tools
//! and people that you configure. A [`Run`] is the handle of one run: its events, its outcome, its output.
//!
//! # Example
//!
//! ```
//! use trefoil::{Engine, Flow};
//!
//! #[derive(serde::Deserialize)]
//! struct Place {
//!     city: String,
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> trefoil::Result<()> {
//!     let weather = Flow::from_text("weather.yaml", include_str!("../examples/weather.yaml"))?;
//!     let engine = Engine::new()
//!         .model("embedded") // placeholder answers; without this line, the manifest's models
//!         .tool("forecast", async |at: Place| Ok(serde_json::json!({ "degrees": at.city.len() })));
//!     let mut run = engine.start_run(&weather, serde_json::json!({ "city": "Bergen" }))?;
//!     while let Some(event) = run.next_event().await {
//!         eprintln!("{event}");
//!     }
//!     println!("{}", run.wait_output::<String>().await?);
//!     Ok(())
//! }
//! ```
//!
//! The page [`docs/embedding.md`](https://github.com/trefoil-dev/trefoil/blob/main/docs/embedding.md) shows more: questions, runs that continue
//! in another process, and what replaces the settings of the command. The folder `examples` of this crate also has a program each for an own model provider with streaming text, for people who answer,
//! and for runs that are kept.
//!
//! # Flows
//!
//! [`Flow::load_from_disk`] reads from disk. [`Flow::from_text`] and [`Flow::from_files`] read from memory and never access the
//! disk, for example for manifests stored in a database. All mistakes in all files are reported together; a manifest
//! with errors does not load. [`Flow::plan`] describes a run without starting it, [`Flow::draw_graph`] draws it.
//!
//! A flow is prepared once and shared: load it when the program starts, and run it as often as needed.
//!
//! # Engines
//!
//! An [`Engine`] is configured by its methods: [`tool`](Engine::tool) registers a closure, [`model`](Engine::model)
//! chooses the model, [`answer`](Engine::answer) answers a human step. Every setting has a default. Larger parts are
//! traits, in [`ports`]. Before a run starts, the engine checks that everything it could need is available: if a tool,
//! a key or an answer is missing, the run does not start, and nothing is called.
//!
//! # Runs
//!
//! [`Engine::start_run`] takes any input that serde can serialize and returns a [`Run`] immediately. The run is a separate
//! task. [`Run::next_event`] returns its events as they happen, [`Run::wait_output`] its output, deserialized by serde, and
//! [`Run::wait_outcome`] also its cost. [`Run::request_cancel`] ends it gracefully; dropping the handle aborts it.
//!
//! # Keeping runs
//!
//! [`Engine::store`] keeps runs in a file, and [`Engine::resume_run`] continues an interrupted run without repeating completed
//! calls.
//!
//! # Errors
//!
//! [`Error`] is the only error type. Its `Display` form shows the relevant lines of the manifest, and how to fix the
//! problem. Its variants contain the details for programs: the [`FoundErrors`] of a flow that does not load or start, the
//! [`RunFailure`] of a run.

/// The programs of the page are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingPage;

pub mod diagnostics;
pub mod http;
pub mod models;
pub mod ports;
pub mod runs;
pub mod store;

pub use trefoil_view::{graph, plan};

pub use trefoil_host::{AnswerRefusal, AnswersFrom, Engine, ReadyRun, Run, RunCancellation, RunFollower, Runs};
pub use trefoil_project::{BoxError, Error, Flow, FlowOptions, FoundErrors, Result, RunFailure};

pub use trefoil_machine::guard::{CheckSubject, Verdict, VerdictRuling};
pub use trefoil_machine::{AnswerSender, FailureCause};
pub use trefoil_runtime::{CancelSwitch, Event, EventKind, Key, RunError, RunOutcome as Outcome};
pub use trefoil_template::Value;
