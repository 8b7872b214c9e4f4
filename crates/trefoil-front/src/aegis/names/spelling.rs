//! How names and tags are written.

use std::sync::Arc;

use trefoil_template::PathSegment;

use crate::names::{TagNotation, is_path};

/// A path of names.
pub fn name_path(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| Arc::from(*name)).collect()
}

/// The notation of tags.
pub const TAGS: TagNotation = TagNotation {
    space: "",
    statements: "write blocks as `{{#if path}}...{{else}}...{{/if}}` or `{{#each list}}...{{/each}}`",
    comparison: Some("put the comparison in the tag: `{{#if (eq a b)}}`"),
};

/// The names of a path, if it consists of names only.
pub fn plain_names(path: &[PathSegment]) -> Option<Vec<&str>> {
    let mut names = Vec::with_capacity(path.len());
    for segment in path {
        if !is_path(&segment.name) {
            return None;
        }
        names.push(&*segment.name);
    }
    Some(names)
}
