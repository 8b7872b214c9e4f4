//! What is wrong with an agent as a whole: inputs that no text can name, too little time, what this version does not run.

use trefoil_syntax::Diagnostic;

use trefoil_front::agntz::bind::BoundAgent;
use trefoil_front::agntz::manifest::{Agent, Kind, Refusal, ToolAgent};
use trefoil_front::agntz::names::NAMESPACES;
use trefoil_front::agntz::signature::Inputs;
use trefoil_front::read::Reader;

/// Looks at an agent.
pub fn check(reader: &Reader<'_>, bound: &BoundAgent<'_>) {
    shadowed_inputs(reader, &bound.names.inputs);
    if bound.signature.calls_model {
        too_short(reader, &bound.agent);
    }
    match &bound.agent.kind {
        Kind::Llm(llm) => llm.refusals.iter().for_each(|refusal| refused(reader, refusal)),
        Kind::Hosted(hosted) => refused(reader, &hosted.refusal),
        Kind::Tool(tool) => no_tools(reader, tool),
        Kind::Sequential(_) | Kind::Parallel(_) | Kind::Unknown => {}
    }
}

/// A feature that is recognised and not run.
fn refused(reader: &Reader<'_>, refusal: &Refusal) {
    let message = format!("`{}` is not supported yet: a run that can reach it does not start", refusal.feature);
    reader.report(Diagnostic::warning("refused", reader.at(refusal.span), message).help(refusal.help));
}

fn no_tools(reader: &Reader<'_>, agent: &ToolAgent<'_>) {
    let (Some(tool), Some(name)) = (&agent.tool, agent.name) else { return };
    let message = format!("no implementation for the {} tool `{}` on the command line", tool.sort(), name.value);
    let help = "use `--model scripted=FILE`, or register a tool with this name in a program that embeds the library";
    reader.report(Diagnostic::warning("missing-tool", reader.at(name.span), message).help(help));
}

/// Next to no model answers within a fifth of a second: who writes so few milliseconds meant seconds.
fn too_short(reader: &Reader<'_>, agent: &Agent<'_>) {
    let (Some(ms), Some(at)) = (agent.timeout_ms.filter(|ms| *ms <= 200), agent.timeout_at) else { return };
    let message = format!("`timeoutMs` is {ms} ms; hardly any model answers in that time");
    let meant = ms.saturating_mul(1000).to_string();
    let d =
        Diagnostic::warning("out-of-range", reader.at(at), message).help(format!("write `{meant}` for {ms} seconds"));
    reader.report(d.suggestion(format!("write `{meant}`"), reader.at(at), meant));
}

/// An input property named like a namespace can never be read.
fn shadowed_inputs(reader: &Reader<'_>, inputs: &Inputs) {
    for property in inputs.properties.iter().filter(|p| NAMESPACES.contains(&&*p.name)) {
        let name = &property.name;
        let message = format!("the input `{name}` is hidden by the namespace `{name}`");
        reader.warning("no-effect", property.span, message);
    }
}
