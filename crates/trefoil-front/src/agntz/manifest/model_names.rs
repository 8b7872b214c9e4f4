//! Checks the name of a model against its provider.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use crate::providers;
use crate::yaml_reader::ManifestReader;

/// Reports a model that belongs to another provider, names its provider twice, or has an impossible name.
pub fn check_model_name(reader: &ManifestReader<'_>, provider: &YamlText, name: &YamlText) {
    let at = reader.location_of(name.span);
    let warning = |message: String| Diagnostic::new_warning("bad-model", at, message);
    let (maker, model) = (&*provider.value, &*name.value);
    if model.contains("{{") {
        let d = warning(format!("`{model}` is not a model name: templates have no effect in `model`"));
        return reader
            .report_finding(d.with_help("write the name of a model; use `--model` to choose another one for a run"));
    }
    if let Some(stray) = providers::stray_characters(model) {
        let d = warning(format!("a model name cannot {stray}: `{model}`"));
        let bare = providers::without_stray(model);
        // It is unknown which of several words is the name.
        let sure = !bare.is_empty() && !model.trim().contains(char::is_whitespace);
        let message = format!("write `{bare}`");
        return reader.report_finding(if sure {
            d.with_suggestion(message, reader.location_of(name.content_span()), bare)
        } else {
            d
        });
    }
    if let Some(rest) = model.strip_prefix(maker)
        && let Some(rest) = rest.strip_prefix(['/', ':'])
        && !rest.is_empty()
        && providers::serves_its_own(maker)
    {
        let d = warning(format!("`name` must not contain the provider `{maker}`: it goes in `provider`"));
        return reader.report_finding(d.with_suggestion(format!("write `{rest}`"), at, rest));
    }
    if providers::stands_in(model) {
        return reader.report_finding(
            warning(format!("`{model}` is a placeholder, not a model name"))
                .with_help("write the name of the model to call"),
        );
    }
    if let Some(meant) = providers::family_slip(maker, model) {
        let d = warning(format!("`{model}` does not look like a model of `{maker}`"))
            .with_help(format!("did you mean `{meant}`?"));
        return reader.report_finding(d.with_suggestion(
            format!("write `{meant}`"),
            reader.location_of(name.content_span()),
            meant,
        ));
    }
    if let Some(other) = providers::other_maker(maker, model) {
        // Either may be wrong. The provider is usually the one copied from elsewhere.
        let at = reader.location_of(provider.span);
        let d =
            Diagnostic::new_warning("bad-model", at, format!("`{model}` is a model of `{other}`, not of `{maker}`"));
        let d = d.with_label(reader.location_of(name.span), "the model");
        let d = d.with_help(format!("write `provider: {other}`, or choose a model of this provider"));
        reader.report_finding(d.with_suggestion(
            format!("write `{other}`"),
            reader.location_of(provider.content_span()),
            other,
        ));
    }
}

/// Reports a model that does not answer texts.
pub fn check_answers_text(reader: &ManifestReader<'_>, name: &YamlText) {
    if let Some(does) = providers::does_otherwise(&name.value) {
        let message = format!("`{}` {does} and cannot answer prompts", name.value);
        let d = Diagnostic::new_warning("bad-model", reader.location_of(name.span), message);
        reader.report_finding(d.with_help("`kind: llm` needs a text model"));
    }
}

/// Reports a model that answers texts if another kind of model is required.
pub fn report_text_model(reader: &ManifestReader<'_>, name: &YamlText, kind: &str) {
    if providers::answers_texts(&name.value) {
        let message = format!("`{}` is a text model; `kind: {kind}` needs another kind of model", name.value);
        reader.report_finding(Diagnostic::new_warning("bad-model", reader.location_of(name.span), message));
    }
}
