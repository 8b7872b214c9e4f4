//! Fields of an input that no caller in the project passes. An agent without a schema for objects gets the text of the state's
//! `input`, whatever it looks like; a workflow gets a text as the field `input`. Such a field is empty in every call.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{Kind, Mapping, Node, Text};
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::{Object, read_json};

use super::given::{PLACEHOLDER, probe};
use super::unit::{AgentUnit, Found, Workflow};
use trefoil_front::aegis::Units;
use trefoil_front::aegis::manifest::Unit;
use trefoil_front::aegis::names::ALWAYS;
use trefoil_front::names::Use;

/// Fields that need no caller: those of each call.
const FREE: &[&str] = &["intent", "attachments"];
/// The number of callers that a finding points to.
const MOST_LABELS: usize = 3;

/// Every place in the project that mentions a unit, by the document of the unit.
#[derive(Default)]
pub struct Mentions {
    by_unit: HashMap<usize, Vec<Mention>>,
    /// Whether a callee is only known at run time, so that it may be any.
    open: bool,
}

/// The mentions, collected if a finder needs them.
pub type LazyMentions<'u> = LazyCell<Mentions, Box<dyn FnOnce() -> Mentions + 'u>>;

/// A mention of a unit: where, and the text that is passed to it; `None`: it is mentioned otherwise, or passes no text.
struct Mention {
    at: Location,
    input: Option<Text>,
}

impl Mentions {
    /// The mentions in all documents of a project.
    pub fn of(units: &Units<'_>) -> Self {
        let (mut by_unit, mut open): (HashMap<usize, Vec<Mention>>, bool) = (HashMap::default(), false);
        for (at, document) in units.project.documents.iter().enumerate() {
            if document.front.name() != "aegis" {
                continue;
            }
            let seen = units.directory.seen_from(at);
            let own = units.directory.place(at);
            let calls = calls(&document.root);
            let mut add = |unit: Unit, name: &Text, input: Option<&Text>| {
                let place = Location::new(document.file, name.content());
                for callee in seen.find(unit, &name.value).into_iter().filter(|_| Some(place) != own) {
                    by_unit.entry(callee).or_default().push(Mention { at: place, input: input.cloned() });
                }
            };
            let mut known = BTreeSet::new();
            for (unit, name, input) in &calls {
                known.insert(name.span.start);
                add(*unit, name, *input);
                open |= name.value.contains("{{");
            }
            let mut stack = vec![&document.root];
            while let Some(node) = stack.pop() {
                match &*node.kind {
                    Kind::Mapping(mapping) => stack.extend(mapping.entries.iter().map(|entry| &entry.value)),
                    Kind::Sequence(items) => stack.extend(items),
                    Kind::Scalar(_, text) if known.contains(&text.span.start) => {}
                    Kind::Scalar(_, text) => {
                        [Unit::Agent, Unit::Workflow].iter().for_each(|unit| add(*unit, text, None))
                    }
                }
            }
        }
        Self { by_unit, open }
    }

    /// The callers of a unit; `None`: there are none, or some pass something unknown.
    fn callers(&self, document: usize) -> Option<Vec<(Location, &Text)>> {
        let mentions = self.by_unit.get(&document).filter(|all| !all.is_empty() && !self.open)?;
        mentions.iter().map(|mention| Some((mention.at, mention.input.as_ref()?))).collect()
    }
}

/// The calls of agents and workflows in the states of a document, with the texts that they pass.
fn calls(root: &Node) -> Vec<(Unit, &Text, Option<&Text>)> {
    let states = (|| root.mapping()?.get("spec")?.value.mapping()?.get("states"))();
    let Some(states) = states.map(|entry| &entry.value) else { return Vec::new() };
    let named = states.mapping().map(|m| m.entries.iter().map(|e| &e.value).collect::<Vec<_>>());
    let states = named.unwrap_or_else(|| states.sequence().unwrap_or_default().iter().collect());
    let mut found = Vec::new();
    for state in states.into_iter().filter_map(Node::mapping) {
        found.extend(call(state));
        let agents = state.get("agents").and_then(|entry| entry.value.sequence()).unwrap_or_default();
        found.extend(agents.iter().filter_map(Node::mapping).filter_map(call));
    }
    found
}

fn call(of: &Mapping) -> Option<(Unit, &Text, Option<&Text>)> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| of.get(key)?.value.string());
    let input = text(&["input", "input_template"]);
    let agent = text(&["agent", "agent_id"]).map(|name| (Unit::Agent, name, input));
    agent.or_else(|| text(&["workflow_id", "workflow"]).map(|name| (Unit::Workflow, name, input)))
}

/// Fields in the prompt of an agent that gets only text.
pub fn of_agent(unit: &AgentUnit<'_, '_>, mentions: &LazyMentions<'_>, at: usize, found: &mut Found) {
    let fields = fields(unit.texts.uses().map(|(_, used)| used), FREE);
    if fields.is_empty() || unit.names.prompt.declared.schema.is_some() {
        return;
    }
    let Some(callers) = mentions.callers(at) else { return };
    let name = &unit.agent.identity.name;
    for (used, field) in fields {
        let message = format!("`input.{field}` is always empty: every call of `{name}` passes text");
        let d = Diagnostic::warning("missing-input", used.at, message);
        let d = labelled(d, &callers);
        found.push(d.help(format!(
            "read `{{{{input}}}}`, or declare `{field}` in `spec.input_schema` and pass `{{\"{field}\": ...}}`"
        )));
    }
}

/// Fields that a workflow reads from its start input, though each caller passes a text or an object without them.
pub fn of_workflow(unit: &Workflow<'_, '_>, mentions: &LazyMentions<'_>, at: usize, found: &mut Found) {
    let fields = fields(unit.texts.uses().map(|(_, used)| used), ALWAYS);
    if fields.is_empty() || unit.names.input.schema.is_some() {
        return;
    }
    let Some(callers) = mentions.callers(at) else { return };
    let passed: Option<Vec<BTreeSet<Arc<str>>>> = callers.iter().map(|(_, text)| passed(&text.value)).collect();
    let Some(passed) = passed else { return };
    let name = &unit.workflow.identity.name;
    for (used, field) in fields {
        if passed.iter().any(|all| all.contains(field)) {
            continue;
        }
        let message = format!("`input.{field}` is always empty: no call of `{name}` passes it");
        let d = Diagnostic::warning("missing-input", used.at, message);
        found.push(labelled(d, &callers).help(format!("pass `{{\"{field}\": ...}}` as the state's `input`")));
    }
}

/// The first use of each field of the input.
fn fields<'u>(uses: impl Iterator<Item = &'u Use>, free: &[&str]) -> Vec<(&'u Use, &'u str)> {
    let mut seen = BTreeSet::new();
    let fields = uses.filter(|used| used.name(0) == "input" && used.reference.default.is_none());
    let fields =
        fields.map(|used| (used, used.name(1))).filter(|(_, field)| !field.is_empty() && !free.contains(field));
    fields.filter(|(_, field)| seen.insert(*field)).collect()
}

fn labelled(d: Diagnostic, callers: &[(Location, &Text)]) -> Diagnostic {
    let places = callers.iter().take(MOST_LABELS).map(|(at, text)| Location::new(at.file, text.span));
    places.fold(d, |d, at| d.label(at, "passed here"))
}

/// The fields that a workflow gets from this text; `None`: unknown.
fn passed(text: &str) -> Option<BTreeSet<Arc<str>>> {
    let probe = probe(text)?;
    let probe = probe.trim();
    if probe.starts_with(PLACEHOLDER) {
        return None;
    }
    if !probe.starts_with('{') {
        return Some(BTreeSet::from(["input".into()]));
    }
    let given = read_json::<Object>(probe).ok()?;
    let known = given.keys().all(|key| !key.contains(PLACEHOLDER));
    known.then(|| given.keys().cloned().collect())
}
