//! `kind: System`: a command, or an update of the Blackboard.

use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, Span};

use crate::aegis::manifest::{RefusedFeature, read_text_map, require_filled_text};
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
        read_update(reader, env, "env", command.span)
    } else {
        let env = match env {
            Some(entry) => read_text_map(reader, &entry.value, "env"),
            None => Vec::new(),
        };
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
    let mut state = SystemState { action: None, workdir: None };
    let Some(entry) = fields.require_entry("action") else { return state };
    if let Some(word) = entry.value.as_string()
        && is_foreign_action(&word.value)
    {
        let feature = format!("the action `{}`", word.value);
        refused.push(RefusedFeature::report_feature(reader, word.span, &feature, "it needs an AEGIS server"));
    } else if reader.read_word(&entry.value, "action", &[(UPDATE, ())]).is_some() {
        state.action = Some(read_update(reader, args, "args", entry.value.span));
    }
    state
}

fn is_foreign_action(action: &str) -> bool {
    FOREIGN_ACTIONS.iter().any(|word| match word.ends_with('_') {
        true => action.starts_with(word),
        false => action == *word,
    })
}

/// Reads the keys and values of an update under a key; an empty one is reported at the place of its command.
fn read_update(reader: &ManifestReader<'_>, entry: Option<&YamlEntry>, key: &str, at: Span) -> SystemAction {
    let (pairs, is_invalid) = match entry {
        Some(entry) => (pairs(reader, entry), entry.value.as_mapping().is_none()),
        None => (Vec::new(), false),
    };
    if pairs.is_empty() && !is_invalid {
        let message = format!("`update_blackboard` has no effect: `{key}` is empty");
        let d = Diagnostic::new_warning("no-effect", reader.location_of(at), message);
        reader.report_finding(d.with_help(format!("put the keys and their values under `{key}`")));
    }
    SystemAction::Update(pairs)
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
    if !matches!(&value, Some(value) if !value.is_null()) {
        reader.report_error("missing-key", params.owner_span(), "`params` needs `value`");
    }
    params.finish_mapping();
    Some(SystemAction::Update(vec![(key?, value?)]))
}
