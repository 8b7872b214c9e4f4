//! Trefoil in a program of one's own: load a workflow, answer its model calls, read the result.
//!
//! `cargo run -p trefoil --example embed -- examples/agntz#write-review-loop`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::process::ExitCode;

use trefoil::models::ModelOverride;
use trefoil::template::Value;
use trefoil::{Engine, LoadOptions, Target, load};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let target = std::env::args().nth(1).unwrap_or_else(|| "examples/agntz#write-review-loop".to_owned());
    // Every mistake of the files is in the report, with its place.
    let loaded = match load(&Target::parse(&target), &LoadOptions::default()) {
        Ok(loaded) => loaded,
        Err(report) => {
            eprint!("{}", report.text());
            return ExitCode::from(2);
        }
    };
    // The embedded model needs no key. `EngineBuilder::provider` takes a model of your own, `tools` your tools.
    let engine = Engine::builder().model(ModelOverride::Embedded).build();
    let input = Value::from_json(serde_json::json!({"topic": "tide tables"}));
    match engine.run(&loaded, Some(input)).await {
        Ok(outcome) => match outcome.result {
            Ok(output) => println!("{:#}\n{} model calls", output.to_json(), outcome.calls),
            Err(error) => {
                eprintln!("{}: {}", error.code, error.message);
                return ExitCode::from(1);
            }
        },
        Err(not_started) => {
            eprint!("{}", not_started.text(&loaded));
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
