//! `kind: transcription` and `kind: image`, which only the hosted product can run. Their keys are checked, and a run that needs
//! such an agent is refused.

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
    let (kind_span, instruction) = read_common_keys(fields, "transcription");
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
        kind_span,
        "transcribe before the run, and pass the text as input",
    );
    HostedAgent { refusal, instruction, prompt: None }
}

/// Reads the keys of an image agent.
pub fn read_image<'n>(fields: &mut MappingReader<'n, '_>) -> HostedAgent<'n> {
    let (kind_span, instruction) = read_common_keys(fields, "image");
    let prompt = fields.read_text("prompt");
    if let Some(mut settings) = fields.read_mapping("settings") {
        settings.read_integer("n", 1..=10);
        settings.read_integer("maxImagesPerCall", 1..=10);
        settings.read_integer("seed", i64::MIN..=i64::MAX);
        check_number_pair(&mut settings, "size", 'x', "`WIDTHxHEIGHT`");
        check_number_pair(&mut settings, "aspectRatio", ':', "`WIDTH:HEIGHT`");
        settings.finish_mapping();
    }
    let refusal =
        AgntzRefusal::report_feature(fields.reader, "kind: image", kind_span, "create images outside the workflow");
    HostedAgent { refusal, instruction, prompt }
}

/// Reads the keys that both kinds have. Returns the place of `kind`, and the instruction.
fn read_common_keys<'n>(fields: &mut MappingReader<'n, '_>, kind: &str) -> (Span, Option<&'n YamlText>) {
    let reader = fields.reader;
    if let Some(model) = model::require_model(fields)
        && let Some(name) = model.name
    {
        model_names::report_text_model(reader, name, kind);
    }
    let instruction = fields.read_text("instruction");
    let kind_span = match fields.take("kind") {
        Some(entry) => entry.value.span,
        None => fields.head_span(),
    };
    (kind_span, instruction)
}

/// Reports a text that is not two positive integers with this separator.
fn check_number_pair(settings: &mut MappingReader<'_, '_>, key: &'static str, separator: char, notation: &str) {
    let Some(text) = settings.read_text(key) else { return };
    let is_pair = match text.value.split_once(separator) {
        Some((width, height)) => is_positive_integer(width) && is_positive_integer(height),
        None => false,
    };
    if !is_pair {
        let message = format!("`{key}` cannot be `{}`: write {notation}", text.value);
        settings.reader.report_error("unknown-value", text.span, message);
    }
}

fn is_positive_integer(text: &str) -> bool {
    matches!(text.parse::<u32>(), Ok(number) if number > 0)
}
