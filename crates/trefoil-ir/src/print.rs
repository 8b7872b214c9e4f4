//! The text form that `trefoil ir` prints and snapshots use.
//!
//! One line a fact, two spaces an indentation, nothing that depends on the machine or on hashing: the same program always
//! gives the same text. Meant for reading and comparing; there is no way back from it.

mod expr;
mod step;

use std::fmt::Write as _;
use trefoil_syntax::hash::HashSet;

use trefoil_syntax::diagnostic::render::clean;
use trefoil_syntax::{Files, Location};

use crate::flow::{Flow, OnExceeded, Program};
use crate::ids::SlotId;

/// The whole program as text. `files` are those it was lowered from: with them, templates show as written and every step
/// says where it stands.
pub fn print(program: &Program, files: &Files) -> String {
    let mut printer = Printer { program, files, out: String::new(), depth: 0, names: Vec::new() };
    printer.program();
    printer.out
}

/// What is printed so far, and how slots are called in the flow at hand.
struct Printer<'p> {
    program: &'p Program,
    files: &'p Files,
    out: String,
    depth: usize,
    names: Vec<String>,
}

impl Printer<'_> {
    /// One line at the current indentation.
    fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        // A name may hold anything; printed, it can neither move the cursor nor begin a line of its own.
        self.out.push_str(&clean(text.as_ref()));
        self.out.push('\n');
    }
    /// What `body` prints, one level deeper.
    fn nested(&mut self, body: impl FnOnce(&mut Self)) {
        self.depth += 1;
        body(self);
        self.depth -= 1;
    }
    /// ` @ file:line:column`, where the file is known.
    fn place(&self, at: Location) -> String {
        match self.files.get(at.file) {
            Some(file) => {
                let p = file.position(at.span.start);
                format!(" @ {}:{}:{}", file.name(), p.line, p.column)
            }
            None => String::new(),
        }
    }
    /// The bytes of a location, as they stand in the file.
    fn source_text(&self, at: Location) -> Option<&str> {
        self.files.get(at.file)?.text().get(at.span.start as usize..at.span.end as usize)
    }
    /// A slot's name, made unique within its flow.
    fn slot(&self, id: SlotId) -> String {
        self.names.get(id.index()).cloned().unwrap_or_else(|| format!("${}", id.0))
    }
    fn program(&mut self) {
        let program = self.program;
        self.line(format!("program `{}` entry flow {}", program.name, program.entry.0));
        for (name, at) in &program.missing_agents {
            let place = self.place(*at);
            self.line(format!("missing agent `{name}`{place}"));
        }
        for (index, schema) in program.schemas.iter().enumerate() {
            let place = self.place(schema.origin);
            self.line(format!("schema {index} `{}` {}{place}", schema.name, schema.json.to_json()));
        }
        for (index, flow) in program.flows.iter().enumerate() {
            self.out.push('\n');
            self.names = slot_names(flow);
            let place = self.place(flow.origin);
            self.line(format!("flow {index} {} `{}`{place}", flow.sort, flow.name));
            self.nested(|p| p.flow(flow));
        }
    }
    fn flow(&mut self, flow: &Flow) {
        if !self.names.is_empty() {
            let all = self.names.join(" ");
            self.line(format!("slots {all}"));
        }
        self.intake(flow);
        for (slot, value) in &flow.init {
            let line = format!("init {} = {}", self.slot(*slot), self.expr(value));
            self.line(line);
        }
        if let Some(budget) = &flow.budget {
            let mut line = String::from("budget");
            let limits = [("tokens", budget.max_tokens), ("ms", budget.max_duration_ms), ("calls", budget.max_calls)];
            for (what, limit) in limits {
                if let Some(limit) = limit {
                    let _ = write!(line, " {limit} {what}");
                }
            }
            line.push_str(match budget.on_exceeded {
                OnExceeded::Abort => ", then fail",
                OnExceeded::Warn => ", then warn",
                OnExceeded::SkipRemaining => ", then skip the rest",
            });
            self.line(line);
        }
        self.line("body");
        self.nested(|p| p.step(flow.body));
        if let Some(output) = &flow.output {
            let line = format!("output {}", self.expr(output));
            self.line(line);
        }
        for export in &flow.exports {
            let mut line = format!("export {} = {}", export.key, dotted(self.slot(export.slot), &export.member));
            if let Some(inner) = export.inner {
                let _ = write!(line, " over {}", self.slot(inner));
            }
            self.line(line);
        }
    }
    fn intake(&mut self, flow: &Flow) {
        let intake = &flow.intake;
        let mut line = format!("input {}", self.slot(intake.slot));
        if let Some((slot, key)) = &intake.raw {
            let _ = write!(line, " raw {}", self.slot(*slot));
            if let Some(key) = key {
                let _ = write!(line, " or its `{key}`");
            }
        }
        if let Some(wrap) = &intake.wrap {
            let _ = write!(line, " wrapped as `{wrap}`");
        }
        if intake.closed {
            line.push_str(" closed");
        }
        if let Some(schema) = intake.schema {
            let _ = write!(line, " schema {}", schema.0);
        }
        self.line(line);
        self.nested(|p| {
            for field in &intake.fields {
                let mut line = format!("field {} {}", field.name, field.schema.to_json());
                if let Some(default) = &field.default {
                    let _ = write!(line, " default {}", default.to_json());
                }
                if field.optional {
                    line.push_str(" optional");
                }
                if field.nullable {
                    line.push_str(" nullable");
                }
                p.line(line);
            }
        });
    }
}

/// `$name` for every slot of a flow, `$name#index` where two have one name.
fn slot_names(flow: &Flow) -> Vec<String> {
    let mut seen = HashSet::default();
    let twice: HashSet<&str> = flow.slots.iter().map(|s| &*s.name).filter(|n| !seen.insert(*n)).collect();
    flow.slots
        .iter()
        .enumerate()
        .map(|(i, s)| if twice.contains(&*s.name) { format!("${}#{i}", s.name) } else { format!("${}", s.name) })
        .collect()
}

/// `base.a.b`.
fn dotted(base: String, path: &[std::sync::Arc<str>]) -> String {
    path.iter().fold(base, |all, segment| all + "." + segment)
}
