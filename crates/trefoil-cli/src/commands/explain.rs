//! `trefoil explain RULE`: the rule's page, laid out for a terminal.

use std::fmt::Write as _;

use clap::Args;
use trefoil::checker::catalogue::level;
use trefoil::checker::{Rule, Run, rule};

use crate::args::no_such_rule;
use crate::{exit, output};

/// Tell what a rule is about, with examples, and how to mend what it finds
#[derive(Args)]
pub struct Explain {
    /// The rule's name, as findings show it: `error[RULE]`
    #[arg(value_name = "RULE")]
    rule: String,
}

/// Exit code 0; 1 if it cannot be written; 2 if there is no such rule.
pub fn run(args: &Explain) -> u8 {
    match rule(&args.rule) {
        Some(rule) => output::result(&page(rule)),
        None => {
            let (message, help) = no_such_rule(&args.rule);
            output::refuse(&message, Some(&help));
            exit::NOT_STARTED
        }
    }
}

/// The page with a line about levels under its title; examples are set in, marks of Markdown that only a reader of
/// Markdown needs are gone.
fn page(rule: &Rule) -> String {
    let bold = anstyle::Style::new().bold();
    let code = anstyle::AnsiColor::Cyan.on_default();
    let mut out = String::new();
    let mut example = false;
    for line in rule.page.trim_end().lines() {
        let line = if let Some(language) = line.strip_prefix("```") {
            example = !example;
            // A second file of an example has its name behind the language.
            match language.split(' ').skip(1).find(|word| word.contains('.')) {
                Some(file) => format!("    {bold}{file}:{bold:#}"),
                None => continue,
            }
        } else if let Some(why) = line.strip_prefix("<!-- no example: ").and_then(|rest| rest.strip_suffix(" -->")) {
            format!("(There is no example: {why}.)")
        } else if example && line.is_empty() {
            String::new()
        } else if example {
            format!("    {code}{line}{code:#}")
        } else if let Some(title) = line.strip_prefix("# ") {
            format!("{bold}{title}{bold:#}  ({})", about(rule))
        } else if let Some(title) = line.strip_prefix("## ") {
            format!("{bold}{title}{bold:#}")
        } else {
            inline(line, code)
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn about(rule: &Rule) -> String {
    let mut out = format!("{}, {}", rule.group.name(), level(rule.level));
    if let Some(strict) = rule.strict {
        let _ = write!(out, ", with --strict {}", level(Some(strict)));
    }
    if matches!(rule.run, Run::Load) {
        out.push_str(", found by loading");
    }
    out
}

/// A line with what is in backticks coloured; the backticks stay, they can be seen without colours.
fn inline(line: &str, code: anstyle::Style) -> String {
    let mut out = String::new();
    for (at, part) in line.split('`').enumerate() {
        match at {
            0 => out.push_str(part),
            n if n % 2 == 1 => {
                let _ = write!(out, "`{code}{part}{code:#}");
            }
            _ => {
                let _ = write!(out, "`{part}");
            }
        }
    }
    out
}
