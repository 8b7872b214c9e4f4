//! `kind: llm`, read key by key.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

use super::llm::Llm;
use super::{examples, extras, maker, model, texts, tools};
use crate::agntz::schema;
use crate::read::{Fields, Reader};

/// Reads the keys of an llm agent.
pub fn read<'n>(fields: &mut Fields<'n, '_>, id: Option<&'n Text>) -> Llm<'n> {
    let reader = fields.reader;
    let model = fields.require("model").and_then(|e| model::read(reader, &e.value));
    // The name of an Azure deployment is chosen by the customer, so it says nothing about the model.
    let azure = |m: &model::Model<'_>| m.provider.is_some_and(|p| &*p.value == "azure");
    if let Some(name) = model.as_ref().filter(|m| !azure(m)).and_then(|m| m.name) {
        maker::answers(reader, name);
    }
    let instruction = fields.require_text("instruction").filter(|t| texts::not_empty(reader, t, "instruction"));
    let prompt = fields.text("prompt").filter(|t| !is_empty(reader, t));
    let output = fields.take("outputSchema").map(|e| schema::read(reader, e));
    let examples = fields.take("examples").map(|e| examples::read(reader, &e.value)).unwrap_or_default();
    let mut llm = Llm {
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
    tools::read(fields, &mut llm);
    extras::spawnable(fields, &mut llm, id);
    extras::skills(fields, &mut llm);
    extras::resources(fields, &mut llm);
    extras::reply(fields);
    llm
}

/// Whether a prompt is empty, which counts as absent.
fn is_empty(reader: &Reader<'_>, prompt: &Text) -> bool {
    let empty = prompt.value.is_empty();
    if empty {
        let d = Diagnostic::warning("no-effect", reader.at(prompt.span), "`prompt` has no effect: it is empty");
        reader.report(d.help("write the prompt, or remove the key to send the input as it is"));
    }
    empty
}
