//! Expressions, sources and conditions as text.

use std::sync::Arc;

use trefoil_template::{Missing, Reference, Value};

use super::{Printer, dotted, ticked, word};
use crate::consensus::{Consensus, Strategy};
use crate::expr::{Ballot, ComposedPart, Cond, Expr, JsonType, Source, Text};

impl Printer<'_> {
    /// An expression on one line.
    pub(super) fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => json(value),
            Expr::Template(text) => match text.template.literal().filter(|literal| !literal.trim().is_empty()) {
                Some(literal) => json(&literal.into()),
                None => format!("text {}", self.text(text)),
            },
            Expr::Typed(text) => format!("typed {}", self.text(text)),
            Expr::Read(source) => self.source(source),
            Expr::Object(members) => {
                let inner: Vec<_> = members.iter().map(|(k, e)| format!("{}: {}", word(k), self.expr(e))).collect();
                format!("{{{}}}", inner.join(", "))
            }
            Expr::List(items) => format!("[{}]", self.exprs(items)),
            Expr::Concat(parts) => format!("concat({})", self.exprs(parts)),
            Expr::Join { parts, separator, otherwise } => {
                let inner: Vec<_> = parts.iter().map(|s| self.source(s)).collect();
                format!(
                    "join({}; {}) else {}",
                    inner.join(", "),
                    json(&Value::Str(separator.clone())),
                    self.expr(otherwise)
                )
            }
            Expr::Merge(parts) => format!("merge({})", self.exprs(parts)),
            Expr::Lines(inner) => format!("lines({})", self.expr(inner)),
            Expr::AsText(inner) => format!("as_text({})", self.expr(inner)),
            Expr::AsMessage(inner) => format!("as_message({})", self.expr(inner)),
            Expr::Structured(inner) => format!("structured({})", self.expr(inner)),
            Expr::Verdict(inner) => format!("verdict({})", self.expr(inner)),
            Expr::If { source, then, otherwise } => {
                format!("if {} then {} else {}", self.source(source), self.expr(then), self.expr(otherwise))
            }
            Expr::Coerce(inner, to) => {
                let to = match to {
                    JsonType::Integer => "integer",
                    JsonType::Number => "number",
                    JsonType::Boolean => "boolean",
                    JsonType::Object => "object",
                    JsonType::List => "list",
                };
                format!("{to}({})", self.expr(inner))
            }
            Expr::Consensus { verdicts, consensus } => {
                let ballot =
                    |Ballot { by, value, weight }: &Ballot| format!("{} {} * {weight}", ticked(by), self.expr(value));
                let inner: Vec<_> = verdicts.iter().map(ballot).collect();
                format!("consensus {}({})", consensus_text(consensus), inner.join(", "))
            }
        }
    }
    fn exprs(&self, all: &[Expr]) -> String {
        all.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ")
    }
    /// A template: as written, then the source of each reference. In the canonical form it is printed as parsed.
    pub(super) fn text(&self, text: &Text) -> String {
        let Text { template, sources, origin, spans: _, locals: _, literals: _, written: _ } = text;
        if self.files.is_none() {
            return format!("{}{}", template.canonical(), self.sources(sources));
        }
        let written = match self.source_text(*origin) {
            Some(source) => json(&Value::from(source)),
            None => "...".to_owned(),
        };
        written + &self.bindings(template.references(), sources)
    }
    /// A condition: as written, because errors quote it, then the source of each reference. The canonical form also has
    /// it as parsed.
    pub(super) fn cond(&self, cond: &Cond) -> String {
        let Cond { condition, sources, origin: _, text, spans: _, written: _ } = cond;
        if self.files.is_none() {
            return format!("{} {}{}", ticked(text), condition.canonical(), self.sources(sources));
        }
        format!("{}{}", ticked(text), self.bindings(condition.references(), sources))
    }
    /// The sources to which the numbers in a canonical text refer.
    fn sources(&self, sources: &[Source]) -> String {
        let all: Vec<_> = sources.iter().map(|s| self.source(s)).collect();
        format!(" [{}]", all.join(", "))
    }
    fn bindings(&self, references: &[Reference], sources: &[Source]) -> String {
        if references.is_empty() {
            return String::new();
        }
        let mut all: Vec<String> = Vec::new();
        for reference in references {
            let source = sources.get(reference.binding.source as usize);
            let mut target = source.map_or_else(|| "?".to_owned(), |s| self.source(s));
            for segment in reference.path.iter().skip(usize::from(reference.binding.skip)) {
                target.push('.');
                target.push_str(&segment.name);
            }
            let path = if reference.path.is_empty() { "this".to_owned() } else { reference.dotted() };
            let line = format!("{path} <- {target}");
            if !all.contains(&line) {
                all.push(line);
            }
        }
        format!(" [{}]", all.join(", "))
    }
    /// A source on one line.
    pub(super) fn source(&self, source: &Source) -> String {
        match source {
            Source::Slot(slot) => self.slot(*slot),
            Source::Member(slot, path) => dotted(self.slot(*slot), path),
            Source::Layered { top, path, under } => {
                format!("({} over {})", dotted(self.slot(*top), path), self.slot(*under))
            }
            Source::Either(first, second) => format!("({} | {})", self.source(first), self.source(second)),
            Source::Compose { seed, parts } => {
                let inner: Vec<_> = parts.iter().map(|p| self.part(p)).collect();
                format!("compose({} + [{}])", json(seed), inner.join(", "))
            }
            Source::Const(value) => format!("const {}", json(value)),
            Source::Environment => "env".to_owned(),
            Source::Secrets => "secrets".to_owned(),
            Source::RunId => "run_id".to_owned(),
            Source::Spent(slots) => {
                format!("spent({})", slots.iter().map(|s| self.slot(*s)).collect::<Vec<_>>().join(", "))
            }
            Source::Result => "result".to_owned(),
            Source::Failure => "failure".to_owned(),
            Source::Missing(why, _) => match why {
                Missing::Key(index) => format!("missing(key {index})"),
                Missing::Unset(name) => format!("missing(unset {})", word(name)),
                Missing::OutsideLoop => "missing(outside a loop)".to_owned(),
                Missing::NoField(name) => format!("missing(no field after {})", word(name)),
            },
        }
    }
    fn part(&self, part: &ComposedPart) -> String {
        let ComposedPart { at, slot, member } = part;
        let at = if at.is_empty() { "*".to_owned() } else { at.iter().map(|s| word(s)).collect::<Vec<_>>().join(".") };
        format!("{at}: {}", dotted(self.slot(*slot), member))
    }
}

/// `majority threshold 0.7 min 1 agreement 0.5 confidence 0.5`.
pub(super) fn consensus_text(consensus: &Consensus) -> String {
    let Consensus { strategy, threshold, min_judges, n, agreement_factor, confidence_factor } = consensus;
    let strategy = match strategy {
        Strategy::WeightedAverage => "weighted_average",
        Strategy::Majority => "majority",
        Strategy::Unanimous => "unanimous",
        Strategy::BestOfN => "best_of_n",
    };
    let n = n.map(|n| format!(" n {n}")).unwrap_or_default();
    let factors = format!("agreement {agreement_factor} confidence {confidence_factor}");
    format!("{strategy} threshold {threshold} min {min_judges}{n} {factors} ")
}

/// A value as JSON on one line.
pub(super) fn json(value: &Value) -> String {
    value.to_json().to_string()
}

/// Names joined by a comma.
pub(super) fn list(names: &[Arc<str>]) -> String {
    names.iter().map(|n| ticked(n)).collect::<Vec<_>>().join(", ")
}
