//! The text form that `trefoil ir` prints, snapshots use and fingerprints hash.
//!
//! One line a fact, two spaces an indentation, nothing that depends on the machine or on hashing: the same program always
//! gives the same text. Meant for reading and comparing; there is no way back from it.
//!
//! Everything that can change what a run does is in it. Structs are taken apart field by field, so a new field does not
//! compile until somebody decides whether it is. A name is printed so that it cannot be mistaken for what is around it.

mod effect;
mod expr;
mod step;

use std::fmt::Write as _;
use trefoil_syntax::hash::HashSet;

use trefoil_syntax::diagnostic::render::clean;
use trefoil_syntax::{Files, Location};

use crate::flow::{Budget, Export, Flow, InputField, Intake, OnExceeded, Program, Schema, Slot};
use crate::ids::SlotId;

/// The whole program as text. `files` are those it was lowered from: templates show as written, slots by their names, and
/// every step says where it stands.
pub fn print(program: &Program, files: &Files) -> String {
    printed(program, Some(files))
}

/// The same without anything that only a person wants to know: no places, no spelling of templates, slots by number. Two
/// programs that read alike here run alike. Words that get into error messages are in it, because a workflow can read its
/// errors: names of flows, states and steps, and conditions as written.
pub fn canonical(program: &Program) -> String {
    printed(program, None)
}

fn printed(program: &Program, files: Option<&Files>) -> String {
    let mut printer = Printer { program, files, out: String::new(), depth: 0, names: Vec::new() };
    printer.program();
    printer.out
}

/// What is printed so far, and how slots are called in the flow at hand.
struct Printer<'p> {
    program: &'p Program,
    /// None: in the canonical form.
    files: Option<&'p Files>,
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
        match self.files.and_then(|files| files.get(at.file)) {
            Some(file) => {
                let p = file.position(at.span.start);
                format!(" @ {}:{}:{}", file.name(), p.line, p.column)
            }
            None => String::new(),
        }
    }
    /// The bytes of a location, as they stand in the file.
    fn source_text(&self, at: Location) -> Option<&str> {
        self.files?.get(at.file)?.text().get(at.span.start as usize..at.span.end as usize)
    }
    /// A slot's name, made unique within its flow.
    fn slot(&self, id: SlotId) -> String {
        self.names.get(id.index()).cloned().unwrap_or_else(|| format!("${}", id.0))
    }
    /// How the slots of a flow are called: `$name`, `$name#index` where two have one name; in the canonical form by number.
    fn slot_names(&self, flow: &Flow) -> Vec<String> {
        let slots = flow.slots.iter().map(|Slot { name, writes: _ }| &**name).enumerate();
        if self.files.is_none() {
            return slots.map(|(i, _)| format!("${i}")).collect();
        }
        let mut seen = HashSet::default();
        let twice: HashSet<&str> = slots.clone().map(|(_, name)| name).filter(|n| !seen.insert(*n)).collect();
        slots.map(|(i, name)| if twice.contains(name) { format!("${name}#{i}") } else { format!("${name}") }).collect()
    }
    /// What a part of a structure is called where others refer to it: its name, in the canonical form its number.
    fn called(&self, index: usize, name: Option<&str>) -> String {
        name.filter(|_| self.files.is_some()).map_or_else(|| index.to_string(), str::to_owned)
    }
    fn program(&mut self) {
        // Steps are printed where they stand; the sources' hash is that of the spelling.
        let Program { name, flows, steps: _, schemas, entry, hash: _, missing_agents } = self.program;
        self.line(format!("program {} entry flow {}", ticked(name), entry.0));
        for (name, at) in missing_agents {
            let place = self.place(*at);
            self.line(format!("missing agent {}{place}", ticked(name)));
        }
        for (index, Schema { name, json, origin }) in schemas.iter().enumerate() {
            let place = self.place(*origin);
            self.line(format!("schema {index} {} {}{place}", ticked(name), json.to_json()));
        }
        for (index, flow) in flows.iter().enumerate() {
            self.out.push('\n');
            self.names = self.slot_names(flow);
            let place = self.place(flow.origin);
            self.line(format!("flow {index} {} {}{place}", flow.sort, ticked(&flow.name)));
            self.nested(|p| p.flow(flow));
        }
    }
    fn flow(&mut self, flow: &Flow) {
        let Flow { name: _, sort: _, origin: _, slots: _, intake, init, body, output, exports, budget } = flow;
        if !self.names.is_empty() {
            let all = self.names.join(" ");
            self.line(format!("slots {all}"));
        }
        self.intake(intake);
        for (slot, value) in init {
            self.line(format!("init {} = {}", self.slot(*slot), self.expr(value)));
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
        self.nested(|p| p.step(*body));
        if let Some(output) = output {
            self.line(format!("output {}", self.expr(output)));
        }
        for Export { key, slot, member, inner } in exports {
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
            // `usual` is a promise that a run holds nobody to.
            for InputField { name, schema, default, usual: _, nullable, optional, origin: _ } in fields {
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
    path.iter().fold(base, |all, segment| all + "." + &word(segment))
}

/// A name in backticks; what could end it, or the line, is escaped.
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

/// A name as it is where nothing in it could be mistaken for what is around it, else as JSON.
fn word(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '/');
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        serde_json::Value::from(name).to_string()
    }
}
