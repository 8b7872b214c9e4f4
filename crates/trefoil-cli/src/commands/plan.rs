//! `trefoil plan TARGET`: shows what a run would do, and what is proved about it.

use std::sync::Arc;

use clap::Args;
use trefoil::plan::ExpectedCost;
use trefoil::store::{Store, StoreError};
use trefoil::{AnswersFrom, Engine, Flow};
use trefoil_host::durable::spent_before;
use trefoil_project::load::{CheckOptions, LoadOptions, LoadedTarget};

use crate::args::{ModelArgs, PermissionArgs, ReportFormat, StoreArgs, TargetArgs, parse_dollars};
use crate::loading::{load_with, print_warnings};
use crate::store::block_on;
use crate::{obstacles, output};

/// How many earlier runs make the expected cost.
const RUNS: usize = 20;

/// Show what a run would do: order, reads and writes, models, worst-case number of calls, cost, and what is proved
#[derive(Args)]
pub struct PlanCommandArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    permissions: PermissionArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ReportFormat,
    /// Skip the checks, so that nothing is proved (load errors still prevent a plan)
    #[arg(long)]
    no_check: bool,
    /// Maximum cost in dollars that the run would have
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    max_cost: Option<u64>,
    #[command(flatten)]
    store: StoreArgs,
}

/// Exit code 0; 1: the plan cannot be written; 2: the target does not load, or the checks find errors, as before a run. What
/// would stop a run here is listed, and no failure.
pub fn run(args: &PlanCommandArgs) -> Result<u8, u8> {
    let operator = args.target.find_settings();
    let options = LoadOptions {
        checks: if args.no_check { None } else { Some(CheckOptions::default()) },
        proofs: true,
        ..args.target.load_options_with(&operator.settings)
    };
    let mut loaded = load_with(&args.target.parse_target(), &options)?;
    print_warnings(&loaded);
    if args.no_check {
        output::print_line("checks skipped (`--no-check`)");
    }
    let flow = Flow::from(loaded.clone());
    if !operator.findings.is_empty() {
        output::print_line(output::format_message_findings(&operator.findings, &operator.files).trim_end());
    }
    // Decided in the same way as by `run`, so that both show the same models.
    let engine = args.models.configure_engine(Engine::new(), &operator.settings);
    let answering = match engine.choose_models(&mut loaded.program) {
        Ok(answering) => {
            output::print_note(format!("answers come from: {}", answering.from));
            answering.elsewhere.iter().for_each(|elsewhere| output::print_note(elsewhere.to_string()));
            answering
        }
        // A program that cannot run here can still be shown; the obstacles say why.
        Err(_) => AnswersFrom::AsWritten.into(),
    };
    let host = args.permissions.host_args(&args.models);
    let lacks = obstacles::flow_obstacles(&obstacles::build_engine(&host, &operator.settings), &operator, &flow, None)?;
    let money = engine.price_flags(&loaded.program, &answering);
    let called = engine.callable_flows(&loaded.program);
    let mut plan = trefoil::plan::Plan::with_money(&loaded.program, &loaded.files, &money, &called);
    for found in &lacks {
        plan = plan.with_obstacles(found.found_diagnostics(), found.source_files());
    }
    if let Some(micro) = args.max_cost {
        plan = plan.with_limit(micro);
    }
    if let Some(cost) = expected(&args.store, &loaded, &answering.from) {
        plan = plan.with_expected(cost);
    }
    plan = plan.with_proofs(&loaded.proofs, &loaded.files);
    Ok(match args.format {
        ReportFormat::Text => output::write_result(plan.render_text()),
        ReportFormat::Json => output::json_result(&format_args!("{:#}", plan.to_json())),
    })
}

/// What the newest runs of this flow cost, if there are some in the store.
fn expected(store: &StoreArgs, loaded: &LoadedTarget, answers: &AnswersFrom) -> Option<ExpectedCost> {
    let store: Arc<dyn Store> = match store.try_open_to_read() {
        Ok(store) => store,
        Err(StoreError::Missing { .. }) => return None,
        Err(error) => {
            output::print_note(format!("earlier runs do not count for the expected cost: {error}"));
            return None;
        }
    };
    let costs = block_on(spent_before(&*store, loaded, answers, RUNS)).ok()?;
    let runs = costs.len();
    let mut sum = 0_u64;
    for cost in costs {
        sum = sum.saturating_add(cost);
    }
    Some(ExpectedCost { micro: sum.checked_div(u64::try_from(runs).ok()?)?, runs })
}
