//! `trefoil rules`: lists the rules, one on each line.

use clap::Args;
use serde_json::json;
use trefoil_check::Rule;
use trefoil_check::catalogue::{in_order, level_word};

use crate::args::ReportFormat;
use crate::columns::format_columns;
use crate::output;

/// List the rules and their levels
#[derive(Args)]
pub struct RulesCommandArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ReportFormat,
}

/// Exit code 0; 1: the list cannot be written.
pub fn run(args: &RulesCommandArgs) -> u8 {
    match args.format {
        ReportFormat::Text => output::write_result(table()),
        ReportFormat::Json => {
            let all: Vec<_> = in_order().map(as_json).collect();
            output::json_result(&format_args!("{:#}", serde_json::Value::Array(all)))
        }
    }
}

fn as_json(rule: &'static Rule) -> serde_json::Value {
    json!({
        "name": rule.name,
        "group": rule.group.name(),
        "level": level_word(rule.level),
        "strict_level": level_word(rule.strict.or(rule.level)),
        "found_by": if rule.is_of_loading() { "loading" } else { "checking" },
        "summary": rule.page_summary().replace('\n', " "),
    })
}

/// Columns are as wide as their contents; the summary is last, because it may be long.
fn table() -> String {
    let mut rows = vec![["rule", "level", "--strict", "group", "what"].map(str::to_owned)];
    for rule in in_order() {
        let strict = match rule.strict {
            Some(level) => level_word(Some(level)),
            None => "",
        };
        let cells = [rule.name, level_word(rule.level), strict, rule.group.name(), rule.page_summary()];
        rows.push(cells.map(|cell| cell.replace('\n', " ")));
    }
    let mut table = String::new();
    for line in format_columns(rows) {
        table.push_str(&line);
        table.push('\n');
    }
    table
}
