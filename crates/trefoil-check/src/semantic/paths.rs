//! Paths of members: their names, and the values to which they lead.

use std::sync::Arc;

use trefoil_template::{Reference, Value};

/// The names of these members.
pub fn member_names(members: &[Arc<str>]) -> Vec<&str> {
    members.iter().map(|name| &**name).collect()
}

/// The names of these members, and of a path that follows them.
pub fn joined_path<'n>(members: &'n [Arc<str>], path: &[&'n str]) -> Vec<&'n str> {
    let mut names = member_names(members);
    names.extend(path);
    names
}

/// The names in a path that follow those that its source covers.
pub fn path_in_source(reference: &Reference) -> Vec<&str> {
    let covered = usize::from(reference.binding.skip);
    reference.path.iter().skip(covered).map(|segment| &*segment.name).collect()
}

/// The same, to be kept.
pub fn kept_path_in_source(reference: &Reference) -> Vec<Arc<str>> {
    let covered = usize::from(reference.binding.skip);
    reference.path.iter().skip(covered).map(|segment| segment.name.clone()).collect()
}

/// The part of a value to which a path leads.
pub fn value_at_path<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    let mut inner = value;
    for name in path {
        inner = inner.get(name)?;
    }
    Some(inner)
}

/// The number of members with which both paths start.
pub fn shared_length(members: &[Arc<str>], path: &[&str]) -> usize {
    let mut shared = 0;
    for (member, name) in members.iter().zip(path) {
        if **member != **name {
            break;
        }
        shared += 1;
    }
    shared
}
