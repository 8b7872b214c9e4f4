//! Loads targets and settings, and reports what prevents it.

use trefoil_project::load::{LoadOptions, LoadedTarget};
use trefoil_project::settings::{FoundSettings, Settings};
use trefoil_project::target::LoadTarget;
use trefoil_syntax::FindingSeverity;

use crate::args::TargetArgs;
use crate::{exit, output};

/// Loads a target. On failure, reports why and returns the exit code.
pub fn load_target(args: &TargetArgs) -> Result<LoadedTarget, u8> {
    load_with(&args.parse_target(), &args.load_options())
}

/// The same with other options.
pub fn load_with(target: &LoadTarget, options: &LoadOptions) -> Result<LoadedTarget, u8> {
    trefoil_project::load::load_target(target, options).map_err(|report| {
        output::print_line(output::format_message_findings(&report.diagnostics, &report.files).trim_end());
        exit::NOT_STARTED
    })
}

/// Prints the warnings about a loaded target.
pub fn print_warnings(loaded: &LoadedTarget) {
    // Findings below a warning are reported only by `check`.
    let found: Vec<_> = loaded.diagnostics.iter().filter(|d| d.severity > FindingSeverity::Info).cloned().collect();
    if !found.is_empty() {
        output::print_line(output::format_message_findings(&found, &loaded.files));
    }
}

/// The operator's settings. If a project file is not trusted, its requests are reported and the run does not start.
pub fn accept_settings(operator: FoundSettings) -> Result<Settings, u8> {
    if operator.findings.is_empty() {
        return Ok(operator.settings);
    }
    output::print_line(output::format_message_findings(&operator.findings, &operator.files).trim_end());
    Err(exit::NOT_STARTED)
}
