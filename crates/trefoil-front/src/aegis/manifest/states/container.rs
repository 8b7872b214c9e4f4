//! `kind: ContainerRun` and `ParallelContainerRun`: recognised and checked, but not run.

use std::sync::Arc;

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{Node, Scalar, Text};

use crate::aegis::manifest::declared::{self, DeclaredPart};
use crate::aegis::manifest::{RefusedFeature, duration, filled, text_list, texts};
use crate::{Fields, Reader};

/// The texts of a container state, which are templates and are checked as such.
pub struct ContainerState {
    /// Its templates.
    pub texts: Vec<Text>,
    /// The volumes that it mounts.
    pub volumes: Vec<Text>,
    /// The names of the containers that run concurrently; `None`: there is only one container.
    pub steps: Option<Vec<Arc<str>>>,
    /// The time limits of its containers: a name, milliseconds, and where the limit is written.
    pub limits: Vec<(Arc<str>, u64, Span)>,
}

const WHY: &str = "no container runtime is configured";

/// Reads a ContainerRun state.
pub fn read_one(
    reader: &Reader<'_>,
    fields: &mut Fields<'_, '_>,
    span: Span,
    refused: &mut Vec<RefusedFeature>,
) -> ContainerState {
    let mut state = ContainerState { texts: Vec::new(), volumes: Vec::new(), steps: None, limits: Vec::new() };
    refused.push(RefusedFeature::report(reader, span, "a `ContainerRun` state", WHY));
    let name = fields.text("name").map(|name| name.value.clone()).unwrap_or_default();
    read_run(reader, fields, &name, &mut state);
    fields.word("image_pull_policy", declared::PULL);
    if let Some(mut retry) = fields.fields("retry") {
        retry.integer("max_attempts", 0..=100);
        duration::field(&mut retry, "backoff");
        retry.finish();
    }
    fields.boolean("read_only_root_filesystem");
    declared::read(
        fields,
        &[("registry_credentials", DeclaredPart::Text, false), ("network_mode", DeclaredPart::Text, false)],
    );
    if let Some(user) = fields.take("run_as_user") {
        match user.value.scalar() {
            Some((Scalar::Int(0..), _)) | Some((Scalar::Str, _)) => {}
            _ => reader.wrong_type(&user.value, "run_as_user", "the number or name of a user"),
        }
    }
    state
}

/// Reads a ParallelContainerRun state.
pub fn read_many(
    reader: &Reader<'_>,
    fields: &mut Fields<'_, '_>,
    span: Span,
    refused: &mut Vec<RefusedFeature>,
) -> ContainerState {
    let mut state = ContainerState { texts: Vec::new(), volumes: Vec::new(), steps: None, limits: Vec::new() };
    refused.push(RefusedFeature::report(reader, span, "a `ParallelContainerRun` state", WHY));
    let words = [("all_succeed", ()), ("any_succeed", ()), ("best_effort", ())];
    if let Some(entry) = fields.require("completion") {
        reader.word(&entry.value, "completion", &words);
    }
    let steps = fields.require("steps");
    let items = steps.and_then(|e| reader.list(&e.value, "steps"));
    if let Some((entry, [])) = steps.zip(items) {
        reader.error("missing-key", entry.value.span, "`steps` is empty");
    }
    let mut names: Vec<Text> = Vec::new();
    for item in items.unwrap_or_default() {
        let Some(mut step) = reader.fields(item, "a container step") else { continue };
        let name = filled(&mut step, "name");
        if let Some(name) = name {
            if let Some(first) = names.iter().find(|n| n.value == name.value) {
                reader.twice(name.span, first.span, format!("two steps are named `{}`", name.value));
            }
            names.push(name.clone());
        }
        let name = name.map(|name| name.value.clone()).unwrap_or_default();
        read_run(reader, &mut step, &name, &mut state);
        step.text("registry_credentials");
        step.finish();
    }
    state.steps = Some(names.into_iter().map(|name| name.value).collect());
    state
}

fn read_run(reader: &Reader<'_>, fields: &mut Fields<'_, '_>, name: &Arc<str>, state: &mut ContainerState) {
    state.texts.extend(filled(fields, "image").cloned());
    if let Some(entry) = fields.require("command") {
        let words = text_list(reader, &entry.value, "command");
        if words.is_empty() && entry.value.sequence().is_some() {
            reader.error("missing-key", entry.value.span, "`command` is empty");
        }
        state.texts.extend(words);
    }
    if let Some(entry) = fields.take("env") {
        state.texts.extend(texts(reader, &entry.value, "env").into_iter().map(|(_, value)| value));
    }
    state.texts.extend(fields.text("workdir").cloned());
    fields.boolean("shell");
    if let Some(entry) = fields.take("volumes") {
        read_volumes(reader, &entry.value, state);
    }
    if let Some(mut resources) = fields.fields("resources") {
        declared::amounts(&mut resources, false);
        let limit = duration::field(&mut resources, "timeout").zip(resources.entry("timeout"));
        state.limits.extend(limit.map(|(ms, entry)| (name.clone(), ms, entry.value.span)));
        resources.finish();
    }
}

fn read_volumes(reader: &Reader<'_>, node: &Node, state: &mut ContainerState) {
    let mut mounts: Vec<Text> = Vec::new();
    for item in reader.list(node, "volumes").unwrap_or_default() {
        let Some(mut volume) = reader.fields(item, "a volume") else { continue };
        state.volumes.extend(volume.require_text("name").cloned());
        if let Some(path) = volume.require_text("mount_path") {
            if !path.value.starts_with('/') {
                reader.error("unknown-value", path.span, "`mount_path` must start with `/`");
            }
            declared::overlap(reader, &mounts, path);
            mounts.push(path.clone());
        }
        volume.boolean("read_only");
        volume.word("access_mode", declared::ACCESS);
        volume.finish();
    }
}
