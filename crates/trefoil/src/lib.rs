//! Trefoil: load, check, plan, draw and run agent workflows written in YAML.
//!
//! This is the crate to depend on. The crates beneath it are re-exported under their names.

pub mod door;
pub mod load;

pub mod fix;

pub mod graph;
pub mod plan;

pub mod render;
pub mod schema;

pub mod answers;
pub mod codes;
pub mod engine;
pub mod input;
pub mod preflight;
pub mod settings;
pub mod shell;
pub mod trace;

mod data;
mod describe;

pub use data::data;

pub use trefoil_check as checker;
pub use trefoil_embedded as embedded;
pub use trefoil_front as front;
pub use trefoil_ir as ir;
pub use trefoil_machine as machine;
pub use trefoil_models as models;
pub use trefoil_runtime as runtime;
pub use trefoil_syntax as syntax;
pub use trefoil_template as template;

pub use engine::{AnswersFrom, Engine, EngineBuilder, NotStarted, Ready};
pub use fix::{Fixed, fix, preview};
pub use load::{Cache, Checks, LoadOptions, Loaded, Progress, Report, Step, Target, check, load};
pub use plan::Plan;
