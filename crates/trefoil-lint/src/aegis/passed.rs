//! Fields of an input that no caller in the project passes. An agent without a schema for objects gets the text of the state's
//! `input`, whatever it looks like; a workflow gets a text as the field `input`. Such a field is empty in every call.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{YamlMapping, YamlNode, YamlNodeKind, YamlText};
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::{ValueObject, read_json};

use super::given::{PLACEHOLDER, probe_text};
use super::unit::{AgentUnit, FindingList, WorkflowUnit};
use trefoil_front::aegis::AegisUnits;
use trefoil_front::aegis::manifest::AegisUnitKind;
use trefoil_front::aegis::names::ALWAYS;
use trefoil_front::names::BoundReference;

/// Fields that need no caller: those of each call.
const FREE: &[&str] = &["intent", "attachments"];
/// The number of callers that a finding points to.
const MOST_LABELS: usize = 3;

/// Every place in the project that mentions a unit, by the document of the unit.
#[derive(Default)]
pub struct UnitMentions {
    by_unit: HashMap<usize, Vec<UnitMention>>,
    /// Whether a callee is only known at run time, so that it may be any.
    open: bool,
}

/// The mentions, collected if a finder needs them.
pub type LazyUnitMentions<'u> = LazyCell<UnitMentions, Box<dyn FnOnce() -> UnitMentions + 'u>>;

/// A mention of a unit.
struct UnitMention {
    at: Location,
    /// The text that is passed to it; `None`: it is mentioned otherwise, or gets something else.
    input: Option<PassedInput>,
    /// Whether an intent is passed to it.
    intent: bool,
}

/// What a call passes.
#[derive(Clone)]
enum PassedInput {
    /// A text as written.
    Written(YamlText),
    /// The text that is to be judged.
    Answer,
}

impl PassedInput {
    /// The fields of the object in the text; `None`: unknown.
    fn fields(&self) -> Option<BTreeSet<Arc<str>>> {
        match self {
            Self::Written(text) => passed_fields(&text.value),
            Self::Answer => None,
        }
    }
}

/// A call of an agent or a workflow.
struct StateCall<'n> {
    unit: AegisUnitKind,
    name: &'n YamlText,
    input: Option<PassedInput>,
    intent: bool,
}

impl UnitMentions {
    /// The mentions in all documents of a project.
    pub fn from_units(units: &AegisUnits<'_>) -> Self {
        let (mut by_unit, mut open): (HashMap<usize, Vec<UnitMention>>, bool) = (HashMap::default(), false);
        for (at, document) in units.project.documents.iter().enumerate() {
            if document.front.name() != "aegis" {
                continue;
            }
            let seen = units.directory.seen_from(at);
            let own = units.directory.name_location(at);
            let calls = calls(&document.root);
            let mut add = |unit: AegisUnitKind, name: &YamlText, input: Option<&PassedInput>, intent: bool| {
                let place = Location::new(document.file, name.content_span());
                for callee in seen.find_documents(unit, &name.value).into_iter().filter(|_| Some(place) != own) {
                    by_unit.entry(callee).or_default().push(UnitMention { at: place, input: input.cloned(), intent });
                }
            };
            let mut known = BTreeSet::new();
            for StateCall { unit, name, input, intent } in &calls {
                known.insert(name.span.start);
                add(*unit, name, input.as_ref(), *intent);
                open |= name.value.contains("{{");
            }
            let mut stack = vec![&document.root];
            while let Some(node) = stack.pop() {
                match &*node.kind {
                    YamlNodeKind::Mapping(mapping) => stack.extend(mapping.entries.iter().map(|entry| &entry.value)),
                    YamlNodeKind::Sequence(items) => stack.extend(items),
                    YamlNodeKind::Scalar(_, text) if known.contains(&text.span.start) => {}
                    YamlNodeKind::Scalar(_, text) => [AegisUnitKind::Agent, AegisUnitKind::Workflow]
                        .iter()
                        .for_each(|unit| add(*unit, text, None, true)),
                }
            }
        }
        Self { by_unit, open }
    }

    /// The callers of a unit; `None`: there are none, or some pass something unknown.
    fn callers(&self, document: usize) -> Option<Vec<UnitCaller<'_>>> {
        let mentions = self.by_unit.get(&document).filter(|all| !all.is_empty() && !self.open)?;
        let callers = mentions
            .iter()
            .map(|mention| Some(UnitCaller { at: mention.at, input: mention.input.as_ref()?, intent: mention.intent }));
        callers.collect()
    }
}

/// A mention that passes something known.
struct UnitCaller<'m> {
    at: Location,
    input: &'m PassedInput,
    intent: bool,
}

/// The calls of agents and workflows in the states of a document, with the texts that they pass.
fn calls(root: &YamlNode) -> Vec<StateCall<'_>> {
    let states = (|| root.as_mapping()?.get("spec")?.value.as_mapping()?.get("states"))();
    let Some(states) = states.map(|entry| &entry.value) else { return Vec::new() };
    let named = states.as_mapping().map(|m| m.entries.iter().map(|e| &e.value).collect::<Vec<_>>());
    let states = named.unwrap_or_else(|| states.as_sequence().unwrap_or_default().iter().collect());
    let mut found = Vec::new();
    for state in states.into_iter().filter_map(YamlNode::as_mapping) {
        found.extend(call(state));
        let each = |key| state.get(key).and_then(|entry| entry.value.as_sequence()).unwrap_or_default().iter();
        found.extend(each("agents").filter_map(YamlNode::as_mapping).filter_map(call));
        let judges = ["judges", "judges_for_parallel"].into_iter().flat_map(each).filter_map(YamlNode::as_mapping);
        found.extend(judges.filter_map(call).map(|call| StateCall { input: Some(PassedInput::Answer), ..call }));
    }
    found
}

fn call(of: &YamlMapping) -> Option<StateCall<'_>> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| of.get(key)?.value.as_string());
    let input = text(&["input", "input_template"]).cloned().map(PassedInput::Written);
    let (unit, name) = match text(&["agent", "agent_id"]) {
        Some(name) => (AegisUnitKind::Agent, name),
        None => (AegisUnitKind::Workflow, text(&["workflow_id", "workflow"])?),
    };
    Some(StateCall { unit, name, input, intent: of.get("intent").is_some() })
}

/// What the prompt of an agent reads though no call passes it: fields if it gets only text, optional fields of an object, the
/// intent.
pub fn check_agent_fields(
    unit: &AgentUnit<'_, '_>,
    mentions: &LazyUnitMentions<'_>,
    at: usize,
    found: &mut FindingList,
) {
    let uses = || unit.texts.bound_references().map(|(_, used)| used);
    let schema = unit.names.prompt.declared.schema.as_ref();
    let fields = fields(uses(), FREE);
    let mut texts = unit.texts.rendered_texts();
    let intent = texts.find_map(|text| {
        let gap = |used: &&BoundReference| used.segment_name(0) == "intent" && !used.reference.guarded;
        text.uses.iter().find(|used| gap(used) && is_amid_words(&text.source.value, used.reference.span.start))
    });
    if fields.is_empty() && intent.is_none() {
        return;
    }
    let Some(callers) = mentions.callers(at) else { return };
    let name = &unit.agent.identity.name;
    let objects: Option<Vec<BTreeSet<Arc<str>>>> = callers.iter().map(|caller| caller.input.fields()).collect();
    let passes = |field: &str| objects.as_ref().is_none_or(|all| all.iter().any(|fields| fields.contains(field)));
    for (used, field) in fields {
        let (message, help) = match schema {
            None => (
                format!("`input.{field}` is always empty: every call of `{name}` passes text"),
                format!(
                    "read `{{{{input}}}}`, or declare `{field}` in `spec.input_schema` and pass `{{\"{field}\": ...}}`"
                ),
            ),
            Some(schema) => {
                let declared = schema.declared_properties().find(|(property, _)| &***property == field);
                let optional =
                    declared.is_some_and(|(_, of)| of.get("default").is_none()) && !schema.requires_property(field);
                if !optional || used.reference.guarded || passes(field) {
                    continue;
                }
                (
                    format!("`input.{field}` is always empty: no call of `{name}` passes it"),
                    format!(
                        "pass `\"{field}\": ...` in the state's `input`, or print it in `{{{{#if input.{field}}}}}`"
                    ),
                )
            }
        };
        let d = Diagnostic::new_warning("missing-input", used.at, message);
        found.push(label_callers(d, &callers).with_help(help));
    }
    // A text that may be an object can have one as well.
    let within = || schema.is_some_and(|schema| schema.of_objects()) && passes("intent");
    if let Some(used) = intent.filter(|_| callers.iter().all(|caller| !caller.intent) && !within()) {
        let message = format!("`intent` is always empty: no call of `{name}` passes one");
        let d = Diagnostic::new_warning("missing-input", used.at, message);
        let help = "write `intent: ...` in the state, or print it in `{{#if intent}}`";
        found.push(label_callers(d, &callers).with_help(help));
    }
}

/// Fields that a workflow reads from its start input, though each caller passes a text or an object without them.
pub fn check_workflow_fields(
    unit: &WorkflowUnit<'_, '_>,
    mentions: &LazyUnitMentions<'_>,
    at: usize,
    found: &mut FindingList,
) {
    let fields = fields(unit.texts.bound_references().map(|(_, used)| used), ALWAYS);
    if fields.is_empty() || unit.names.input.schema.is_some() {
        return;
    }
    let Some(callers) = mentions.callers(at) else { return };
    let passed: Option<Vec<BTreeSet<Arc<str>>>> = callers.iter().map(|caller| caller.input.fields()).collect();
    let Some(passed) = passed else { return };
    let name = &unit.workflow.identity.name;
    for (used, field) in fields {
        if passed.iter().any(|all| all.contains(field)) {
            continue;
        }
        let message = format!("`input.{field}` is always empty: no call of `{name}` passes it");
        let d = Diagnostic::new_warning("missing-input", used.at, message);
        found.push(label_callers(d, &callers).with_help(format!("pass `{{\"{field}\": ...}}` as the state's `input`")));
    }
}

/// Whether a line has words next to its placeholders, so that it says nothing if one of them is empty.
fn is_amid_words(text: &str, at: u32) -> bool {
    let (before, after) = text.split_at_checked(at as usize).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..before.len() + after.find('\n').unwrap_or(after.len())).unwrap_or_default();
    let outside = line.split("{{").enumerate().map(|(nth, part)| match nth {
        0 => part,
        _ => part.rsplit_once("}}").map_or("", |(_, rest)| rest),
    });
    outside.flat_map(str::chars).any(char::is_alphanumeric)
}

/// The first use of each field of the input.
fn fields<'u>(uses: impl Iterator<Item = &'u BoundReference>, free: &[&str]) -> Vec<(&'u BoundReference, &'u str)> {
    let mut seen = BTreeSet::new();
    let fields = uses.filter(|used| used.segment_name(0) == "input" && used.reference.default.is_none());
    let fields =
        fields.map(|used| (used, used.segment_name(1))).filter(|(_, field)| !field.is_empty() && !free.contains(field));
    fields.filter(|(_, field)| seen.insert(*field)).collect()
}

fn label_callers(d: Diagnostic, callers: &[UnitCaller<'_>]) -> Diagnostic {
    let place = |caller: &UnitCaller<'_>| match caller.input {
        PassedInput::Written(text) => (Location::new(caller.at.file, text.span), "passed here"),
        PassedInput::Answer => (caller.at, "judges here"),
    };
    callers.iter().take(MOST_LABELS).map(place).fold(d, |d, (at, role)| d.with_label(at, role))
}

/// The fields that a workflow gets from this text; `None`: unknown.
fn passed_fields(text: &str) -> Option<BTreeSet<Arc<str>>> {
    let probe = probe_text(text)?;
    let probe = probe.trim();
    if probe.starts_with(PLACEHOLDER) {
        return None;
    }
    if !probe.starts_with('{') {
        return Some(BTreeSet::from(["input".into()]));
    }
    let given = read_json::<ValueObject>(probe).ok()?;
    let known = given.keys().all(|key| !key.contains(PLACEHOLDER));
    known.then(|| given.keys().cloned().collect())
}
