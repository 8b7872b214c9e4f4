//! The text form used by `trefoil ir`, snapshots and fingerprints.
//!
//! One fact per line, indented by two spaces. Does not depend on the computer or on hashing: the same program always
//! gives the same text. It is for reading and comparing and cannot be parsed.
//!
//! It contains everything that can change what a run does. Structs are destructured field by field, so a new field does
//! not compile until somebody decides whether to print it. Names are printed so that they cannot be mistaken for the
//! text around them.

mod effect;
mod expr;
mod step;

use std::fmt::Write as _;
use trefoil_syntax::hash::HashSet;

use trefoil_syntax::diagnostic::render::clean_line;
use trefoil_syntax::{Location, SourceFiles};

use crate::flow::{
    Budget, FlowDefinition, FlowExport, FlowInputField, Intake, OnExceeded, ProgramParts, ProgramSchema, Slot,
};
use crate::ids::{FlowId, SlotId, StepId};
use crate::program::Program;

/// The whole program as text. `files` are those it was lowered from: templates are shown as written, slots by name, and
/// every step with its place.
pub fn print_program(program: &Program, files: &SourceFiles) -> String {
    program_text(program, Some(files))
}

/// The same without anything that is only for people: no places, no spelling of templates, slots by number. Two
/// programs with the same canonical form run alike. It includes words that occur in error messages, because a workflow
/// can read its errors: names of flows, states and steps, and conditions as written.
pub fn canonical_text(program: &Program) -> String {
    program_text(program, None)
}

/// The canonical form of one step of a flow, with slots by name: to find out whether it is the same in two programs.
pub fn step_definition(program: &Program, flow: FlowId, step: StepId) -> String {
    let mut printer = ProgramPrinter::for_program(program, None);
    printer.names = unique_names(&program.flows[flow]);
    printer.print_step(step);
    printer.out
}

fn program_text(program: &Program, files: Option<&SourceFiles>) -> String {
    let mut printer = ProgramPrinter::for_program(program, files);
    printer.program();
    printer.out
}

/// The names of a flow's slots: `$name`, or `$name#index` if two have the same name.
fn unique_names(flow: &FlowDefinition) -> Vec<String> {
    let (mut seen, mut twice) = (HashSet::<&str>::default(), HashSet::<&str>::default());
    for Slot { name, writes: _ } in flow.slots.iter() {
        if !seen.insert(name) {
            twice.insert(name);
        }
    }
    let mut names = Vec::new();
    for (i, Slot { name, writes: _ }) in flow.slots.iter().enumerate() {
        names.push(if twice.contains(&**name) { format!("${name}#{i}") } else { format!("${name}") });
    }
    names
}

/// The text so far, and the slot names of the current flow.
struct ProgramPrinter<'p> {
    program: &'p Program,
    /// `None` in the canonical form.
    files: Option<&'p SourceFiles>,
    out: String,
    depth: usize,
    names: Vec<String>,
}

impl<'p> ProgramPrinter<'p> {
    fn for_program(program: &'p Program, files: Option<&'p SourceFiles>) -> Self {
        Self { program, files, out: String::new(), depth: 0, names: Vec::new() }
    }
    /// One line at the current indentation.
    fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        // A name may contain any characters. `clean` prevents it from moving the cursor or starting a new line.
        self.out.push_str(&clean_line(text.as_ref()));
        self.out.push('\n');
    }
    /// Prints `body` one level deeper.
    fn nested(&mut self, body: impl FnOnce(&mut Self)) {
        self.depth += 1;
        body(self);
        self.depth -= 1;
    }
    /// ` @ file:line:column`, if the file is known.
    fn location_suffix(&self, at: Location) -> String {
        match self.files.and_then(|files| files.get(at.file)) {
            Some(file) => {
                let p = file.line_column(at.span.start);
                format!(" @ {}:{}:{}", file.name(), p.line, p.column)
            }
            None => String::new(),
        }
    }
    /// The text in the file at a location.
    fn source_text(&self, at: Location) -> Option<&str> {
        self.files?.get(at.file)?.text().get(at.span.start as usize..at.span.end as usize)
    }
    /// A slot's name, made unique within its flow.
    fn slot(&self, id: SlotId) -> String {
        self.names.get(id.index()).cloned().unwrap_or_else(|| format!("${}", id.0))
    }
    /// The printed names of a flow's slots; numbers in the canonical form.
    fn slot_names(&self, flow: &FlowDefinition) -> Vec<String> {
        match self.files {
            Some(_) => unique_names(flow),
            None => (0..flow.slots.len()).map(|i| format!("${i}")).collect(),
        }
    }
    /// The printed name of a part of a structure: its name, in the canonical form its number.
    fn part_name(&self, index: usize, name: Option<&str>) -> String {
        match name {
            Some(name) if self.files.is_some() => name.to_owned(),
            _ => index.to_string(),
        }
    }
    fn program(&mut self) {
        // Steps are printed in their flows. The hash is that of the source text.
        // Who performs the calls of a tool is not what the program does.
        let ProgramParts { name, flows, steps: _, schemas, entry, hash: _, missing_agents, client_tools: _ } =
            &**self.program;
        self.line(format!("program {} entry flow {}", ticked(name), entry.0));
        for (name, at) in missing_agents {
            let place = self.location_suffix(*at);
            self.line(format!("missing agent {}{place}", ticked(name)));
        }
        for (index, ProgramSchema { name, json, origin }) in schemas.iter().enumerate() {
            let place = self.location_suffix(*origin);
            self.line(format!("schema {index} {} {}{place}", ticked(name), json.to_json()));
        }
        for (index, flow) in flows.iter().enumerate() {
            self.out.push('\n');
            self.names = self.slot_names(flow);
            let place = self.location_suffix(flow.origin);
            self.line(format!("flow {index} {} {}{place}", flow.sort, ticked(&flow.name)));
            self.nested(|p| p.flow(flow));
        }
    }
    fn flow(&mut self, flow: &FlowDefinition) {
        let FlowDefinition { name: _, sort: _, origin: _, slots: _, intake, init, body, output, exports, budget } =
            flow;
        if !self.names.is_empty() {
            let all = self.names.join(" ");
            self.line(format!("slots {all}"));
        }
        self.intake(intake);
        for (slot, value) in init {
            self.line(format!("init {} = {}", self.slot(*slot), self.format_expression(value)));
        }
        if let Some(Budget { max_tokens, max_duration_ms, max_calls, calls_at: _, max_cost_micro, on_exceeded }) =
            budget
        {
            let mut line = String::from("budget");
            let limits = [
                ("tokens", max_tokens),
                ("ms", max_duration_ms),
                ("calls", max_calls),
                ("micro-dollars", max_cost_micro),
            ];
            for (what, limit) in limits {
                if let Some(limit) = limit {
                    let _ = write!(line, " {limit} {what}");
                }
            }
            line.push_str(match on_exceeded {
                OnExceeded::Abort => ", then fail",
                OnExceeded::Warn => ", then warn",
                OnExceeded::SkipRemaining => ", then skip the rest",
            });
            self.line(line);
        }
        self.line("body");
        self.nested(|p| p.print_step(*body));
        if let Some(output) = output {
            self.line(format!("output {}", self.format_expression(output)));
        }
        for FlowExport { key, slot, member, inner } in exports {
            let mut line = format!("export {} = {}", word(key), dotted(self.slot(*slot), member));
            if let Some(inner) = inner {
                let _ = write!(line, " over {}", self.slot(*inner));
            }
            self.line(line);
        }
    }
    fn intake(&mut self, intake: &Intake) {
        let Intake { slot, wrap, fields, closed, tolerated, schema, raw } = intake;
        let mut line = format!("input {}", self.slot(*slot));
        if let Some((slot, key)) = raw {
            let _ = write!(line, " raw {}", self.slot(*slot));
            if let Some(key) = key {
                let _ = write!(line, " or its {}", ticked(key));
            }
        }
        if let Some(wrap) = wrap {
            let _ = write!(line, " wrapped as {}", ticked(wrap));
        }
        if *closed {
            line.push_str(" closed");
        }
        if !tolerated.is_empty() {
            let _ = write!(line, " but for {}", tolerated.join(", "));
        }
        if let Some(schema) = schema {
            let _ = write!(line, " schema {}", schema.0);
        }
        self.line(line);
        self.nested(|p| {
            // `usual` is not enforced in a run.
            for FlowInputField { name, schema, default, usual: _, nullable, optional, origin: _ } in fields {
                let mut line = format!("field {} {}", word(name), schema.to_json());
                if let Some(default) = default {
                    let _ = write!(line, " default {}", default.to_json());
                }
                if *optional {
                    line.push_str(" optional");
                }
                if *nullable {
                    line.push_str(" nullable");
                }
                p.line(line);
            }
        });
    }
}

/// `base.a.b`.
fn dotted(base: String, path: &[std::sync::Arc<str>]) -> String {
    let mut text = base;
    for segment in path {
        text.push('.');
        text.push_str(&word(segment));
    }
    text
}

/// A name in backticks. Characters that could end it, or the line, are escaped.
fn ticked(name: &str) -> String {
    let mut out = String::from("`");
    for c in name.chars() {
        match c {
            '`' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out + "`"
}

/// A name as it is if that is unambiguous, otherwise as JSON.
fn word(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '/');
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        serde_json::Value::from(name).to_string()
    }
}
