//! `trefoil runs fork RUN --server URL`: a new run with the results of an earlier one.

use serde_json::json;
use trefoil_machine::{LimitKind, RunLimits};
use trefoil_server::{ForkPreview, RunSummary, StepPreview};

use super::client::ServerClient;
use super::diff::reason_line;
use super::follow::FollowedRun;
use super::run::{add_start_options, read_input};
use super::run_lookup::find_detail;
use crate::runs::fork::RunsForkArgs;
use crate::store::block_on;
use crate::terminal_text::TerminalText;
use crate::{exit, output, shown};

/// The exit codes of `run`.
pub fn fork_run(address: &str, args: &RunsForkArgs) -> Result<u8, u8> {
    let client = ServerClient::for_address(address)?;
    block_on(fork_and_follow(&client, args))?
}

async fn fork_and_follow(client: &ServerClient, args: &RunsForkArgs) -> Result<u8, u8> {
    let limits = args.spec.limits.run_limits();
    refuse_lifted(limits)?;
    let past = find_detail(client, &args.run).await?.summary;
    let run = past.run;
    let mut body = json!({ "rerun": args.rerun, "dry_run": args.dry_run, "only": args.only });
    if let (Some(members), Some(from)) = (body.as_object_mut(), &args.from) {
        members.insert("from".to_owned(), json!(from));
    }
    if !args.inputs.is_empty() || args.input_json.is_some() {
        let input = read_input(client, &past.flow, &args.inputs, args.input_json.as_deref()).await?;
        if let Some(members) = body.as_object_mut() {
            members.insert("input".to_owned(), input);
        }
    }
    add_start_options(&mut body, args.labels.given_labels(), limits);
    let path = ["runs", &run, "fork"];
    if args.dry_run {
        let read = client.post_json(&path, &body).await;
        let preview: ForkPreview = read.map_err(|failure| client.report_failure(&failure))?;
        return Ok(print_preview(&run, &preview));
    }
    let begun = client.post_start(&path, &body, args.show.quiet).await;
    let begun: RunSummary = begun.map_err(|failure| client.report_failure(&failure))?;
    FollowedRun::new(client, &begun.run, &begun.flow, &args.show).follow_to_end().await
}

/// Refuses `none`: a server has limits of its own, which nobody lifts from here.
fn refuse_lifted(limits: RunLimits) -> Result<(), u8> {
    for (kind, limit) in [(LimitKind::Calls, limits.calls), (LimitKind::Cost, limits.cost_micro)] {
        if limit == Some(kind.of_default())
            && let Some(option) = kind.option_name()
        {
            let why = format!("`{option} none` cannot be used with a server: its own limits hold");
            return Err(output::report_not_started(&why, Some(&format!("pass an amount to `{option}`, or remove it"))));
        }
    }
    Ok(())
}

/// Prints what a fork would do. The exit code says whether it would do anything.
fn print_preview(run: &str, preview: &ForkPreview) -> u8 {
    let color = output::has_result_colors();
    let mut lines = Vec::new();
    for step in &preview.steps {
        if step.decision != "kept" {
            lines.extend(preview_lines(step, color));
        }
    }
    for step in preview.later.iter().chain(&preview.unused) {
        lines.extend(preview_lines(step, color));
    }
    if let Some(error) = &preview.error {
        lines.push(shown!("it would end there: {}", error));
    }
    lines.push(shown!("{} of run {} would be kept", preview.kept, run));
    let code = if preview.up_to_date { exit::OK } else { exit::FAILED };
    code.max(output::write_result(shown!("{}\n", TerminalText::join(lines, "\n"))))
}

/// A step, with the reasons below each other.
fn preview_lines(step: &StepPreview, color: bool) -> Vec<TerminalText> {
    let decision = if step.decision == "stopped" { "stops" } else { &step.decision };
    let head = format!("{decision:>6}  {}", step.key);
    if decision == "later" {
        return vec![shown!("{}: depends on the new results", head)];
    }
    let mut reasons = step.reasons.iter().map(|reason| reason_line(reason, color));
    let mut lines = match reasons.next() {
        Some(first) => vec![shown!("{}  {}", head, first)],
        None => vec![TerminalText::from_line(&head)],
    };
    for reason in reasons {
        lines.push(shown!("{}{}", " ".repeat(10), reason));
    }
    lines
}
