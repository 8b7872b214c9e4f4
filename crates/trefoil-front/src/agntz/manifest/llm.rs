//! `kind: llm`.

use std::borrow::Cow;

use trefoil_syntax::Span;
use trefoil_syntax::yaml::Text;

use super::examples::{self, Example};
use super::{Http, Model, extras, maker, model, texts, tools};
use crate::agntz::schema::{self, Schema};
use crate::read::Fields;

/// An agent that is one model call.
pub struct Llm<'n> {
    /// Which model.
    pub model: Option<Model<'n>>,
    /// The system message's template.
    pub instruction: Option<&'n Text>,
    /// The user message's template; empty text counts as absent.
    pub prompt: Option<&'n Text>,
    /// Few-shot turns.
    pub examples: Vec<Example<'n>>,
    /// What the answer must fit.
    pub output: Option<Schema<'n>>,
    /// Features that change what the agent does and are not run by this version.
    pub refusals: Vec<Refusal>,
    /// Templates inside refused features; their names are checked all the same.
    pub inner_texts: Vec<&'n Text>,
    /// The requests of such tools; their texts, but for the address, are among those.
    pub inner_http: Vec<Http<'n>>,
    /// References to other agents inside refused features: as written, and where.
    pub inner_refs: Vec<&'n Text>,
}

/// A feature that is recognised and not run.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// As the warning names it.
    pub feature: Cow<'static, str>,
    /// Where it is.
    pub span: Span,
    /// What to do instead.
    pub help: &'static str,
}

impl Refusal {
    /// A feature at a place.
    pub fn new(feature: impl Into<Cow<'static, str>>, span: Span, help: &'static str) -> Self {
        Self { feature: feature.into(), span, help }
    }
}

/// Reads the keys of an llm agent.
pub fn read<'n>(fields: &mut Fields<'n, '_>, id: Option<&'n Text>) -> Llm<'n> {
    let reader = fields.reader;
    let model = fields.require("model").and_then(|e| model::read(reader, &e.value));
    // What a customer of azure calls a deployment says nothing.
    let azure = |m: &model::Model<'_>| m.provider.is_some_and(|p| &*p.value == "azure");
    if let Some(name) = model.as_ref().filter(|m| !azure(m)).and_then(|m| m.name) {
        maker::answers(reader, name);
    }
    let instruction = fields.require_text("instruction").filter(|t| texts::not_empty(reader, t, "instruction"));
    let prompt = fields.text("prompt").filter(|t| !t.value.is_empty());
    let output = fields.take("outputSchema").map(|e| schema::read(reader, e));
    let examples = fields.take("examples").map(|e| examples::read(reader, &e.value)).unwrap_or_default();
    let mut llm = Llm {
        model,
        instruction,
        prompt,
        examples,
        output,
        refusals: Vec::new(),
        inner_texts: Vec::new(),
        inner_http: Vec::new(),
        inner_refs: Vec::new(),
    };
    tools::read(fields, &mut llm, id);
    extras::spawnable(fields, &mut llm, id);
    extras::skills(fields, &mut llm);
    extras::resources(fields, &mut llm);
    extras::reply(fields);
    examples::check(reader, &llm.examples, llm.output.as_ref());
    llm
}
