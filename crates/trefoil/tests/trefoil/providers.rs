//! What is said of providers, and what can be called, are the same.

use std::collections::BTreeSet;

use trefoil_front::providers::{NOT_CALLED, PROVIDERS};
use trefoil_models::Protocol;
use trefoil_models::vendors::VENDORS;

use crate::Folder;

#[test]
fn the_providers_of_manifests_are_those_that_this_version_knows() {
    let known = |only: bool| -> BTreeSet<&str> {
        let kept = |p: Protocol| !only || p == Protocol::Unavailable;
        VENDORS.iter().filter(|v| kept(v.protocol)).map(|v| v.name).collect()
    };
    assert_eq!(known(false), BTreeSet::from(PROVIDERS));
    assert_eq!(known(true), BTreeSet::from(NOT_CALLED));
}

#[test]
fn a_provider_that_cannot_be_called_is_told_by_the_check_in_each_format() {
    for (name, text) in [
        ("agntz", "id: a\nkind: llm\nmodel: { provider: cohere, name: m }\ninstruction: I\nprompt: P\n"),
        (
            "sirenspec",
            "version: '0.1'\nagents: { a: { model: 'cohere:m', system: S } }\nnodes: { n: { agent: a, writes: output.x } }\n",
        ),
        (
            "aegis",
            "apiVersion: 100monkeys.ai/v1\nkind: Agent\nmetadata: { name: a, version: 1.0.0 }\nspec:\n  runtime: { language: \
             python, version: '3.11', model: 'cohere:m' }\n  task: { instruction: I }\n",
        ),
    ] {
        let folder = Folder::with(&[("a.yaml", text)]);
        let path = folder.0.join("a.yaml").display().to_string();
        let report = trefoil::internals::check(&[path], &trefoil::internals::LoadOptions::default().checked());
        let told = report
            .diagnostics
            .iter()
            .filter(|d| d.rule == "unknown-provider" && d.message.contains("`cohere`"))
            .count();
        assert_eq!(told, 1, "{name}: {}", report.text());
    }
}
