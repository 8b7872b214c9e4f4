//! The tree of an agent's names.

use std::sync::Arc;

use trefoil_ir::types::{TypeMember, ValueType};
use trefoil_ir::{BindingFault, Source, ValuePresence};
use trefoil_syntax::Location;
use trefoil_template::MissingCause;

use super::step::find_step;
use super::{AgntzAgentNames, PipelinePosition, StepName};
use crate::agntz::signature::{AgentSignature, ExportedStep};
use crate::names::MemberDeclarations;
use crate::names::{MissingValueReason, NameAbsence, NameEntry, NameMatch, NameResolver, look_up_member};

/// The names of a place. An empty path is the whole input.
pub fn root_entry(names: Arc<AgntzAgentNames>, at: PipelinePosition) -> NameEntry {
    let input = Source::Slot(names.input);
    NameEntry { refuses: true, ..NameEntry::from_names(AgentRoot { names, at }) }.with_source(input, 0)
}

struct AgentRoot {
    names: Arc<AgntzAgentNames>,
    at: PipelinePosition,
}

impl NameResolver for AgentRoot {
    fn get(&self, name: &str) -> NameMatch {
        match name {
            "env" => return NameMatch::Is(namespace(Source::Environment)),
            "secrets" => return NameMatch::Is(namespace(Source::Secrets)),
            _ => {}
        }
        let property = self.property(name);
        // An output that hides an input is reported separately.
        if let Some(step) = self.step(name)
            && (property.is_none() || step.defined != ValuePresence::Never)
        {
            return NameMatch::Is(step);
        }
        if let Some(property) = property {
            return NameMatch::Is(property);
        }
        match self.query(name) {
            Some(query) => NameMatch::Is(query),
            None => self.unknown(name),
        }
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        let mut all: Vec<(Arc<str>, NameEntry)> = Vec::new();
        for property in &self.names.inputs.properties {
            if let Some(entry) = self.property(&property.name) {
                all.push((property.name.clone(), entry.with_note("an input")));
            }
        }
        for text in self.names.passed_names().unwrap_or_default() {
            let entry = NameEntry::new(ValueType::Any).with_declaration(Some(self.text_location(text)));
            all.push((text.value.clone(), entry.with_note("passed by the step")));
        }
        if let Some(query) = self.query("userQuery")
            && query.defined != ValuePresence::Never
        {
            all.push(("userQuery".into(), query.with_note("the input, as it was passed")));
        }
        for step in &self.names.steps {
            // A key that two steps write is listed once.
            let seen = all.iter().any(|(name, _)| *name == step.key);
            if !seen
                && let Some(entry) = self.step(&step.key)
                && !is_late(&entry)
            {
                all.push((step.key.clone(), entry.with_note(format!("the output of `{}`", step.id))));
            }
        }
        // `secrets` is a namespace too, but it is not suggested, because a prompt must not read it.
        all.push(("env".into(), namespace(Source::Environment).with_note("environment variables: `env.NAME`")));
        all
    }
}

/// Whether the order of steps means that a step's output never exists here.
pub(super) fn is_late(entry: &NameEntry) -> bool {
    matches!(entry.doubt, Some(MissingValueReason::Own | MissingValueReason::Beside | MissingValueReason::Later))
}

impl AgentRoot {
    fn input(&self, schema: ValueType) -> NameEntry {
        NameEntry::new(schema).with_source(Source::Slot(self.names.input), 0)
    }

    fn text_location(&self, text: &trefoil_syntax::yaml::YamlText) -> Location {
        Location::new(self.names.file, text.content_span())
    }

    /// A declared input.
    fn property(&self, name: &str) -> Option<NameEntry> {
        let property = self.names.inputs.get(name)?;
        let (at, members) = self.names.inputs.members.get(name).unwrap_or_default();
        Some(self.input(property.of.clone()).with_declaration(at).with_members(members))
    }

    /// The output of a step.
    fn step(&self, name: &str) -> Option<NameEntry> {
        let (index, defined, doubt) = find_step(&self.names, name, self.at)?;
        let step = self.names.steps.get(index)?;
        let callee = step.callee.as_deref();
        let schema = match callee {
            // Two steps with the same key may have different results.
            Some(callee) if self.names.steps_named(name).len() == 1 => callee.output.clone(),
            _ => ValueType::Any,
        };
        let (members, has_exports) = match callee {
            Some(callee) => (callee.members.clone(), !callee.exports.is_empty()),
            None => (MemberDeclarations::default(), false),
        };
        let entry = NameEntry { doubt, ..NameEntry::new(schema).with_defined(defined).with_declaration(Some(step.at)) };
        let entry = match is_late(&entry) {
            true => {
                let own = entry.doubt == Some(MissingValueReason::Own);
                let lost = BindingFault::Late { name: name.into(), writes: false, own };
                entry.with_source(Source::Missing(MissingCause::Key(0), lost), 0)
            }
            false => entry.with_source(Source::Slot(step.slot), 1),
        };
        if !has_exports {
            return Some(entry.with_members(members));
        }
        let output = NameEntry { inside: entry.clone().with_members(members.clone()).inside, ..entry.clone() };
        Some(entry.with_inner_names(StepOutput { output, members, step: step.clone() }))
    }

    /// `userQuery`, if there is one.
    fn query(&self, name: &str) -> Option<NameEntry> {
        if name != "userQuery" {
            return None;
        }
        let entry = NameEntry::new(ValueType::Any).with_source(Source::Slot(self.names.query?), 1);
        match &self.names.outside {
            Some(outside) if outside.given.is_none() => {
                Some(entry.with_missing_reason(ValuePresence::Never, MissingValueReason::NotGiven))
            }
            _ => Some(entry),
        }
    }

    /// An undeclared name: the enclosing step may pass it, or the caller of the run.
    fn unknown(&self, name: &str) -> NameMatch {
        let names = &self.names;
        let outside = if names.inputs.declared { None } else { names.outside.as_ref() };
        let passed = names.passed_names().unwrap_or_default();
        if let Some(text) = passed.iter().find(|text| &*text.value == name) {
            return NameMatch::Is(self.input(ValueType::Any).with_declaration(Some(self.text_location(text))));
        }
        if matches!(outside, Some(step) if step.unclear) {
            return NameMatch::Maybe(self.input(ValueType::Any));
        }
        if names.inputs.closed {
            // The code that reports the finding computes the alternatives, because each of many misspellings is looked
            // up several times.
            return NameMatch::Never(NameAbsence::default());
        }
        let entry = self.input(ValueType::Any);
        NameMatch::Maybe(match outside {
            Some(_) => entry.with_missing_reason(ValuePresence::Never, MissingValueReason::NotGiven),
            None => entry.with_defined(ValuePresence::Sometimes),
        })
    }
}

/// `env` or `secrets`: no value by itself; a text for each name.
fn namespace(source: Source) -> NameEntry {
    let entry = NameEntry::new(ValueType::OBJECT).with_source(Source::missing_segment(0), 0);
    entry.with_inner_names(SourceNamespace(source))
}

struct SourceNamespace(Source);

impl NameResolver for SourceNamespace {
    fn get(&self, _: &str) -> NameMatch {
        NameMatch::Is(
            NameEntry::new(ValueType::TEXT).with_defined(ValuePresence::Sometimes).with_source(self.0.clone(), 1),
        )
    }
    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        Vec::new()
    }
}

/// The result of a pipeline that ran as a step: its output, with the results of its own steps in a layer under it.
struct StepOutput {
    output: NameEntry,
    members: MemberDeclarations,
    step: StepName,
}

impl NameResolver for StepOutput {
    fn get(&self, name: &str) -> NameMatch {
        let exports: &[ExportedStep] = match &self.step.callee {
            Some(callee) => &callee.exports,
            None => &[],
        };
        let export = exports.iter().find(|e| e.has_name(name));
        let layered = |entry: NameEntry| match self.step.exports {
            Some(under) => entry.with_source(Source::Layered { top: self.step.slot, path: Vec::new(), under }, 1),
            None => entry,
        };
        match (self.output.schema.find_member(name), export) {
            (TypeMember::Never { .. } | TypeMember::Beyond { .. }, Some(export)) => {
                NameMatch::Is(layered(exported_entry(export, &self.output)))
            }
            // Either the output has it, or a step under it.
            (TypeMember::Maybe, Some(export)) => {
                let entry = exported_entry(export, &self.output);
                NameMatch::Maybe(layered(NameEntry { schema: ValueType::Any, ..entry }))
            }
            _ => match look_up_member(&self.output, &self.members, name) {
                NameMatch::Never(NameAbsence { what, mut names }) => {
                    for export in exports {
                        if !names.contains(&export.key) {
                            names.push(export.key.clone());
                        }
                    }
                    NameMatch::Never(NameAbsence { what, names })
                }
                found => found,
            },
        }
    }
    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        Vec::new()
    }
}

/// The result of a step under the output.
fn exported_entry(export: &ExportedStep, of: &NameEntry) -> NameEntry {
    let entry = NameEntry::new(export.schema.clone()).with_defined(of.defined).with_declaration(export.at);
    let entry = NameEntry { doubt: of.doubt.clone(), ..entry.with_members(export.members.clone()) };
    match &export.inner {
        Some(inner) => entry.clone().with_inner_names(NestedOutput { output: entry, inner: inner.clone() }),
        None => entry,
    }
}

/// The same one pipeline deeper, read through the pipeline above it.
struct NestedOutput {
    output: NameEntry,
    inner: Arc<AgentSignature>,
}

impl NameResolver for NestedOutput {
    fn get(&self, name: &str) -> NameMatch {
        let members = &self.inner.members;
        match look_up_member(&self.output, members, name) {
            NameMatch::Never(nothing) => match self.inner.exports.iter().find(|e| e.has_name(name)) {
                Some(export) => NameMatch::Is(exported_entry(export, &self.output)),
                None => NameMatch::Never(nothing),
            },
            found => found,
        }
    }
    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        Vec::new()
    }
}
