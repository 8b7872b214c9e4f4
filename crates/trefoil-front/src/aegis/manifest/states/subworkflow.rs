//! `kind: Subworkflow`: calls another workflow.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

use crate::aegis::manifest::{RESERVED, filled};
use crate::{Fields, Reader};

/// A Subworkflow state.
pub struct SubworkflowState {
    /// The workflow: a name, or a template of one.
    pub workflow: Option<Text>,
    /// The Blackboard key for the result; `None`: the result is discarded.
    pub result_key: Option<Text>,
    /// Whether the state waits for the result.
    pub blocking: bool,
    /// The template of the input.
    pub input: Option<Text>,
}

/// Reads the keys specific to a Subworkflow state.
pub fn read(reader: &Reader<'_>, fields: &mut Fields<'_, '_>) -> SubworkflowState {
    let workflow = filled(fields, "workflow_id").cloned();
    let mode = fields.take("mode");
    if mode.is_none() {
        fields.settle(&["mode"]);
        fields.reader.report(
            Diagnostic::warning("missing-key", fields.reader.at(fields.owner()), "a Subworkflow state has no `mode`")
                .help("other tools for this format require it; without it the state waits, as with `mode: blocking`"),
        );
    }
    let blocking = mode.and_then(|e| reader.word(&e.value, "mode", &[("blocking", true), ("fire_and_forget", false)]));
    let blocking = blocking.unwrap_or(true);
    let result_key = if blocking {
        let key = filled(fields, "result_key").cloned();
        if let Some(key) = key.as_ref().filter(|k| RESERVED.contains(&&*k.value)) {
            let message = format!("`result_key` cannot be `{}`: templates already use this name", key.value);
            fields.reader.report(
                Diagnostic::error("invalid-name", fields.reader.at(key.span), message).help("choose another key"),
            );
        }
        key
    } else {
        if let Some(entry) = fields.take("result_key") {
            reader.report(
                Diagnostic::error(
                    "conflicting-keys",
                    reader.at(entry.key.span),
                    "`result_key` cannot be combined with `mode: fire_and_forget`",
                )
                .help("write `mode: blocking` to keep the result"),
            );
        }
        None
    };
    if let Some(mode) = mode.filter(|_| !blocking) {
        reader.report(
            Diagnostic::warning(
                "no-effect",
                reader.at(mode.value.span),
                "`fire_and_forget` does not run in the background: the state waits, and discards the result",
            )
            .help(
                "use `mode: blocking` to keep the result; with `fire_and_forget` a failure of the workflow is ignored",
            ),
        );
    }
    SubworkflowState { workflow, result_key, blocking, input: fields.text("input").cloned() }
}
