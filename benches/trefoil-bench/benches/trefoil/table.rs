//! The table that is printed and stored in `docs/performance.md`.

use std::fmt::Write;

use crate::race::Standing;

/// Formats nanoseconds.
pub fn time(ns: f64) -> String {
    match ns {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.2} us", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}

/// Formats bytes.
pub fn bytes(n: f64) -> String {
    format!("{n:.0} B")
}

/// Formats all standings as one Markdown table. The ratio is to the first lane of the race: above 1 means slower.
pub fn markdown(standings: &[Standing]) -> String {
    let mut out = String::from("| race | contestant | median | best | ratio | goal |\n|---|---|--:|--:|--:|---|\n");
    for s in standings {
        let first = s.lanes.first().map_or(f64::NAN, |l| l.median);
        for (i, lane) in s.lanes.iter().enumerate() {
            let name = if i == 0 { format!("{} (a {})", s.name, s.unit) } else { String::new() };
            let goal = if i == 0 { s.budget.unwrap_or("") } else { "" };
            let _ = writeln!(
                out,
                "| {name} | {} | {} | {} | {:.2} | {goal} |",
                lane.name,
                (s.show)(lane.median),
                (s.show)(lane.min),
                lane.median / first
            );
        }
    }
    out
}
