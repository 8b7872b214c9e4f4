//! AEGIS: agents (`kind: Agent`) and state machines (`kind: Workflow`), decisions section 3.
//!
//! `manifest/` is what a file says, `lower/` what that means as flows and steps.

mod lower;
mod manifest;

use std::collections::BTreeSet;

use trefoil_syntax::{Location, yaml::Node};
use trefoil_template::Policy;

use crate::{Document, Evidence, Findings, FrontEnd, Lowered, Need, Project};

/// The AEGIS front end.
pub struct Aegis;

impl FrontEnd for Aegis {
    fn name(&self) -> &'static str {
        "aegis"
    }
    fn schema(&self) -> &'static str {
        include_str!("../../schemas/aegis.json")
    }
    fn policy(&self) -> &'static Policy {
        &Policy::AEGIS
    }
    fn evidence(&self, root: &Node) -> Vec<Evidence> {
        let Some(mapping) = root.mapping() else { return Vec::new() };
        let text = |key: &str| mapping.get(key).and_then(|e| e.value.string());
        let has = |key: &str| mapping.get(key).is_some();
        let mut keys = Vec::new();
        if text("apiVersion").is_some_and(|v| v.value.starts_with("100monkeys.ai/")) {
            keys.push("apiVersion");
        }
        if manifest::unit(root).is_some() && (has("spec") || has("metadata") || has("apiVersion")) {
            keys.push("kind");
        }
        keys.into_iter()
            .filter_map(|key| mapping.get(key))
            .map(|e| Evidence { key: e.key.value.to_string(), span: e.key.span })
            .collect()
    }
    fn needs(&self, document: &Document) -> Vec<Need> {
        manifest::agent::needs(&document.root, document.file)
    }
    fn ids(&self, document: &Document) -> Vec<(String, Location)> {
        let name = manifest::name(&document.root);
        name.map(|n| (n.value.to_string(), Location::new(document.file, n.span))).into_iter().collect()
    }
    fn names<'d>(&self, document: &'d Document) -> BTreeSet<&'d str> {
        crate::under(&document.root, &["agent", "agent_id", "workflow_id"])
    }
    fn reads_texts(&self) -> bool {
        true
    }
    fn lower(&self, project: &Project, document: usize, findings: &mut Findings) -> Option<Lowered> {
        let mut found = findings.apart();
        let lowered = lower::program(project, document, &mut found);
        let broken = found.diagnostics.has_errors();
        findings.diagnostics.extend(found.diagnostics.into_sorted());
        findings.facts.merge(found.facts);
        findings.sound(lowered, broken)
    }
}
