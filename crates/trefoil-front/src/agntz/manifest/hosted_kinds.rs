//! `kind: transcription` and `kind: image`: kinds of the hosted product. Checked, then refused.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::YamlText;

use super::llm::AgntzRefusal;
use super::model;
use super::model_names;
use crate::yaml_reader::MappingReader;

/// An agent of a hosted kind. Its texts are checked, although it cannot run.
pub struct HostedAgent<'n> {
    /// The refusal.
    pub refusal: AgntzRefusal,
    /// `instruction`, a template.
    pub instruction: Option<&'n YamlText>,
    /// `prompt`, a template.
    pub prompt: Option<&'n YamlText>,
}

/// Reads the keys of a transcription agent.
pub fn read_transcription<'n>(fields: &mut MappingReader<'n, '_>) -> HostedAgent<'n> {
    let (span, instruction) = common(fields, "transcription");
    if let Some(mut settings) = fields.read_mapping("settings") {
        settings.read_text("language");
        settings.read_number("temperature", 0.0..=1.0);
        for item in settings.read_list("timestampGranularities").unwrap_or_default() {
            settings.reader.read_word(item, "timestampGranularities", &[("word", ()), ("segment", ())]);
        }
        settings.finish_mapping();
    }
    let refusal = AgntzRefusal::report_feature(
        fields.reader,
        "kind: transcription",
        span,
        "transcribe before the run, and pass the text as input",
    );
    HostedAgent { refusal, instruction, prompt: None }
}

/// Reads the keys of an image agent.
pub fn read_image<'n>(fields: &mut MappingReader<'n, '_>) -> HostedAgent<'n> {
    let (span, instruction) = common(fields, "image");
    let prompt = fields.read_text("prompt");
    if let Some(mut settings) = fields.read_mapping("settings") {
        settings.read_integer("n", 1..=10);
        settings.read_integer("maxImagesPerCall", 1..=10);
        settings.read_integer("seed", i64::MIN..=i64::MAX);
        pair(&mut settings, "size", 'x', "`WIDTHxHEIGHT`");
        pair(&mut settings, "aspectRatio", ':', "`WIDTH:HEIGHT`");
        settings.finish_mapping();
    }
    let refusal =
        AgntzRefusal::report_feature(fields.reader, "kind: image", span, "create images outside the workflow");
    HostedAgent { refusal, instruction, prompt }
}

fn common<'n>(fields: &mut MappingReader<'n, '_>, kind: &str) -> (Span, Option<&'n YamlText>) {
    let reader = fields.reader;
    if let Some(model) = model::require_model(fields)
        && let Some(name) = model.name
    {
        model_names::answers_only(reader, name, kind);
    }
    let instruction = fields.read_text("instruction");
    let span = match fields.take("kind") {
        Some(entry) => entry.value.span,
        None => fields.head_span(),
    };
    (span, instruction)
}

fn pair(settings: &mut MappingReader<'_, '_>, key: &'static str, between: char, form: &str) {
    let Some(text) = settings.read_text(key) else { return };
    let is_pair = match text.value.split_once(between) {
        Some((width, height)) => is_length(width) && is_length(height),
        None => false,
    };
    if !is_pair {
        let message = format!("`{key}` cannot be `{}`: write {form}", text.value);
        settings.reader.report_error("unknown-value", text.span, message);
    }
}

fn is_length(text: &str) -> bool {
    matches!(text.parse::<u32>(), Ok(length) if length > 0)
}
