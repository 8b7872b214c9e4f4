//! The names of an agent, from its manifest and what belongs to it.

use std::sync::Arc;

use trefoil_ir::{SlotId, Source};
use trefoil_template::Value;

use super::prompt::PromptNames;
use super::spelling::name_path;
use super::workflow_names::AegisInput;
use crate::aegis::manifest::agent::{AegisAgentManifest, ContextEntry};
use crate::program_builder::FlowSlots;
use crate::project::resolve_path;
use crate::{ManifestDocument, Project};

/// The names available in an agent's texts, and the slots of its flow.
pub struct AegisAgentNames {
    /// The names for its prompt.
    pub prompt: Arc<PromptNames>,
    /// Its slots.
    pub slots: FlowSlots,
    /// If it is called with an intent: the slot of the call's input, and that of the intent.
    pub called: Option<(SlotId, SlotId)>,
    /// Texts from other files that became part of it.
    pub embedded_texts: Vec<Arc<str>>,
}

impl AegisAgentNames {
    /// The names of an agent. With `intent`, its input is an object with `input` and `intent`.
    pub fn from_manifest(
        project: &Project,
        document: &ManifestDocument,
        agent: &AegisAgentManifest,
        intent: bool,
    ) -> Self {
        let mut slots = FlowSlots::default();
        let input = slots.add_slot("input");
        let iteration = slots.add_slot("iteration_number");
        let previous_error = slots.add_slot("previous_error");
        let called = if intent { Some((slots.add_slot("call"), slots.add_slot("intent"))) } else { None };
        let mut embedded_texts = Vec::new();
        let prompt = PromptNames {
            input,
            intent: match called {
                Some((_, intent)) => Source::Slot(intent),
                // If a run starts the agent directly, the intent is a property of its input.
                None => Source::Member(input, name_path(&["intent"])),
            },
            iteration,
            previous_error,
            instruction: match &agent.instruction {
                Some(text) => Value::Str(text.value.clone()),
                None => "".into(),
            },
            context: Value::from(context(project, document, agent, &mut embedded_texts)),
            skills: Value::from(skills(project, &mut embedded_texts)),
            declared: AegisInput::from_schema(document.file, agent.input_schema.as_ref()),
            has_repositories: agent.has_repositories,
        };
        Self { prompt: prompt.into(), slots, called, embedded_texts }
    }
}

/// `{{context}}`: the context passed by the operator, otherwise the entries joined by a blank line.
fn context(
    project: &Project,
    document: &ManifestDocument,
    agent: &AegisAgentManifest,
    embedded_texts: &mut Vec<Arc<str>>,
) -> Arc<str> {
    if let Some(given) = &project.context {
        let given: Arc<str> = given.as_str().into();
        embedded_texts.push(given.clone());
        return given;
    }
    let mut parts: Vec<&str> = Vec::new();
    for entry in &agent.context {
        match entry {
            ContextEntry::Text(text) => parts.push(&text.value),
            ContextEntry::File(path) => {
                if let Some(text) = project.attachments.get(&resolve_path(&document.path, &path.value)) {
                    embedded_texts.push(text.as_str().into());
                    parts.push(text);
                }
            }
        }
    }
    parts.join("\n\n").into()
}

/// `{{agentskills}}`: the skills passed by the operator.
fn skills(project: &Project, embedded_texts: &mut Vec<Arc<str>>) -> Arc<str> {
    let given: Arc<str> = project.skills.as_deref().unwrap_or_default().into();
    if !given.is_empty() {
        embedded_texts.push(given.clone());
    }
    given
}
