//! What people get wrong in agntz manifests, beyond what reading says: each file is one kind of mistake.

pub mod braces;
pub mod compare;
pub mod copied;
pub mod prefixes;
pub mod type_names;
pub mod unresolved;
