//! The line above the tree: the flow, elapsed time, usage and limits.

use trefoil_check::semantic::cost::CallCounter;
use trefoil_project::load::LoadedTarget;
use trefoil_runtime::Usage;

use crate::words::{self, format_cost, format_time, format_tokens, group_digits};

/// The facts that are known before a run starts.
#[derive(Debug, Clone, Default)]
pub struct RunHeader {
    /// The program, the source of answers, the seed.
    pub title: String,
    /// The maximum number of model calls, if it is known.
    pub at_most: Option<u64>,
}

impl RunHeader {
    /// Creates the header for a program and the source of its answers.
    pub fn new(loaded: &LoadedTarget, model: &str, seed: Option<u64>) -> Self {
        let seed = match seed {
            Some(seed) => format!(", seed {seed}"),
            None => String::new(),
        };
        let title = format!("{}  {model}{seed}", words::escape_line(&loaded.program.name));
        Self { title, at_most: CallCounter::new(&loaded.program).count_flow(loaded.program.entry).model.fixed_number() }
    }
    /// The header for a flow of a server.
    #[cfg(feature = "server")]
    pub fn for_server(flow: &str, address: &str) -> Self {
        let title = format!("{}  at {}", words::escape_line(flow), words::escape_line(address));
        Self { title, at_most: None }
    }
    /// Formats the line with the current figures.
    pub fn format_line(&self, at_ms: u64, calls: u64, usage: &Usage) -> String {
        // A run that was resumed may have called again what had failed.
        let calls = match self.at_most {
            Some(most) if calls <= most => format!("{} of at most {}", group_digits(calls), words::format_calls(most)),
            _ => words::format_calls(calls),
        };
        format!("{}  {} · {calls} · {} · {}", self.title, format_time(at_ms), format_tokens(usage), format_cost(usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_in_plain_english() {
        let line = |made, at_most| RunHeader { title: "w".to_owned(), at_most }.format_line(5, made, &Usage::default());
        assert_eq!(line(1, Some(1)), "w  5 ms · 1 of at most 1 call · 0 tokens in, 0 out · $0");
        assert!(line(1, Some(20)).contains("1 of at most 20 calls") && line(1, None).contains("· 1 call ·"));
    }
}
