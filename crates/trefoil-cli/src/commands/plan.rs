//! `trefoil plan TARGET`: shows what a run would do.

use clap::{Args, ValueEnum};
use trefoil::{AnswersFrom, Engine};
use trefoil_syntax::{Diagnostic, Severity};

use super::{load, warn};
use crate::args::TargetArgs;
use crate::model::ModelArgs;
use crate::output;

/// Show what a run would do: order, reads and writes, models, worst-case number of calls, cost
#[derive(Args)]
pub struct Plan {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    models: ModelArgs,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: PlanFormat,
}

#[derive(Clone, Copy, ValueEnum)]
enum PlanFormat {
    Text,
    Json,
}

/// Exit code 0; 1: the plan cannot be written; 2: the target does not load.
pub fn run(args: &Plan) -> u8 {
    let mut loaded = match load(&args.target) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    warn(&loaded);
    let operator = args.target.settings();
    output::say(output::diagnostics(&operator.findings, &operator.files).trim_end());
    // Decided in the same way as by `run`, so that both show the same models.
    let engine = args.models.apply(Engine::new(), &operator.settings);
    let answering = match engine.aim(&mut loaded.program) {
        Ok(answering) => {
            output::note(format!("answers come from: {}", answering.from));
            answering.elsewhere.iter().for_each(|elsewhere| output::note(elsewhere.to_string()));
            answering
        }
        Err(reasons) => {
            // A program that cannot run can still be shown, so these errors become warnings.
            let told = reasons.into_iter().map(|d| Diagnostic { severity: Severity::Warning, ..d });
            output::say(output::diagnostics(&told.collect::<Vec<_>>(), &loaded.files));
            AnswersFrom::AsWritten.into()
        }
    };
    let money = engine.money(&loaded.program, &answering);
    let called = engine.called(&loaded.program);
    let plan = trefoil::plan::Plan::with_money(&loaded.program, &loaded.files, &money, &called);
    match args.format {
        PlanFormat::Text => output::result(plan.text()),
        PlanFormat::Json => output::json_result(&format_args!("{:#}", plan.json())),
    }
}
