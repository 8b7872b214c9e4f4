//! `kind: System`: a command, or an update of the Blackboard.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlScalar, YamlText};

use crate::aegis::manifest::{RefusedFeature, require_filled_text};
use crate::{ManifestReader, MappingReader};

/// Commands that only the original system has.
pub const FOREIGN: &[&str] = &["repository_diff", "repository_commit", "repository_land"];
/// Why they are not run.
pub const WHY_FOREIGN: &str = "it needs the repository of an AEGIS server";

/// A System state.
pub struct SystemState {
    /// Its action; `None`: it could not be read.
    pub action: Option<SystemAction>,
    /// The template of the working directory.
    pub workdir: Option<YamlText>,
}

/// The action of a System state.
pub enum SystemAction {
    /// Runs a command.
    Command {
        /// The template of the command line.
        command: YamlText,
        /// The environment: names and templates.
        env: Vec<(YamlText, YamlText)>,
    },
    /// `update_blackboard`: keys and their values, of any type.
    Update(Vec<(YamlText, YamlNode)>),
}

/// The command that updates the Blackboard.
const UPDATE: &str = "update_blackboard";

/// Reads the keys specific to a System state.
pub fn read_system_state(reader: &ManifestReader<'_>, fields: &mut MappingReader<'_, '_>) -> SystemState {
    let workdir = fields.read_text("workdir").cloned();
    if let Some(action) = fields.take("action") {
        return SystemState { action: read_action(reader, fields, action), workdir };
    }
    let command = require_filled_text(fields, "command").cloned();
    let env = fields.take("env");
    let Some(command) = command else { return SystemState { action: None, workdir } };
    let mut words = command.value.split_whitespace();
    let update = words.next() == Some(UPDATE);
    if update && words.next().is_some() {
        let message = format!("`{UPDATE}` takes no arguments");
        let d = Diagnostic::new_error("unknown-value", reader.location_of(command.span), message);
        reader.report_finding(
            d.with_help(format!("write `command: {UPDATE}`, and the keys with their values under `env`")),
        );
        return SystemState { action: None, workdir };
    }
    let word = command.value.trim();
    if FOREIGN.contains(&word) {
        let message = format!("`{word}` is not supported yet: {WHY_FOREIGN}");
        let d = Diagnostic::new_warning("refused", reader.location_of(command.span), message);
        reader.report_finding(d.with_help("you can check and draw this file, but not run it"));
    }
    let action = if update {
        let pairs = env.map(|e| pairs(reader, e)).unwrap_or_default();
        if pairs.is_empty() && env.is_none_or(|e| e.value.as_mapping().is_some()) {
            let message = "`update_blackboard` has no effect: `env` is empty";
            reader.report_finding(
                Diagnostic::new_warning("no-effect", reader.location_of(command.span), message)
                    .with_help("put the keys and their values under `env`"),
            );
        }
        SystemAction::Update(pairs)
    } else {
        let env = env.map(|e| crate::aegis::manifest::read_text_map(reader, &e.value, "env")).unwrap_or_default();
        for (name, _) in &env {
            if name.value.is_empty() || name.value.contains(['=', '\0']) {
                reader.report_error(
                    "invalid-name",
                    name.span,
                    format!("`{}` is not a valid name for an environment variable", name.value),
                );
            }
        }
        SystemAction::Command { command, env }
    };
    SystemState { action: Some(action), workdir }
}

/// Actions that only the original system has; a word that ends with `_` is the start of several.
const FOREIGN_ACTIONS: &[&str] = &["repository_", "tree_", "archive_", "image_generate", "drift_report"];

/// Reads the keys specific to an Action state: `action` and its `args`.
pub fn read_builtin(
    reader: &ManifestReader<'_>,
    fields: &mut MappingReader<'_, '_>,
    refused: &mut Vec<RefusedFeature>,
) -> SystemState {
    let args = fields.take("args");
    let written = fields.require_entry("action");
    let foreign = written.and_then(|entry| entry.value.as_string()).filter(|text| {
        FOREIGN_ACTIONS.iter().any(|word| match word.ends_with('_') {
            true => text.value.starts_with(word),
            false => *text.value == **word,
        })
    });
    let action = match (written, foreign) {
        (_, Some(word)) => {
            let feature = format!("the action `{}`", word.value);
            refused.push(RefusedFeature::report_feature(reader, word.span, &feature, "it needs an AEGIS server"));
            None
        }
        (Some(entry), None) => reader.read_word(&entry.value, "action", &[(UPDATE, ())]).map(|()| {
            let pairs = args.map(|args| pairs(reader, args)).unwrap_or_default();
            if pairs.is_empty() && args.is_none_or(|args| args.value.as_mapping().is_some()) {
                let message = "`update_blackboard` has no effect: `args` is empty";
                let d = Diagnostic::new_warning("no-effect", reader.location_of(entry.value.span), message);
                reader.report_finding(d.with_help("put the keys and their values under `args`"));
            }
            SystemAction::Update(pairs)
        }),
        (None, None) => None,
    };
    SystemState { action, workdir: None }
}

fn pairs(reader: &ManifestReader<'_>, entry: &YamlEntry) -> Vec<(YamlText, YamlNode)> {
    match entry.value.as_mapping() {
        Some(m) => m.entries.iter().map(|e| (e.key.clone(), e.value.clone())).collect(),
        None => {
            reader.wrong_type(&entry.value, &entry.key.value, "a mapping");
            Vec::new()
        }
    }
}

/// Reads `action: blackboard.set` with `params: {key, value}`, a form from a guide of the original system.
fn read_action(
    reader: &ManifestReader<'_>,
    fields: &mut MappingReader<'_, '_>,
    entry: &YamlEntry,
) -> Option<SystemAction> {
    reader.read_word(&entry.value, "action", &[("blackboard.set", ())])?;
    reader.report_finding(
        Diagnostic::new_warning("deprecated", reader.location_of(entry.key.span), "`action` is an old spelling")
            .with_help("write `command: update_blackboard` with the keys under `env`"),
    );
    let params = fields.require_entry("params")?;
    let mut params = reader.read_mapping(&params.value, "params")?;
    let key = params.require_text("key").cloned();
    let value = params.take_nullable("value").map(|e| e.value.clone());
    if value.as_ref().is_none_or(|v| matches!(v.as_scalar(), Some((YamlScalar::Null, _)))) {
        reader.report_error("missing-key", params.owner_span(), "`params` needs `value`");
    }
    params.finish_mapping();
    Some(SystemAction::Update(vec![(key?, value?)]))
}
