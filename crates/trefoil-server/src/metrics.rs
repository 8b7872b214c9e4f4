//! What the server counts, in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the server counts.
#[derive(Debug, Default)]
pub struct ServerMetrics {
    requests: [AtomicU64; 6],
    /// Runs that were started.
    pub runs_started: AtomicU64,
    /// Answers that were accepted.
    pub answers_given: AtomicU64,
    /// Streams of events that are open.
    pub open_streams: AtomicU64,
    /// Requests that were refused for want of a key, a scope or an origin.
    pub refused: AtomicU64,
}

/// A figure that the store knows.
pub struct StatusCount {
    /// The status of runs.
    pub status: &'static str,
    /// How many runs have it.
    pub count: u64,
}

impl ServerMetrics {
    /// Counts a response by the first digit of its status.
    pub fn count_response(&self, status: u16) {
        if let Some(counter) = self.requests.get(usize::from(status / 100)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The text for Prometheus.
    pub fn to_text(&self, held: usize, store_up: bool, statuses: &[StatusCount]) -> String {
        let mut text = String::new();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        head(&mut text, "trefoil_http_requests_total", "counter", "Requests, by the class of their status.");
        for (class, counter) in self.requests.iter().enumerate().skip(1) {
            let _ = writeln!(text, "trefoil_http_requests_total{{class=\"{class}xx\"}} {}", load(counter));
        }
        single(
            &mut text,
            "trefoil_runs_started_total",
            "counter",
            "Runs started by this server.",
            load(&self.runs_started),
        );
        single(
            &mut text,
            "trefoil_answers_total",
            "counter",
            "Answers accepted by this server.",
            load(&self.answers_given),
        );
        single(
            &mut text,
            "trefoil_refused_total",
            "counter",
            "Requests refused for their key, scope or origin.",
            load(&self.refused),
        );
        single(&mut text, "trefoil_open_streams", "gauge", "Open streams of events.", load(&self.open_streams));
        single(&mut text, "trefoil_runs_held", "gauge", "Runs in progress in this process.", held as u64);
        single(&mut text, "trefoil_store_up", "gauge", "Whether the store answers.", u64::from(store_up));
        head(&mut text, "trefoil_runs", "gauge", "Runs in the store, by status.");
        for StatusCount { status, count } in statuses {
            let _ = writeln!(text, "trefoil_runs{{status=\"{status}\"}} {count}");
        }
        text
    }
}

fn single(text: &mut String, name: &str, sort: &str, help: &str, value: u64) {
    head(text, name, sort, help);
    let _ = writeln!(text, "{name} {value}");
}

fn head(text: &mut String, name: &str, sort: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {sort}");
}
