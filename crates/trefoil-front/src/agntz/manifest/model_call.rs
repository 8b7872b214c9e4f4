//! `kind: llm`, read key by key.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use super::llm::LlmAgent;
use super::{AgntzModel, examples, extra_keys, model, model_names, texts, tools};
use crate::agntz::schema;
use crate::yaml_reader::{ManifestReader, MappingReader};

/// Reads the keys of an llm agent.
pub fn read_llm<'n>(fields: &mut MappingReader<'n, '_>, id: Option<&'n YamlText>) -> LlmAgent<'n> {
    let reader = fields.reader;
    let model = model::require_model(fields);
    if let Some(model) = &model
        && let Some(name) = model.name
        && !is_azure(model)
    {
        model_names::check_answers_text(reader, name);
    }
    let instruction = texts::non_empty_text(reader, fields.require_text("instruction"), "instruction");
    let prompt = fields.read_text("prompt").filter(|t| !is_empty(reader, t));
    let output = fields.take("outputSchema").map(|e| schema::read_schema(reader, e));
    let examples = match fields.take("examples") {
        Some(entry) => examples::read_examples(reader, &entry.value),
        None => Vec::new(),
    };
    let mut llm = LlmAgent {
        model,
        instruction,
        prompt,
        examples,
        output,
        refusals: Vec::new(),
        tools: Vec::new(),
        spawned: Vec::new(),
        spawnable: Vec::new(),
        spawnable_at: None,
    };
    tools::read_tools(fields, &mut llm);
    extra_keys::read_spawnable(fields, &mut llm, id);
    extra_keys::read_skills(fields, &mut llm);
    extra_keys::read_resources(fields, &mut llm);
    extra_keys::read_reply(fields);
    llm
}

/// Whether the model is an Azure deployment. Its name is chosen by the customer, so it says nothing about the model.
fn is_azure(model: &AgntzModel<'_>) -> bool {
    matches!(model.provider, Some(provider) if &*provider.value == "azure")
}

/// Whether a prompt is empty, which counts as absent.
fn is_empty(reader: &ManifestReader<'_>, prompt: &YamlText) -> bool {
    let empty = prompt.value.is_empty();
    if empty {
        let d = Diagnostic::new_warning(
            "no-effect",
            reader.location_of(prompt.span),
            "`prompt` has no effect: it is empty",
        );
        reader.report_finding(d.with_help("write the prompt, or remove the key to send the input as it is"));
    }
    empty
}
