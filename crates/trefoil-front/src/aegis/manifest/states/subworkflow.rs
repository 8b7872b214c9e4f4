//! `kind: Subworkflow`: calls another workflow.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use crate::aegis::manifest::{RESERVED, require_filled_text};
use crate::{ManifestReader, MappingReader};

/// A Subworkflow state.
pub struct SubworkflowState {
    /// The workflow: a name, or a template of one.
    pub workflow: Option<YamlText>,
    /// The Blackboard key for the result; `None`: the result is discarded.
    pub result_key: Option<YamlText>,
    /// Whether the state waits for the result.
    pub blocking: bool,
    /// The template of the input.
    pub input: Option<YamlText>,
}

/// Reads the keys specific to a Subworkflow state.
pub fn read_subworkflow_state(reader: &ManifestReader<'_>, fields: &mut MappingReader<'_, '_>) -> SubworkflowState {
    let workflow = require_filled_text(fields, "workflow_id").cloned();
    let mode = fields.take("mode");
    if mode.is_none() {
        fields.mark_settled(&["mode"]);
        fields.reader.report_finding(
            Diagnostic::new_warning(
                "missing-key",
                fields.reader.location_of(fields.owner_span()),
                "a Subworkflow state has no `mode`",
            )
            .with_help("other tools for this format require it; without it the state waits, as with `mode: blocking`"),
        );
    }
    let modes = [("blocking", true), ("fire_and_forget", false)];
    let blocking = match mode {
        Some(entry) => reader.read_word(&entry.value, "mode", &modes).unwrap_or(true),
        None => true,
    };
    let result_key = if blocking {
        let key = require_filled_text(fields, "result_key").cloned();
        if let Some(key) = &key
            && RESERVED.contains(&&*key.value)
        {
            let message = format!("`result_key` cannot be `{}`: templates already use this name", key.value);
            fields.reader.report_finding(
                Diagnostic::new_error("invalid-name", fields.reader.location_of(key.span), message)
                    .with_help("choose another key"),
            );
        }
        key
    } else {
        if let Some(entry) = fields.take("result_key") {
            reader.report_finding(
                Diagnostic::new_error(
                    "conflicting-keys",
                    reader.location_of(entry.key.span),
                    "`result_key` cannot be combined with `mode: fire_and_forget`",
                )
                .with_help("write `mode: blocking` to keep the result"),
            );
        }
        None
    };
    if let Some(mode) = mode
        && !blocking
    {
        reader.report_finding(
            Diagnostic::new_warning(
                "no-effect",
                reader.location_of(mode.value.span),
                "`fire_and_forget` does not run in the background: the state waits, and discards the result",
            )
            .with_help(
                "use `mode: blocking` to keep the result; with `fire_and_forget` a failure of the workflow is ignored",
            ),
        );
    }
    SubworkflowState { workflow, result_key, blocking, input: fields.read_text("input").cloned() }
}
