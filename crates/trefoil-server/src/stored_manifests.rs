//! The manifests of the store that this server has read.

use std::collections::HashMap;
use std::sync::Mutex;

use trefoil_project::Flow;
use trefoil_runtime::locks::lock;

/// The manifests that this server has read.
#[derive(Default)]
pub struct StoredManifests(Mutex<ReadManifests>);

#[derive(Default)]
struct ReadManifests {
    /// The version of the document that changes with each import.
    changes: Option<u64>,
    /// The flows, by id, with the versions of their documents.
    flows: HashMap<String, (u64, Flow)>,
}

impl StoredManifests {
    /// The version of the document that changes with each import, when they were read.
    pub fn last_changes(&self) -> Option<u64> {
        lock(&self.0).changes
    }
    /// The flows, by id, with the versions of their documents.
    pub fn known_flows(&self) -> HashMap<String, (u64, Flow)> {
        lock(&self.0).flows.clone()
    }
    /// They were read again.
    pub fn replace_flows(&self, changes: Option<u64>, flows: HashMap<String, (u64, Flow)>) {
        *lock(&self.0) = ReadManifests { changes, flows };
    }
}
