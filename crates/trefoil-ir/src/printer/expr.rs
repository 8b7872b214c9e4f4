//! Expressions, sources and conditions as text.

use std::sync::Arc;

use trefoil_template::{MissingCause, Reference, Value};

use super::{ProgramPrinter, dotted, ticked, word};
use crate::consensus::{ConsensusRule, ConsensusStrategy};
use crate::expr::{BoundCondition, BoundTemplate, ComposedPart, JsonType, Source, ValueExpression, WeightedVerdict};

impl ProgramPrinter<'_> {
    /// An expression on one line.
    pub(super) fn format_expression(&self, expr: &ValueExpression) -> String {
        match expr {
            ValueExpression::Const(value) => value_json(value),
            ValueExpression::Template(text) => match text.template.literal_text() {
                Some(literal) if !literal.trim().is_empty() => value_json(&literal.into()),
                _ => format!("text {}", self.format_template(text)),
            },
            ValueExpression::Typed(text) => format!("typed {}", self.format_template(text)),
            ValueExpression::Read(source) => self.format_source(source),
            ValueExpression::Object(members) => {
                let inner: Vec<_> =
                    members.iter().map(|(k, e)| format!("{}: {}", word(k), self.format_expression(e))).collect();
                format!("{{{}}}", inner.join(", "))
            }
            ValueExpression::List(items) => format!("[{}]", self.exprs(items)),
            ValueExpression::Concat(parts) => format!("concat({})", self.exprs(parts)),
            ValueExpression::Join { parts, separator, otherwise } => {
                let inner: Vec<_> = parts.iter().map(|s| self.format_source(s)).collect();
                format!(
                    "join({}; {}) else {}",
                    inner.join(", "),
                    value_json(&Value::Str(separator.clone())),
                    self.format_expression(otherwise)
                )
            }
            ValueExpression::Merge(parts) => format!("merge({})", self.exprs(parts)),
            ValueExpression::Lines(inner) => format!("lines({})", self.format_expression(inner)),
            ValueExpression::AsText(inner) => format!("as_text({})", self.format_expression(inner)),
            ValueExpression::AsMessage(inner) => format!("as_message({})", self.format_expression(inner)),
            ValueExpression::Structured(inner) => format!("structured({})", self.format_expression(inner)),
            ValueExpression::Verdict(inner) => format!("verdict({})", self.format_expression(inner)),
            ValueExpression::If { source, then, otherwise } => {
                format!(
                    "if {} then {} else {}",
                    self.format_source(source),
                    self.format_expression(then),
                    self.format_expression(otherwise)
                )
            }
            ValueExpression::Coerce(inner, to) => {
                let to = match to {
                    JsonType::Integer => "integer",
                    JsonType::Number => "number",
                    JsonType::Boolean => "boolean",
                    JsonType::Object => "object",
                    JsonType::List => "list",
                };
                format!("{to}({})", self.format_expression(inner))
            }
            ValueExpression::Consensus { verdicts, consensus } => {
                let ballot = |WeightedVerdict { by, value, weight }: &WeightedVerdict| {
                    format!("{} {} * {weight}", ticked(by), self.format_expression(value))
                };
                let inner: Vec<_> = verdicts.iter().map(ballot).collect();
                format!("consensus {}({})", consensus_text(consensus), inner.join(", "))
            }
        }
    }
    fn exprs(&self, all: &[ValueExpression]) -> String {
        all.iter().map(|e| self.format_expression(e)).collect::<Vec<_>>().join(", ")
    }
    /// A template: as written, then the source of each reference. In the canonical form it is printed as parsed.
    pub(super) fn format_template(&self, text: &BoundTemplate) -> String {
        let BoundTemplate { template, sources, origin, spans: _, locals: _, literals: _, written: _ } = text;
        if self.files.is_none() {
            return format!("{}{}", template.canonical_text(), self.sources(sources));
        }
        let written = match self.source_text(*origin) {
            Some(source) => value_json(&Value::from(source)),
            None => "...".to_owned(),
        };
        written + &self.bindings(template.references(), sources)
    }
    /// A condition: as written, because errors quote it, then the source of each reference. The canonical form also has
    /// it as parsed.
    pub(super) fn format_condition(&self, cond: &BoundCondition) -> String {
        let BoundCondition { condition, sources, origin: _, text, spans: _, written: _ } = cond;
        if self.files.is_none() {
            return format!("{} {}{}", ticked(text), condition.canonical_text(), self.sources(sources));
        }
        format!("{}{}", ticked(text), self.bindings(condition.references(), sources))
    }
    /// The sources to which the numbers in a canonical text refer.
    fn sources(&self, sources: &[Source]) -> String {
        let all: Vec<_> = sources.iter().map(|s| self.format_source(s)).collect();
        format!(" [{}]", all.join(", "))
    }
    fn bindings(&self, references: &[Reference], sources: &[Source]) -> String {
        if references.is_empty() {
            return String::new();
        }
        let mut all: Vec<String> = Vec::new();
        for reference in references {
            let source = sources.get(reference.binding.source as usize);
            let mut target = match source {
                Some(source) => self.format_source(source),
                None => "?".to_owned(),
            };
            for segment in reference.path.iter().skip(usize::from(reference.binding.skip)) {
                target.push('.');
                target.push_str(&segment.name);
            }
            let path = if reference.path.is_empty() { "this".to_owned() } else { reference.dotted_path() };
            let line = format!("{path} <- {target}");
            if !all.contains(&line) {
                all.push(line);
            }
        }
        format!(" [{}]", all.join(", "))
    }
    /// A source on one line.
    pub(super) fn format_source(&self, source: &Source) -> String {
        match source {
            Source::Slot(slot) => self.slot(*slot),
            Source::Member(slot, path) => dotted(self.slot(*slot), path),
            Source::Layered { top, path, under } => {
                format!("({} over {})", dotted(self.slot(*top), path), self.slot(*under))
            }
            Source::Either(first, second) => {
                format!("({} | {})", self.format_source(first), self.format_source(second))
            }
            Source::Compose { seed, parts } => {
                let inner: Vec<_> = parts.iter().map(|p| self.part(p)).collect();
                format!("compose({} + [{}])", value_json(seed), inner.join(", "))
            }
            Source::Const(value) => format!("const {}", value_json(value)),
            Source::Environment => "env".to_owned(),
            Source::Secrets => "secrets".to_owned(),
            Source::RunId => "run_id".to_owned(),
            Source::Spent(slots) => {
                let names: Vec<_> = slots.iter().map(|slot| self.slot(*slot)).collect();
                format!("spent({})", names.join(", "))
            }
            Source::Result => "result".to_owned(),
            Source::Failure => "failure".to_owned(),
            Source::Missing(why, _) => match why {
                MissingCause::Key(index) => format!("missing(key {index})"),
                MissingCause::Unset(name) => format!("missing(unset {})", word(name)),
                MissingCause::OutsideLoop => "missing(outside a loop)".to_owned(),
                MissingCause::NoField(name) => format!("missing(no field after {})", word(name)),
            },
        }
    }
    fn part(&self, part: &ComposedPart) -> String {
        let ComposedPart { at, slot, member } = part;
        let words: Vec<_> = at.iter().map(|segment| word(segment)).collect();
        let place = if words.is_empty() { "*".to_owned() } else { words.join(".") };
        format!("{place}: {}", dotted(self.slot(*slot), member))
    }
}

/// `majority threshold 0.7 min 1 agreement 0.5 confidence 0.5`.
pub(super) fn consensus_text(consensus: &ConsensusRule) -> String {
    let ConsensusRule { strategy, threshold, min_judges, n, agreement_factor, confidence_factor } = consensus;
    let strategy = match strategy {
        ConsensusStrategy::WeightedAverage => "weighted_average",
        ConsensusStrategy::Majority => "majority",
        ConsensusStrategy::Unanimous => "unanimous",
        ConsensusStrategy::BestOfN => "best_of_n",
    };
    let n = n.map(|n| format!(" n {n}")).unwrap_or_default();
    let factors = format!("agreement {agreement_factor} confidence {confidence_factor}");
    format!("{strategy} threshold {threshold} min {min_judges}{n} {factors} ")
}

/// A value as JSON on one line.
pub(super) fn value_json(value: &Value) -> String {
    value.to_json().to_string()
}

/// Names joined by a comma.
pub(super) fn name_list(names: &[Arc<str>]) -> String {
    names.iter().map(|n| ticked(n)).collect::<Vec<_>>().join(", ")
}
