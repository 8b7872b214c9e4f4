//! Checks the name of a model against its provider.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

use crate::providers;
use crate::read::Reader;

/// Reports a model that belongs to another provider, names its provider twice, or has an impossible name.
pub fn check(reader: &Reader<'_>, provider: &Text, name: &Text) {
    let at = reader.at(name.span);
    let warning = |message: String| Diagnostic::warning("bad-model", at, message);
    let (maker, model) = (&*provider.value, &*name.value);
    if model.contains("{{") {
        let d = warning(format!("`{model}` is not a model name: templates have no effect in `model`"));
        return reader.report(d.help("write the name of a model; use `--model` to choose another one for a run"));
    }
    if let Some(stray) = providers::stray(model) {
        let d = warning(format!("a model name cannot {stray}: `{model}`"));
        let bare = providers::without_stray(model);
        // It is unknown which of several words is the name.
        let sure = !bare.is_empty() && !model.trim().contains(char::is_whitespace);
        let message = format!("write `{bare}`");
        return reader.report(if sure { d.suggestion(message, reader.at(name.content()), bare) } else { d });
    }
    let twice = model.strip_prefix(maker).and_then(|rest| rest.strip_prefix(['/', ':']));
    if let Some(rest) = twice.filter(|rest| !rest.is_empty() && providers::serves_its_own(maker)) {
        let d = warning(format!("`name` must not contain the provider `{maker}`: it goes in `provider`"));
        return reader.report(d.suggestion(format!("write `{rest}`"), at, rest));
    }
    if providers::stands_in(model) {
        return reader.report(
            warning(format!("`{model}` is a placeholder, not a model name"))
                .help("write the name of the model to call"),
        );
    }
    if let Some(meant) = providers::family_slip(maker, model) {
        let d = warning(format!("`{model}` does not look like a model of `{maker}`"))
            .help(format!("did you mean `{meant}`?"));
        return reader.report(d.suggestion(format!("write `{meant}`"), reader.at(name.content()), meant));
    }
    if let Some(other) = providers::other_maker(maker, model) {
        // Either may be wrong. The provider is usually the one copied from elsewhere.
        let at = reader.at(provider.span);
        let d = Diagnostic::warning("bad-model", at, format!("`{model}` is a model of `{other}`, not of `{maker}`"));
        let d = d.label(reader.at(name.span), "the model");
        let d = d.help(format!("write `provider: {other}`, or choose a model of this provider"));
        reader.report(d.suggestion(format!("write `{other}`"), reader.at(provider.content()), other));
    }
}

/// Reports a model that does not answer texts.
pub fn answers(reader: &Reader<'_>, name: &Text) {
    if let Some(does) = providers::does_otherwise(&name.value) {
        let message = format!("`{}` {does} and cannot answer prompts", name.value);
        let d = Diagnostic::warning("bad-model", reader.at(name.span), message);
        reader.report(d.help("`kind: llm` needs a text model"));
    }
}

/// Reports a model that answers texts if another kind of model is required.
pub fn answers_only(reader: &Reader<'_>, name: &Text, kind: &str) {
    if providers::answers_texts(&name.value) {
        let message = format!("`{}` is a text model; `kind: {kind}` needs another kind of model", name.value);
        reader.report(Diagnostic::warning("bad-model", reader.at(name.span), message));
    }
}
