//! A state of a workflow: the common part of all kinds, and the kind.

use std::sync::Arc;

use trefoil_syntax::yaml::{Entry, Kind, Node, Text};
use trefoil_syntax::{Diagnostic, Span, suggest};

use super::states::agent::AgentState;
use super::states::container::ContainerState;
use super::states::human::HumanState;
use super::states::parallel::ParallelState;
use super::states::subworkflow::SubworkflowState;
use super::states::system::SystemState;
use super::states::{agent, container, human, parallel, subworkflow, system};
use super::transition::{self, Condition, Transition};
use super::{RefusedFeature, agent::output_handler, declared, duration, spelled, words};
use crate::mend::respelt;
use crate::{Fields, Reader};
use trefoil_syntax::suggest::Near;

/// A state.
pub struct State {
    /// Its name.
    pub name: Arc<str>,
    /// Where the name is.
    pub span: Span,
    /// The same without quotes.
    pub at: Span,
    /// The span of the whole state.
    pub whole: Span,
    /// Its kind; `None`: unknown (reported).
    pub kind: Option<StateKind>,
    /// Its transitions; `None`: not written.
    pub transitions: Option<Vec<Transition>>,
    /// The targets in a misspelt `transitions` key (reported).
    pub lost: Vec<Arc<str>>,
    /// The timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Where that is written.
    pub timeout_at: Option<Span>,
    /// The maximum number of visits.
    pub max_visits: u32,
    /// Where that is written.
    pub max_visits_at: Option<Span>,
    /// The templates of `output_handler`.
    pub handler_templates: Vec<Text>,
    /// Unsupported features that it declares.
    pub refused: Vec<RefusedFeature>,
}

impl State {
    /// The transitions as written.
    pub fn written(&self) -> &[Transition] {
        self.transitions.as_deref().unwrap_or_default()
    }
    /// Whether one of them compares a score or a confidence.
    pub fn needs_score(&self) -> bool {
        self.written().iter().filter_map(|t| t.condition.as_ref()).any(Condition::needs_score)
    }
}

/// The kinds of state.
pub enum StateKind {
    /// `Agent`.
    Agent(AgentState),
    /// `System`, or `Action` for an update of the Blackboard.
    System(SystemState),
    /// `Human`.
    Human(HumanState),
    /// `ParallelAgents`.
    Parallel(ParallelState),
    /// `ContainerRun` and `ParallelContainerRun`.
    Container(ContainerState),
    /// `Subworkflow`.
    Subworkflow(SubworkflowState),
}

#[derive(Clone, Copy)]
enum Word {
    Agent,
    System,
    Action,
    Human,
    Parallel,
    Container,
    ParallelContainer,
    Subworkflow,
}

const KINDS: &[(&str, Word)] = &[
    ("Agent", Word::Agent),
    ("System", Word::System),
    ("Action", Word::Action),
    ("Human", Word::Human),
    ("ParallelAgents", Word::Parallel),
    ("ContainerRun", Word::Container),
    ("ParallelContainerRun", Word::ParallelContainer),
    ("Subworkflow", Word::Subworkflow),
];

/// Reads a state's body. `name` is its key in the map form; in the list form, `name` is a key of the body.
pub fn read(reader: &Reader<'_>, node: &Node, name: Option<&Text>) -> Option<State> {
    let what = name.map_or_else(|| "a state".to_owned(), |n| format!("state `{}`", n.value));
    let mut fields = reader.fields(node, &what)?;
    fields.also_called(words::STATE);
    fields.deciding(&[("transitions", "no other state runs after this one")]);
    fields.elsewhere(words::NOT_STATE);
    fields.forms(words::LISTS_OF_STATE, words::SCALARS_OF_STATE);
    let named = match name {
        Some(name) => Some(name),
        None => match as_key(fields.entries()) {
            Some(name) => {
                report_as_key(reader, name);
                return read(reader, &without_first(node), Some(name));
            }
            None => fields.require_text("name"),
        },
    };
    let (name_text, span) = named.map_or((Arc::default(), fields.head()), |n| (n.value.clone(), n.span));
    let at = named.map_or(span, Text::content);
    let whole = Span::new(span.start.min(node.span.start), node.span.end.max(span.end));
    let kind = fields.require("kind").and_then(|e| kind_word(reader, &e.value));
    let mut refused = Vec::new();
    let kind_body = kind.map(|word| match word {
        Word::Agent => StateKind::Agent(agent::read(reader, &mut fields, &mut refused)),
        Word::System => StateKind::System(system::read(reader, &mut fields)),
        Word::Action => StateKind::System(system::read_builtin(reader, &mut fields, &mut refused)),
        Word::Human => StateKind::Human(human::read(&mut fields)),
        Word::Parallel => StateKind::Parallel(parallel::read(reader, &mut fields)),
        Word::Container => StateKind::Container(container::read_one(reader, &mut fields, span, &mut refused)),
        Word::ParallelContainer => StateKind::Container(container::read_many(reader, &mut fields, span, &mut refused)),
        Word::Subworkflow => StateKind::Subworkflow(subworkflow::read(reader, &mut fields)),
    });
    let timeout_ms = read_timeout(&mut fields);
    let timeout_at = fields
        .entry("timeout")
        .or_else(|| fields.entry("timeout_seconds"))
        .map(|e| e.value.span)
        .filter(|_| timeout_ms.is_some());
    let max_visits = fields.integer("max_state_visits", 1..=20).and_then(|n| u32::try_from(n).ok()).unwrap_or(5);
    let max_visits_at = fields.entry("max_state_visits").map(|e| e.value.span);
    let transitions = fields.take("transitions").map(|e| transition::read_all(reader, &e.value));
    let lost = if transitions.as_ref().is_none_or(Vec::is_empty) { lost(fields.entries()) } else { Vec::new() };
    let mut handler_templates = Vec::new();
    if let Some(entry) = fields.take("output_handler") {
        refused.extend(output_handler(reader, &entry.value, entry.key.span, &mut handler_templates));
    }
    if !matches!(kind_body, Some(StateKind::Container(_))) {
        if let Some(entry) = fields.take("volumes") {
            declared::mounts(reader, &entry.value);
        }
        fields.no_effect(&["volumes"], "volumes are not mounted");
    }
    fields.text("description");
    if kind_body.is_some() {
        fields.finish();
    }
    let kind = kind_body;
    Some(State {
        name: name_text,
        span,
        at,
        whole,
        kind,
        transitions,
        lost,
        timeout_ms,
        timeout_at,
        max_visits,
        max_visits_at,
        handler_templates,
        refused,
    })
}

/// The name of a state in the list form that is written as a key, `- DRAFT:`, with its body next to it.
fn as_key(entries: &[Entry]) -> Option<&Text> {
    let (first, rest) = entries.split_first()?;
    let has = |key: &str| rest.iter().any(|e| &*e.key.value == key);
    let capital = first.key.value.starts_with(|c: char| c.is_uppercase());
    (first.value.is_null() && capital && has("kind") && !has("name")).then_some(&first.key)
}

fn report_as_key(reader: &Reader<'_>, name: &Text) {
    let d = Diagnostic::error("missing-key", reader.at(name.span), "a state in a list needs `name`");
    let meant = format!("- name: {}", name.value);
    reader.report(match reader.colon_after(name.span) {
        true => {
            let whole = Span::new(name.span.start, name.span.end + 1);
            d.fix(format!("write `{meant}`"), reader.at(whole), format!("name: {}", name.value))
        }
        false => d.help(format!("write `{meant}`")),
    });
}

/// A copy of a mapping without its first entry.
fn without_first(node: &Node) -> Node {
    let mut body = node.clone();
    if let Kind::Mapping(mapping) = Arc::make_mut(&mut body.kind) {
        mapping.entries.remove(0);
    }
    body
}

/// The targets in a misspelt `transitions` list.
fn lost(entries: &[Entry]) -> Vec<Arc<str>> {
    let near = |e: &&Entry| {
        matches!(&*e.key.value, "transitions" | "next" | "on" | "edges" | "goto")
            || suggest::near(&e.key.value, ["transitions"]).is_some()
    };
    let target = |n: &Node| Some(n.mapping()?.get("target")?.value.string()?.value.clone());
    let mut all = Vec::new();
    for entry in entries.iter().filter(near) {
        match &*entry.value.kind {
            Kind::Sequence(items) => all.extend(items.iter().filter_map(target)),
            Kind::Scalar(_, text) => all.push(text.value.clone()),
            // The target is unknown, so it may be any state.
            Kind::Mapping(_) => all.push(target(&entry.value).unwrap_or_default()),
        }
    }
    all
}

fn kind_word(reader: &Reader<'_>, node: &Node) -> Option<Word> {
    let text = reader.text(node, "kind")?;
    if let Some((word, kind)) = KINDS.iter().find(|(w, _)| w.eq_ignore_ascii_case(&text.value))
        && **word != *text.value
    {
        let d = Diagnostic::warning("deprecated", reader.at(node.span), format!("`{}` is an old spelling", text.value))
            .help(format!("write `{word}`"));
        let meant = Near { name: word, distance: 0, sure: true };
        reader.report(respelt(d, reader.at(node.span), text, meant));
        return Some(*kind);
    }
    reader.word(node, "kind", KINDS)
}

/// `timeout: 30s` or `timeout_seconds: 30`.
fn read_timeout(fields: &mut Fields<'_, '_>) -> Option<u64> {
    let entry = spelled(fields, "timeout", "timeout_seconds")?;
    match &*entry.key.value {
        "timeout" => duration::read(fields.reader, &entry.value, "timeout"),
        _ => duration::seconds(fields, "timeout_seconds"),
    }
}
