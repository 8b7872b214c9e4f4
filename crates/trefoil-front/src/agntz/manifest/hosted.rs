//! `kind: transcription` and `kind: image`: kinds of the hosted product. Checked, then refused.

use super::llm::Refusal;
use super::model;
use crate::read::Fields;

/// Reads the keys of a transcription agent.
pub fn transcription(fields: &mut Fields<'_, '_>) -> Refusal {
    let span = common(fields);
    if let Some(mut settings) = fields.fields("settings") {
        settings.text("language");
        settings.number("temperature", 0.0..=1.0);
        for item in settings.list("timestampGranularities").unwrap_or_default() {
            settings.reader.word(item, "timestampGranularities", &[("word", ()), ("segment", ())]);
        }
        settings.finish();
    }
    Refusal::new("kind: transcription", span, "transcribe outside and pass the text as input")
}

/// Reads the keys of an image agent.
pub fn image(fields: &mut Fields<'_, '_>) -> Refusal {
    let span = common(fields);
    fields.text("prompt");
    if let Some(mut settings) = fields.fields("settings") {
        settings.integer("n", 1..=10);
        settings.integer("maxImagesPerCall", 1..=10);
        settings.integer("seed", i64::MIN..=i64::MAX);
        pair(&mut settings, "size", 'x', "`WIDTHxHEIGHT`");
        pair(&mut settings, "aspectRatio", ':', "`WIDTH:HEIGHT`");
        settings.finish();
    }
    Refusal::new("kind: image", span, "make pictures outside of the workflow")
}

fn common(fields: &mut Fields<'_, '_>) -> trefoil_syntax::Span {
    let reader = fields.reader;
    if let Some(entry) = fields.require("model") {
        model::read(reader, &entry.value);
    }
    fields.text("instruction");
    fields.take("kind").map_or_else(|| fields.head(), |e| e.value.span)
}

fn pair(settings: &mut Fields<'_, '_>, key: &'static str, between: char, form: &str) {
    let Some(text) = settings.text(key) else { return };
    let number = |s: &str| s.parse::<u32>().is_ok_and(|n| n > 0);
    if !text.value.split_once(between).is_some_and(|(a, b)| number(a) && number(b)) {
        let message = format!("`{key}` cannot be `{}`: it is {form}", text.value);
        settings.reader.error("unknown-value", text.span, message);
    }
}
