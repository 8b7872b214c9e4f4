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
                if Some(place) == own {
                    return;
                }
                for callee in seen.find_documents(unit, &name.value) {
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
                    YamlNodeKind::Scalar(_, text) => {
                        add(AegisUnitKind::Agent, text, None, true);
                        add(AegisUnitKind::Workflow, text, None, true);
                    }
                }
            }
        }
        Self { by_unit, open }
    }

    /// The callers of a unit; `None`: there are none, or some pass something unknown.
    fn callers(&self, document: usize) -> Option<Vec<UnitCaller<'_>>> {
        let mentions = self.by_unit.get(&document)?;
        if mentions.is_empty() || self.open {
            return None;
        }
        let mut callers = Vec::with_capacity(mentions.len());
        for mention in mentions {
            callers.push(UnitCaller { at: mention.at, input: mention.input.as_ref()?, intent: mention.intent });
        }
        Some(callers)
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
    let mut found = Vec::new();
    for state in state_mappings(root).unwrap_or_default() {
        found.extend(call(state));
        for (key, is_judge) in [("agents", false), ("judges", true), ("judges_for_parallel", true)] {
            let Some(YamlNodeKind::Sequence(items)) = state.get(key).map(|entry| &*entry.value.kind) else { continue };
            for item in items {
                let Some(mut call) = item.as_mapping().and_then(call) else { continue };
                if is_judge {
                    call.input = Some(PassedInput::Answer);
                }
                found.push(call);
            }
        }
    }
    found
}

/// The states of a document, by name or in a list.
fn state_mappings(root: &YamlNode) -> Option<Vec<&YamlMapping>> {
    let states = &root.as_mapping()?.get("spec")?.value.as_mapping()?.get("states")?.value;
    let nodes: Vec<&YamlNode> = match &*states.kind {
        YamlNodeKind::Mapping(mapping) => mapping.entries.iter().map(|entry| &entry.value).collect(),
        YamlNodeKind::Sequence(items) => items.iter().collect(),
        YamlNodeKind::Scalar(..) => return None,
    };
    Some(nodes.into_iter().filter_map(YamlNode::as_mapping).collect())
}

fn call(of: &YamlMapping) -> Option<StateCall<'_>> {
    let input = text_of(of, &["input", "input_template"]).cloned().map(PassedInput::Written);
    let (unit, name) = match text_of(of, &["agent", "agent_id"]) {
        Some(name) => (AegisUnitKind::Agent, name),
        None => (AegisUnitKind::Workflow, text_of(of, &["workflow_id", "workflow"])?),
    };
    Some(StateCall { unit, name, input, intent: of.get("intent").is_some() })
}

/// The text under the first of these keys that has one.
fn text_of<'n>(mapping: &'n YamlMapping, keys: &[&str]) -> Option<&'n YamlText> {
    keys.iter().find_map(|key| mapping.get(key)?.value.as_string())
}

/// What the prompt of an agent reads though no call passes it: fields if it gets only text, optional fields of an object, the
/// intent.
pub fn check_agent_fields(
    unit: &AgentUnit<'_, '_>,
    mentions: &LazyUnitMentions<'_>,
    at: usize,
    found: &mut FindingList,
) {
    let schema = unit.names.prompt.declared.schema.as_ref();
    let fields = fields(unit.texts.bound_references().map(|(_, used)| used), FREE);
    let intent = missed_intent(unit);
    if fields.is_empty() && intent.is_none() {
        return;
    }
    let Some(callers) = mentions.callers(at) else { return };
    let name = &unit.agent.identity.name;
    let objects: Option<Vec<BTreeSet<Arc<str>>>> = callers.iter().map(|caller| caller.input.fields()).collect();
    let passes = |field: &str| match &objects {
        Some(objects) => objects.iter().any(|fields| fields.contains(field)),
        None => true,
    };
    for (used, field) in fields {
        let (message, help) = match schema {
            None => (
                format!("`input.{field}` is always empty: every call of `{name}` passes text"),
                format!(
                    "read `{{{{input}}}}`, or declare `{field}` in `spec.input_schema` and pass `{{\"{field}\": ...}}`"
                ),
            ),
            Some(schema) => {
                let Some((_, declared)) = schema.declared_properties().find(|(property, _)| &***property == field)
                else {
                    continue;
                };
                let is_optional = declared.get("default").is_none() && !schema.requires_property(field);
                if !is_optional || used.reference.guarded || passes(field) {
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
    let within = || matches!(schema, Some(schema) if schema.of_objects()) && passes("intent");
    if let Some(used) = intent
        && !callers.iter().any(|caller| caller.intent)
        && !within()
    {
        let message = format!("`intent` is always empty: no call of `{name}` passes one");
        let d = Diagnostic::new_warning("missing-input", used.at, message);
        let help = "write `intent: ...` in the state, or print it in `{{#if intent}}`";
        found.push(label_callers(d, &callers).with_help(help));
    }
}

/// A place where the prompt prints the intent among other words, without testing whether there is one.
fn missed_intent<'u>(unit: &'u AgentUnit<'_, '_>) -> Option<&'u BoundReference> {
    for text in unit.texts.rendered_texts() {
        for used in &text.uses {
            if used.segment_name(0) == "intent"
                && !used.reference.guarded
                && is_amid_words(&text.source.value, used.reference.span.start)
            {
                return Some(used);
            }
        }
    }
    None
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
    let mut passed = Vec::new();
    for caller in &callers {
        let Some(fields) = caller.input.fields() else { return };
        passed.push(fields);
    }
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
    let mut parts = line.split("{{");
    if has_letters(parts.next().unwrap_or_default()) {
        return true;
    }
    parts.any(|part| matches!(part.rsplit_once("}}"), Some((_, outside)) if has_letters(outside)))
}

fn has_letters(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// The first use of each field of the input.
fn fields<'u>(uses: impl Iterator<Item = &'u BoundReference>, free: &[&str]) -> Vec<(&'u BoundReference, &'u str)> {
    let mut seen = BTreeSet::new();
    let mut fields = Vec::new();
    for used in uses {
        let field = used.segment_name(1);
        if used.segment_name(0) == "input"
            && used.reference.default.is_none()
            && !field.is_empty()
            && !free.contains(&field)
            && seen.insert(field)
        {
            fields.push((used, field));
        }
    }
    fields
}

fn label_callers(mut d: Diagnostic, callers: &[UnitCaller<'_>]) -> Diagnostic {
    for caller in callers.iter().take(MOST_LABELS) {
        d = match caller.input {
            PassedInput::Written(text) => d.with_label(Location::new(caller.at.file, text.span), "passed here"),
            PassedInput::Answer => d.with_label(caller.at, "judges here"),
        };
    }
    d
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
    if given.keys().any(|key| key.contains(PLACEHOLDER)) {
        return None;
    }
    Some(given.keys().cloned().collect())
}
