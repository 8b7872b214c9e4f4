//! Formats the outcome as a table, with the missed mistakes.

use std::fmt::Write as _;

use crate::run::{Outcome, Row};

impl Outcome {
    /// The numbers of mistakes made, found, and found on the right line.
    pub fn totals(&self) -> (usize, usize, usize) {
        let sum = |of: fn(&Row) -> usize| self.rows.iter().map(of).sum();
        (sum(|r| r.tries), sum(|r| r.found), sum(|r| r.placed))
    }
    /// The table; with `verbose`, every missed mistake is listed below it.
    pub fn table(&self, verbose: bool) -> String {
        let mut out = String::new();
        let head = ["class", "tries", "found", "right line", "fix offered", "fix right"];
        let _ = writeln!(
            out,
            "{:<44} {:>6} {:>6} {:>11} {:>12} {:>10}",
            head[0], head[1], head[2], head[3], head[4], head[5]
        );
        for row in &self.rows {
            let _ = writeln!(
                out,
                "{:<44} {:>6} {:>6} {:>11} {:>12} {:>10}",
                row.class, row.tries, row.found, row.placed, row.offered, row.mended
            );
        }
        let (tries, found, placed) = self.totals();
        let percent = |n: usize| 100.0 * n as f64 / tries.max(1) as f64;
        let _ = writeln!(
            out,
            "{} classes, {} sound manifests, {tries} mistakes: {found} found ({:.1} %), {placed} on the right line ({:.1} %)",
            self.rows.len(),
            self.manifests,
            percent(found),
            percent(placed)
        );
        if verbose {
            for (row, miss) in self.rows.iter().flat_map(|r| r.misses.iter().map(move |m| (r, m))) {
                let _ = write!(out, "missed {}: {}:{}: {}", row.class, miss.path.display(), miss.line, miss.text);
                let _ = writeln!(
                    out,
                    "{}",
                    if miss.elsewhere.is_empty() {
                        String::new()
                    } else {
                        format!("   [{}]", miss.elsewhere.join(", "))
                    }
                );
            }
        }
        out
    }
}
