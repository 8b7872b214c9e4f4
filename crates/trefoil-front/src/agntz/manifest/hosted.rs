//! `kind: transcription` and `kind: image`: kinds of the hosted product. Checked, then refused.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::Text;

use super::llm::Refusal;
use super::maker;
use super::model;
use crate::read::Fields;

/// An agent of a hosted kind. Its texts are checked, although it cannot run.
pub struct Hosted<'n> {
    /// The refusal.
    pub refusal: Refusal,
    /// `instruction`, a template.
    pub instruction: Option<&'n Text>,
    /// `prompt`, a template.
    pub prompt: Option<&'n Text>,
}

/// Reads the keys of a transcription agent.
pub fn transcription<'n>(fields: &mut Fields<'n, '_>) -> Hosted<'n> {
    let (span, instruction) = common(fields, "transcription");
    if let Some(mut settings) = fields.fields("settings") {
        settings.text("language");
        settings.number("temperature", 0.0..=1.0);
        for item in settings.list("timestampGranularities").unwrap_or_default() {
            settings.reader.word(item, "timestampGranularities", &[("word", ()), ("segment", ())]);
        }
        settings.finish();
    }
    let refusal = Refusal::report(
        fields.reader,
        "kind: transcription",
        span,
        "transcribe before the run, and pass the text as input",
    );
    Hosted { refusal, instruction, prompt: None }
}

/// Reads the keys of an image agent.
pub fn image<'n>(fields: &mut Fields<'n, '_>) -> Hosted<'n> {
    let (span, instruction) = common(fields, "image");
    let prompt = fields.text("prompt");
    if let Some(mut settings) = fields.fields("settings") {
        settings.integer("n", 1..=10);
        settings.integer("maxImagesPerCall", 1..=10);
        settings.integer("seed", i64::MIN..=i64::MAX);
        pair(&mut settings, "size", 'x', "`WIDTHxHEIGHT`");
        pair(&mut settings, "aspectRatio", ':', "`WIDTH:HEIGHT`");
        settings.finish();
    }
    let refusal = Refusal::report(fields.reader, "kind: image", span, "create images outside the workflow");
    Hosted { refusal, instruction, prompt }
}

fn common<'n>(fields: &mut Fields<'n, '_>, kind: &str) -> (Span, Option<&'n Text>) {
    let reader = fields.reader;
    let model = fields.require("model").and_then(|entry| model::read(reader, &entry.value));
    if let Some(name) = model.and_then(|m| m.name) {
        maker::answers_only(reader, name, kind);
    }
    let instruction = fields.text("instruction");
    (fields.take("kind").map_or_else(|| fields.head(), |e| e.value.span), instruction)
}

fn pair(settings: &mut Fields<'_, '_>, key: &'static str, between: char, form: &str) {
    let Some(text) = settings.text(key) else { return };
    let number = |s: &str| s.parse::<u32>().is_ok_and(|n| n > 0);
    if !text.value.split_once(between).is_some_and(|(a, b)| number(a) && number(b)) {
        let message = format!("`{key}` cannot be `{}`: write {form}", text.value);
        settings.reader.error("unknown-value", text.span, message);
    }
}
