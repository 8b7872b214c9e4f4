//! `trefoil check PATH…`: reports the findings of all files in one pass.

use clap::{Args, ValueEnum};
use trefoil_check::catalogue::in_order;
use trefoil_check::{Rule, RunCostLimits};
use trefoil_host::engine::add_findings;
use trefoil_project::fix::{AppliedFix, FileChange, FixResult};
use trefoil_project::load::{CheckLeftovers, CheckOptions, LoadOptions, LoadReport};
use trefoil_project::target::LoadTarget;
use trefoil_syntax::diagnostic::render::{SarifRule, render_github, render_json, render_sarif, render_summary};

use crate::args::{DialectArg, LevelArgs, ModelArgs, PathArgs, PermissionArgs, parse_dollars};
use crate::progress::CheckProgressDisplay;
use crate::{exit, obstacles, output, shown};

/// Check manifests and report every mistake
#[derive(Args)]
pub struct CheckCommandArgs {
    /// Manifests, or folders of manifests
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    dialect: DialectArg,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: CheckFormat,
    #[command(flatten)]
    levels: LevelArgs,
    /// Report workflows that could need more model calls than this
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
    /// Report workflows whose maximum cost exceeds this
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    max_cost: Option<u64>,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    no_config: bool,
    /// Ignore `# trefoil: allow` comments (for CI with manifests from others)
    #[arg(long)]
    no_inline: bool,
    #[command(flatten)]
    allowed: PathArgs,
    /// Maximum number of manifests read from a folder
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_files: usize,
    /// Also report what a run lacks on this machine: variables, keys, programs (CI has others)
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    here: bool,
    #[command(flatten)]
    permissions: PermissionArgs,
    /// Apply safe fixes and report the remaining findings
    #[arg(long)]
    fix: bool,
    /// Show the changes of `--fix` as a diff without applying them
    #[arg(long)]
    diff: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    Text,
    Json,
    Sarif,
    Github,
}

/// Exit code 0: no errors; 1: errors, or a file that could not be fixed; 2: a path cannot be read.
pub fn run(args: &CheckCommandArgs) -> Result<u8, u8> {
    let checks = CheckOptions {
        levels: args.levels.0.clone(),
        limits: RunCostLimits { max_calls: args.max_calls, max_cost: args.max_cost },
        without_project: args.no_config,
        without_comments: args.no_inline,
    };
    let dialect = args.dialect.dialect.map(|d| d.0);
    let own = trefoil_project::settings::load_user_settings();
    let progress = CheckProgressDisplay::start_if_terminal();
    let options = LoadOptions {
        dialect,
        checks: Some(checks),
        // A check may read the same trusted folders as a run.
        allowed: args.allowed.allow_path.iter().chain(&own.allowed).cloned().collect(),
        allowed_by_projects: !args.no_config,
        supplied: own.supplied_declarations(),
        max_files: Some(args.max_files),
        progress: progress.as_ref().map(CheckProgressDisplay::progress_listener),
        ..LoadOptions::default()
    };
    let mut read = CheckLeftovers::default();
    let fixed = match (args.fix, args.diff) {
        (_, true) => trefoil_project::fix::preview_fixes(&args.paths, &options),
        (true, false) => trefoil_project::fix::apply_fixes(&args.paths, &options),
        (false, false) => {
            let (mut report, kept) = trefoil_project::load::check_and_keep(&args.paths, &options);
            read = kept;
            if args.here {
                add_obstacles(args, &options, &mut report)?;
            }
            FixResult { report, ..FixResult::default() }
        }
    };
    drop(progress);
    let mended = if args.diff { exit::OK } else { tell(&fixed) };
    if args.diff {
        tell_withdrawn(&fixed);
    }
    let (report, changes) = (fixed.report, fixed.changes);
    let written = if args.diff {
        let mut found = output::format_message_findings(&report.diagnostics, &report.files);
        found.push(render_summary(&report.diagnostics, report.checked));
        output::print_line(found.trim());
        output::write_data(&changes.iter().map(FileChange::unified_diff).collect::<String>())
    } else {
        print(&report, args.format)
    };
    let code = if report.unreadable {
        exit::NOT_STARTED
    } else if report.has_errors() {
        exit::FAILED
    } else {
        written.max(mended)
    };
    // The process ends here. Dropping a thousand steps one by one would take longer than some checks.
    std::mem::forget((report, read));
    Ok(code)
}

/// Adds what would stop a run here.
fn add_obstacles(args: &CheckCommandArgs, options: &LoadOptions, report: &mut LoadReport) -> Result<(), u8> {
    let options = LoadOptions { progress: None, checks: None, ..options.clone() };
    for path in &args.paths {
        // What does not load is a finding of the check.
        let target = LoadTarget { path: path.into(), id: None };
        for (flow, own) in obstacles::flows_at(&target, &options, args.no_config).into_iter().flatten() {
            let engine = obstacles::build_engine(&args.permissions.host_args(&ModelArgs::default()), &own.settings);
            let found = obstacles::flow_obstacles(&engine, &own, &flow, None)?;
            found.iter().for_each(|found| add_findings(report, found));
        }
    }
    Ok(())
}

fn print(report: &LoadReport, format: CheckFormat) -> u8 {
    let found = &report.diagnostics;
    match format {
        CheckFormat::Json => output::json_text(&render_json(found, &report.files, report.checked)),
        CheckFormat::Sarif => {
            let rules: Vec<_> = in_order().map(described).collect();
            output::json_text(&render_sarif(found, &report.files, &rules, env!("CARGO_PKG_VERSION")))
        }
        CheckFormat::Github => output::write_data(&render_github(found, &report.files)),
        CheckFormat::Text => {
            let mut text = output::format_result_findings(found, &report.files);
            if !text.is_empty() {
                text.push("\n");
            }
            text.push(format!("{}{}\n", render_summary(found, report.checked), fixable(report)));
            output::write_result(text)
        }
    }
}

/// How many findings `--fix` would fix, because the report does not show which of its fixes are safe.
fn fixable(report: &LoadReport) -> String {
    match report.diagnostics.iter().filter(|d| d.fix.as_ref().is_some_and(|fix| fix.safe)).count() {
        0 => String::new(),
        n => format!("; {n} fixable with `--fix`"),
    }
}

fn described(rule: &'static Rule) -> SarifRule<'static> {
    SarifRule { name: rule.name, summary: rule.page_summary(), page: rule.page, level: rule.level }
}

/// Reports what was fixed, in which files, and what could not be fixed.
fn tell(fixed: &FixResult) -> u8 {
    for mended in &fixed.done {
        output::print_line(shown!("fixed {}:{}: {} ({})", mended.file, mended.line, mended.message, mended.rule));
    }
    tell_withdrawn(fixed);
    if !fixed.changes.is_empty() {
        let names: Vec<&str> = fixed.changes.iter().map(|change| change.file.as_str()).collect();
        let files = if names.len() == 1 { "1 file".to_owned() } else { format!("{} files", names.len()) };
        output::print_line(shown!("changed {}: {}", files, names.join(", ")));
    }
    for (file, why) in &fixed.refused {
        output::print_error(&format!("`{file}` was not changed: {why}"), None);
    }
    if fixed.refused.is_empty() { exit::OK } else { exit::FAILED }
}

/// Reports the fixes that were not applied, and why.
fn tell_withdrawn(fixed: &FixResult) {
    for withdrawn in &fixed.withdrawn {
        let AppliedFix { file, line, rule, message } = &withdrawn.fix;
        output::print_line(shown!("not fixed {}:{}: {} ({}): {}", file, line, message, rule, withdrawn.why));
    }
}
