//! `kind: llm`: what is written.

use std::borrow::Cow;

use trefoil_syntax::Span;
use trefoil_syntax::yaml::Text;

use super::examples::Example;
use super::{Http, Model};
use crate::agntz::schema::Schema;

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
    /// Templates inside refused features; their names are checked anyway.
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
