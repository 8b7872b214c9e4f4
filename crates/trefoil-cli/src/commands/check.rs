//! `trefoil check PATH…`: every finding of every file in one pass.

use clap::{Args, ValueEnum};
use trefoil::LoadOptions;
use trefoil::syntax::diagnostic::render::{github, json, summary};

use crate::args::DialectArg;
use crate::{exit, output};

/// Check manifests, and show every mistake in all of them
#[derive(Args)]
pub struct Check {
    /// Manifests, or folders with manifests
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    dialect: DialectArg,
    /// How to print the findings
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Count unknown keys as errors
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Github,
}

/// Exit code 0: no errors; 1: errors; 2: a path that cannot be read.
pub fn run(args: &Check) -> u8 {
    let options = LoadOptions { dialect: args.dialect.dialect.map(|d| d.0), ..LoadOptions::default() };
    let mut checks = trefoil::Checks::default();
    if args.strict {
        checks.levels.strict();
    }
    let options = LoadOptions { checks: Some(checks), ..options };
    let report = trefoil::check(&args.paths, &options);
    let found = &report.diagnostics;
    let written = output::result(&match args.format {
        Format::Json => json(found, &report.files, report.checked),
        Format::Github => github(found, &report.files),
        Format::Text => {
            let mut text = output::diagnostics(found, &report.files);
            if !text.is_empty() {
                text.push('\n');
            }
            text + &summary(found, report.checked) + "\n"
        }
    });
    if report.unreadable {
        exit::NOT_STARTED
    } else if report.has_errors() {
        exit::FAILED
    } else {
        written
    }
}
