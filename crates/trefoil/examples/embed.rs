//! Trefoil in your own program: load a workflow, give it a tool, watch the run, read the result.
//!
//! `cargo run -p trefoil --example embed`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use trefoil::{Engine, Flow};

#[derive(serde::Deserialize)]
struct Place {
    city: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> trefoil::Result<()> {
    let weather = Flow::from_text("weather.yaml", include_str!("../examples/weather.yaml"))?;
    let engine = Engine::new()
        .model("embedded") // placeholder answers; without this line, the manifest's models
        .tool("forecast", async |at: Place| Ok(serde_json::json!({ "degrees": at.city.len() })));
    let mut run = engine.start_run(&weather, serde_json::json!({ "city": "Bergen" }))?;
    while let Some(event) = run.next_event().await {
        eprintln!("{event}");
    }
    println!("{}", run.wait_output::<String>().await?);
    Ok(())
}
