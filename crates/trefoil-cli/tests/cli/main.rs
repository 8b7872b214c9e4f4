//! The real binary, as a user runs it. It never gets a provider's key from the environment.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and a skipped one says so"
)]

#[cfg(unix)]
mod advice;
#[cfg(all(feature = "mcp", unix))]
mod altered_leaks;
#[cfg(all(feature = "mcp", unix))]
mod answered;
mod attacks;
mod bad_input;
mod bomb;
mod cancel;
mod check;
mod corpus;
#[cfg(all(feature = "mcp", unix))]
mod corpus_tools;
#[cfg(unix)]
mod cut_off;
#[cfg(unix)]
mod declared;
mod dev;
mod dev_calls;
mod dev_keys;
mod discovery;
#[cfg(unix)]
mod docs;
mod durable;
mod edited;
mod edited_calls;
mod edited_flows;
#[cfg(unix)]
mod edited_inner;
mod examples;
mod fix;
mod flow_limits;
mod flow_tools;
#[cfg(unix)]
mod init;
mod inputs;
#[cfg(unix)]
mod kept;
mod kept_limits;
mod labels;
#[cfg(unix)]
mod leaks;
mod levels;
mod lsp;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_calls;
#[cfg(all(feature = "mcp", unix))]
mod mcp_others;
#[cfg(unix)]
mod model_neighbours;
#[cfg(unix)]
mod nested_projects;
mod next_commands;
mod offer;
mod pages;
mod plan_checks;
mod plan_graph_ir;
mod plan_limits;
mod preflight;
mod private_values;
#[cfg(unix)]
mod provider;
#[cfg(unix)]
#[allow(dead_code, reason = "shared with other tests")]
mod pty;
#[cfg(unix)]
mod rates;
mod readme;
mod reference;
mod render;
mod reuse;
mod run;
mod run_views;
mod secret_inputs;
mod secrets;
mod settled;
#[cfg(unix)]
mod step_names;
mod stopped;
mod store;
#[cfg(unix)]
mod stored;
mod terminal;
mod tool_checks;
mod tool_effects;
#[cfg(all(feature = "mcp", unix))]
mod tool_leaks;
#[cfg(all(feature = "mcp", unix))]
mod tool_names;
#[cfg(all(feature = "mcp", unix))]
mod tool_neighbours;
#[cfg(all(feature = "mcp", unix))]
mod tool_told;
mod tools;
mod trace;
mod unasked;
mod unknown;
#[cfg(unix)]
mod worked_time;
mod worker;
mod world;
