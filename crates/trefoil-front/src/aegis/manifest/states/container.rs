//! `kind: ContainerRun` and `ParallelContainerRun`: recognised and checked, but not run.

use std::sync::Arc;

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{YamlNode, YamlScalar, YamlText};

use crate::aegis::manifest::unsupported_parts::{self, UnsupportedValueType};
use crate::aegis::manifest::{RefusedFeature, duration, read_text_map, require_filled_text, text_list};
use crate::{ManifestReader, MappingReader};

/// The texts of a container state, which are templates and are checked as such.
pub struct ContainerState {
    /// Its templates.
    pub texts: Vec<YamlText>,
    /// The volumes that it mounts.
    pub volumes: Vec<YamlText>,
    /// The names of the containers that run concurrently; `None`: there is only one container.
    pub steps: Option<Vec<Arc<str>>>,
    /// The time limits of its containers: a name, milliseconds, and where the limit is written.
    pub limits: Vec<(Arc<str>, u64, Span)>,
}

const WHY: &str = "no container runtime is configured";

/// Reads a ContainerRun state.
pub fn read_one(
    reader: &ManifestReader<'_>,
    fields: &mut MappingReader<'_, '_>,
    span: Span,
    refused: &mut Vec<RefusedFeature>,
) -> ContainerState {
    let mut state = ContainerState { texts: Vec::new(), volumes: Vec::new(), steps: None, limits: Vec::new() };
    refused.push(RefusedFeature::report_feature(reader, span, "a `ContainerRun` state", WHY));
    let name = fields.read_text("name").map(|name| name.value.clone()).unwrap_or_default();
    read_run(reader, fields, &name, &mut state);
    fields.read_word("image_pull_policy", unsupported_parts::PULL);
    if let Some(mut retry) = fields.read_mapping("retry") {
        retry.read_integer("max_attempts", 0..=100);
        duration::read_duration_field(&mut retry, "backoff");
        retry.finish_mapping();
    }
    fields.read_boolean("read_only_root_filesystem");
    unsupported_parts::check_keys(
        fields,
        &[
            ("registry_credentials", UnsupportedValueType::Text, false),
            ("network_mode", UnsupportedValueType::Text, false),
        ],
    );
    if let Some(user) = fields.take("run_as_user") {
        match user.value.as_scalar() {
            Some((YamlScalar::Int(0..), _)) | Some((YamlScalar::Str, _)) => {}
            _ => reader.wrong_type(&user.value, "run_as_user", "the number or name of a user"),
        }
    }
    state
}

/// Reads a ParallelContainerRun state.
pub fn read_many(
    reader: &ManifestReader<'_>,
    fields: &mut MappingReader<'_, '_>,
    span: Span,
    refused: &mut Vec<RefusedFeature>,
) -> ContainerState {
    let mut state = ContainerState { texts: Vec::new(), volumes: Vec::new(), steps: None, limits: Vec::new() };
    refused.push(RefusedFeature::report_feature(reader, span, "a `ParallelContainerRun` state", WHY));
    let words = [("all_succeed", ()), ("any_succeed", ()), ("best_effort", ())];
    if let Some(entry) = fields.require_entry("completion") {
        reader.read_word(&entry.value, "completion", &words);
    }
    let steps = fields.require_entry("steps");
    let items = steps.and_then(|e| reader.read_list(&e.value, "steps"));
    if let (Some(entry), Some([])) = (steps, items) {
        reader.report_error("missing-key", entry.value.span, "`steps` is empty");
    }
    let mut names: Vec<YamlText> = Vec::new();
    for item in items.unwrap_or_default() {
        let Some(mut step) = reader.read_mapping(item, "a container step") else { continue };
        let mut name = Arc::default();
        if let Some(text) = require_filled_text(&mut step, "name") {
            name = text.value.clone();
            if let Some(first) = names.iter().find(|other| other.value == name) {
                reader.report_duplicate(text.span, first.span, format!("two steps are named `{name}`"));
            }
            names.push(text.clone());
        }
        read_run(reader, &mut step, &name, &mut state);
        step.read_text("registry_credentials");
        step.finish_mapping();
    }
    state.steps = Some(names.into_iter().map(|name| name.value).collect());
    state
}

fn read_run(
    reader: &ManifestReader<'_>,
    fields: &mut MappingReader<'_, '_>,
    name: &Arc<str>,
    state: &mut ContainerState,
) {
    state.texts.extend(require_filled_text(fields, "image").cloned());
    if let Some(entry) = fields.require_entry("command") {
        let words = text_list(reader, &entry.value, "command");
        if words.is_empty() && entry.value.as_sequence().is_some() {
            reader.report_error("missing-key", entry.value.span, "`command` is empty");
        }
        state.texts.extend(words);
    }
    if let Some(entry) = fields.take("env") {
        for (_, value) in read_text_map(reader, &entry.value, "env") {
            state.texts.push(value);
        }
    }
    state.texts.extend(fields.read_text("workdir").cloned());
    fields.read_boolean("shell");
    if let Some(entry) = fields.take("volumes") {
        read_volumes(reader, &entry.value, state);
    }
    if let Some(mut resources) = fields.read_mapping("resources") {
        unsupported_parts::check_resource_amounts(&mut resources, false);
        if let Some(ms) = duration::read_duration_field(&mut resources, "timeout")
            && let Some(entry) = resources.peek_entry("timeout")
        {
            state.limits.push((name.clone(), ms, entry.value.span));
        }
        resources.finish_mapping();
    }
}

fn read_volumes(reader: &ManifestReader<'_>, node: &YamlNode, state: &mut ContainerState) {
    let mut mounts: Vec<YamlText> = Vec::new();
    for item in reader.read_list(node, "volumes").unwrap_or_default() {
        let Some(mut volume) = reader.read_mapping(item, "a volume") else { continue };
        state.volumes.extend(volume.require_text("name").cloned());
        if let Some(path) = volume.require_text("mount_path") {
            if !path.value.starts_with('/') {
                reader.report_error("unknown-value", path.span, "`mount_path` must start with `/`");
            }
            unsupported_parts::report_mount_overlap(reader, &mounts, path);
            mounts.push(path.clone());
        }
        volume.read_boolean("read_only");
        volume.read_word("access_mode", unsupported_parts::ACCESS);
        volume.finish_mapping();
    }
}
