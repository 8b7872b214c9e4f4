//! `trefoil rules`: lists the rules, one on each line.

use clap::{Args, ValueEnum};
use serde_json::json;
use trefoil_check::Rule;
use trefoil_check::catalogue::{in_order, level};

use crate::output;

/// List the rules and their levels
#[derive(Args)]
pub struct Rules {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: RulesFormat,
}

#[derive(Clone, Copy, ValueEnum)]
enum RulesFormat {
    Text,
    Json,
}

/// Exit code 0; 1: the list cannot be written.
pub fn run(args: &Rules) -> u8 {
    match args.format {
        RulesFormat::Text => output::result(table()),
        RulesFormat::Json => {
            let all: Vec<_> = in_order().map(as_json).collect();
            output::json_result(&format_args!("{:#}", serde_json::Value::Array(all)))
        }
    }
}

fn as_json(rule: &'static Rule) -> serde_json::Value {
    json!({
        "name": rule.name,
        "group": rule.group.name(),
        "level": level(rule.level),
        "strict_level": level(rule.strict.or(rule.level)),
        "found_by": if rule.is_of_loading() { "loading" } else { "checking" },
        "summary": rule.summary().replace('\n', " "),
    })
}

/// Columns are as wide as their contents; the summary is last, because it may be long.
fn table() -> String {
    let head = ["rule", "level", "--strict", "group", "what"].map(str::to_owned);
    let rows = in_order().map(|rule| {
        let strict = rule.strict.map_or("", |s| level(Some(s)));
        [rule.name, level(rule.level), strict, rule.group.name(), rule.summary()].map(|cell| cell.replace('\n', " "))
    });
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let mut out = String::new();
    for row in &rows {
        let line: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        out.push_str(line.join("  ").trim_end());
        out.push('\n');
    }
    out
}
