//! Trefoil runs agent workflows written in YAML: agntz manifests, AEGIS agents and workflows, SirenSpec workflows.
//!
//! A [`Flow`] is a workflow that was read and checked. An [`Engine`] starts runs of flows, with the models, tools and people
//! that it was given. A [`Run`] is the handle on one of them: its events, its end, its output.
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
//!     let mut run = engine.start(&weather, serde_json::json!({ "city": "Bergen" }))?;
//!     while let Some(event) = run.event().await {
//!         eprintln!("{event}");
//!     }
//!     println!("{}", run.output::<String>().await?);
//!     Ok(())
//! }
//! ```
//!
//! # Flows
//!
//! [`Flow::load`] reads from disk, [`Flow::from_text`] and [`Flow::from_files`] from memory, where nothing on the disk is looked
//! at: for manifests that are kept in a database. Every mistake of every file is found at once; a flow with errors is no flow.
//! [`Flow::plan`] says what a run would do, [`Flow::graph`] draws it.
//!
//! A flow is prepared once and shared: load it when the program starts, and run it as often as needed.
//!
//! # Engines
//!
//! An [`Engine`] is put together by its methods: [`tool`](Engine::tool) takes a closure, [`model`](Engine::model) says who answers,
//! [`answer`](Engine::answer) speaks for people. What is not set has a default that costs nothing. Larger parts are traits, in
//! [`ports`]. Before a run starts, the engine looks for all that it could need: a run that lacks a tool, a key or an answer is not
//! started, and nothing is called.
//!
//! # Runs
//!
//! [`Engine::start`] takes an input that serde can write and returns a [`Run`] at once. The run has a task of its own.
//! [`Run::event`] gives its events as they happen, [`Run::output`] its output as a type that serde can read, [`Run::outcome`] also
//! what it has cost. [`Run::cancel`] ends it in good order; dropping the handle stops it at once.
//!
//! # Keeping runs
//!
//! With the feature `store`, [`Engine::store`](Engine#method.store) keeps runs in a file, and [`Engine::resume`] continues one that
//! was interrupted: what came back before is not done again.
//!
//! # Errors
//!
//! [`Error`] is the only error type. Shown, it has the lines of the manifest, and what to do. Its variants tell what a program
//! has to know: the [`Findings`] of a flow that does not load or start, the [`Failure`] of a run.

mod answers;
mod as_tool;
mod codes;
mod data;
mod describe;
mod door;
#[cfg(feature = "store")]
mod durable;
mod engine;
mod error;
mod fix;
mod flow;
mod input;
mod load;
mod preflight;
mod render;
mod run;
mod schema;
mod secrets;
mod settings;
mod shell;
mod trace;

pub mod diagnostics;
pub mod graph;
pub mod http;
#[doc(hidden)]
pub mod internals;
pub mod models;
pub mod plan;
pub mod ports;
#[cfg(feature = "store")]
pub mod runs;
#[cfg(feature = "store")]
pub mod store;

pub use engine::{AnswersFrom, Engine, Ready};
pub use error::{BoxError, Error, Failure, Findings, Result};
pub use flow::{Flow, FlowOptions};
pub use run::Run;

pub use trefoil_machine::Cause;
pub use trefoil_machine::guard::{Ruling, Side, Verdict};
pub use trefoil_runtime::{Cancel, Event, EventKind, Key, RunError, RunOutcome as Outcome};
pub use trefoil_template::Value;
