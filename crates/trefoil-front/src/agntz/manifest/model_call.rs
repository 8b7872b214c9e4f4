//! `kind: llm`, read key by key.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use super::llm::LlmAgent;
use super::{examples, extra_keys, model, model_names, texts, tools};
use crate::agntz::schema;
use crate::yaml_reader::{ManifestReader, MappingReader};

/// Reads the keys of an llm agent.
pub fn read_llm<'n>(fields: &mut MappingReader<'n, '_>, id: Option<&'n YamlText>) -> LlmAgent<'n> {
    let reader = fields.reader;
    let model = fields.require_entry("model").and_then(|e| model::read_model(reader, &e.value));
    // The name of an Azure deployment is chosen by the customer, so it says nothing about the model.
    let azure = |m: &model::AgntzModel<'_>| m.provider.is_some_and(|p| &*p.value == "azure");
    if let Some(name) = model.as_ref().filter(|m| !azure(m)).and_then(|m| m.name) {
        model_names::check_answers_text(reader, name);
    }
    let instruction = fields.require_text("instruction").filter(|t| texts::not_empty(reader, t, "instruction"));
    let prompt = fields.read_text("prompt").filter(|t| !is_empty(reader, t));
    let output = fields.take("outputSchema").map(|e| schema::read_schema(reader, e));
    let examples = fields.take("examples").map(|e| examples::read_examples(reader, &e.value)).unwrap_or_default();
    let mut llm = LlmAgent {
        model,
        instruction,
        prompt,
        examples,
        output,
        refusals: Vec::new(),
        tools: Vec::new(),
        callbacks: Vec::new(),
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
