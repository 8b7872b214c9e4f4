//! A state of a workflow: the common part of all kinds, and the kind.

use std::sync::Arc;

use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlNodeKind, YamlText};
use trefoil_syntax::{Diagnostic, Span, suggestions};

use super::states::agent::AgentState;
use super::states::container::ContainerState;
use super::states::human::HumanState;
use super::states::parallel::ParallelState;
use super::states::subworkflow::SubworkflowState;
use super::states::system::SystemState;
use super::states::{agent, container, human, parallel, subworkflow, system};
use super::transition::{self, AegisTransition};
use super::{RefusedFeature, agent::output_handler, duration, key_synonyms, take_spelled, unsupported_parts};
use crate::spelling_fixes::fix_spelling;
use crate::{ManifestReader, MappingReader};
use trefoil_syntax::suggestions::NearMatch;

/// A state.
pub struct AegisState {
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
    pub transitions: Option<Vec<AegisTransition>>,
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
    pub handler_templates: Vec<YamlText>,
    /// Unsupported features that it declares.
    pub refused: Vec<RefusedFeature>,
}

impl AegisState {
    /// The transitions as written.
    pub fn written_transitions(&self) -> &[AegisTransition] {
        self.transitions.as_deref().unwrap_or_default()
    }
    /// Whether one of them compares a score or a confidence.
    pub fn needs_score(&self) -> bool {
        let needs_score = |transition: &AegisTransition| match &transition.condition {
            Some(condition) => condition.needs_score(),
            None => false,
        };
        self.written_transitions().iter().any(needs_score)
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
enum StateKindWord {
    Agent,
    System,
    Action,
    Human,
    Parallel,
    Container,
    ParallelContainer,
    Subworkflow,
}

const KINDS: &[(&str, StateKindWord)] = &[
    ("Agent", StateKindWord::Agent),
    ("System", StateKindWord::System),
    ("Action", StateKindWord::Action),
    ("Human", StateKindWord::Human),
    ("ParallelAgents", StateKindWord::Parallel),
    ("ContainerRun", StateKindWord::Container),
    ("ParallelContainerRun", StateKindWord::ParallelContainer),
    ("Subworkflow", StateKindWord::Subworkflow),
];

/// Reads a state's body. `name` is its key in the map form; in the list form, `name` is a key of the body.
pub fn read_state(reader: &ManifestReader<'_>, node: &YamlNode, name: Option<&YamlText>) -> Option<AegisState> {
    let what = match name {
        Some(name) => format!("state `{}`", name.value),
        None => "a state".to_owned(),
    };
    let mut fields = reader.read_mapping(node, &what)?;
    fields.also_called(key_synonyms::STATE);
    fields.set_deciding_keys(&[("transitions", "no other state runs after this one")]);
    fields.set_foreign_keys(key_synonyms::NOT_STATE);
    fields.set_key_forms(key_synonyms::LISTS_OF_STATE, key_synonyms::SCALARS_OF_STATE);
    let named = match name {
        Some(name) => Some(name),
        None => match as_key(fields.entries()) {
            Some(name) => {
                report_as_key(reader, name);
                return read_state(reader, &without_first(node), Some(name));
            }
            None => fields.require_text("name"),
        },
    };
    let (name_text, span, at) = match named {
        Some(name) => (name.value.clone(), name.span, name.content_span()),
        None => (Arc::default(), fields.head_span(), fields.head_span()),
    };
    let whole = Span::new(span.start.min(node.span.start), node.span.end.max(span.end));
    let mut refused = Vec::new();
    let kind = fields.require_entry("kind").and_then(|entry| kind_word(reader, &entry.value));
    let kind = kind.map(|word| read_kind(reader, &mut fields, word, span, &mut refused));
    let timeout_ms = read_timeout(&mut fields);
    let timeout = fields.peek_entry("timeout").or_else(|| fields.peek_entry("timeout_seconds"));
    let timeout_at = match timeout {
        Some(entry) if timeout_ms.is_some() => Some(entry.value.span),
        _ => None,
    };
    let max_visits = match fields.read_integer("max_state_visits", 1..=20) {
        Some(max) => u32::try_from(max).unwrap_or(5),
        None => 5,
    };
    let max_visits_at = fields.peek_entry("max_state_visits").map(|entry| entry.value.span);
    let transitions = fields.take("transitions").map(|entry| transition::read_all(reader, &entry.value));
    let lost = match &transitions {
        Some(transitions) if !transitions.is_empty() => Vec::new(),
        _ => lost(fields.entries()),
    };
    let mut handler_templates = Vec::new();
    if let Some(entry) = fields.take("output_handler") {
        refused.extend(output_handler(reader, &entry.value, entry.key.span, &mut handler_templates));
    }
    if !matches!(kind, Some(StateKind::Container(_))) {
        if let Some(entry) = fields.take("volumes") {
            unsupported_parts::check_mounts(reader, &entry.value);
        }
        fields.no_effect(&["volumes"], "volumes are not mounted");
    }
    fields.read_text("description");
    if kind.is_some() {
        fields.finish_mapping();
    }
    Some(AegisState {
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

/// Reads the keys that only this kind of state has.
fn read_kind(
    reader: &ManifestReader<'_>,
    fields: &mut MappingReader<'_, '_>,
    word: StateKindWord,
    span: Span,
    refused: &mut Vec<RefusedFeature>,
) -> StateKind {
    match word {
        StateKindWord::Agent => StateKind::Agent(agent::read_agent_state(reader, fields, refused)),
        StateKindWord::System => StateKind::System(system::read_system_state(reader, fields)),
        StateKindWord::Action => StateKind::System(system::read_builtin(reader, fields, refused)),
        StateKindWord::Human => StateKind::Human(human::read_human_state(fields)),
        StateKindWord::Parallel => StateKind::Parallel(parallel::read_parallel_state(reader, fields)),
        StateKindWord::Container => StateKind::Container(container::read_one(reader, fields, span, refused)),
        StateKindWord::ParallelContainer => StateKind::Container(container::read_many(reader, fields, span, refused)),
        StateKindWord::Subworkflow => StateKind::Subworkflow(subworkflow::read_subworkflow_state(reader, fields)),
    }
}

/// The name of a state in the list form that is written as a key, `- DRAFT:`, with its body next to it.
fn as_key(entries: &[YamlEntry]) -> Option<&YamlText> {
    let (first, rest) = entries.split_first()?;
    let has = |key: &str| rest.iter().any(|entry| &*entry.key.value == key);
    let capital = first.key.value.starts_with(|c: char| c.is_uppercase());
    if first.value.is_null() && capital && has("kind") && !has("name") { Some(&first.key) } else { None }
}

fn report_as_key(reader: &ManifestReader<'_>, name: &YamlText) {
    let d = Diagnostic::new_error("missing-key", reader.location_of(name.span), "a state in a list needs `name`");
    let meant = format!("- name: {}", name.value);
    reader.report_finding(match reader.colon_after(name.span) {
        true => {
            let whole = Span::new(name.span.start, name.span.end + 1);
            d.with_safe_fix(format!("write `{meant}`"), reader.location_of(whole), format!("name: {}", name.value))
        }
        false => d.with_help(format!("write `{meant}`")),
    });
}

/// A copy of a mapping without its first entry.
fn without_first(node: &YamlNode) -> YamlNode {
    let mut body = node.clone();
    if let YamlNodeKind::Mapping(mapping) = Arc::make_mut(&mut body.kind) {
        mapping.entries.remove(0);
    }
    body
}

/// The targets in a misspelt `transitions` list.
fn lost(entries: &[YamlEntry]) -> Vec<Arc<str>> {
    let target = |node: &YamlNode| Some(node.as_mapping()?.get("target")?.value.as_string()?.value.clone());
    let mut targets = Vec::new();
    for entry in entries {
        let key = &*entry.key.value;
        if !matches!(key, "transitions" | "next" | "on" | "edges" | "goto")
            && suggestions::find_near_match(key, ["transitions"]).is_none()
        {
            continue;
        }
        match &*entry.value.kind {
            YamlNodeKind::Sequence(items) => targets.extend(items.iter().filter_map(target)),
            YamlNodeKind::Scalar(_, text) => targets.push(text.value.clone()),
            // The target is unknown, so it may be any state.
            YamlNodeKind::Mapping(_) => targets.push(target(&entry.value).unwrap_or_default()),
        }
    }
    targets
}

fn kind_word(reader: &ManifestReader<'_>, node: &YamlNode) -> Option<StateKindWord> {
    let text = reader.read_text(node, "kind")?;
    if let Some((word, kind)) = KINDS.iter().find(|(w, _)| w.eq_ignore_ascii_case(&text.value))
        && **word != *text.value
    {
        let d = Diagnostic::new_warning(
            "deprecated",
            reader.location_of(node.span),
            format!("`{}` is an old spelling", text.value),
        )
        .with_help(format!("write `{word}`"));
        let meant = NearMatch { name: word, distance: 0, sure: true };
        reader.report_finding(fix_spelling(d, reader.location_of(node.span), text, meant));
        return Some(*kind);
    }
    reader.read_word(node, "kind", KINDS)
}

/// `timeout: 30s` or `timeout_seconds: 30`.
fn read_timeout(fields: &mut MappingReader<'_, '_>) -> Option<u64> {
    let entry = take_spelled(fields, "timeout", "timeout_seconds")?;
    match &*entry.key.value {
        "timeout" => duration::read_duration(fields.reader, &entry.value, "timeout"),
        _ => duration::read_seconds(fields, "timeout_seconds"),
    }
}
