//! Environment variables in the result of a run, which shows them masked (decision C8).

use trefoil_ir::Source;
use trefoil_syntax::Diagnostic;

use trefoil_front::agntz::bind::BoundAgent;
use trefoil_front::agntz::manifest::OutputMap;
use trefoil_front::agntz::names::At;

use super::Found;

/// Checks the output of an entry pipeline.
pub fn check(bound: &BoundAgent<'_>, output: &OutputMap<'_>, found: &mut Found) {
    match output {
        OutputMap::Text(source) => {
            let Some(text) = bound.texts.get(source, At::End) else { return };
            for one in &text.uses {
                let before = source.value.get(..one.reference.span.start as usize).unwrap_or_default();
                // The test of an `{{#if}}` is not shown.
                if one.bound.source == Source::Environment && before.trim_end().ends_with("{{") {
                    let message = format!("the result shows `***` instead of `{}`", one.reference.dotted());
                    let d = Diagnostic::warning("masked-output", one.at, message);
                    found.push(d.help("values from the environment are hidden in results, traces and logs"));
                }
            }
        }
        OutputMap::Map(entries) => entries.iter().for_each(|(_, inner)| check(bound, inner, found)),
    }
}
