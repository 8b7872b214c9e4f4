//! The names of a workflow as data: the available names ([`workflow_names`]), the order of nodes ([`links`]), the names visible
//! from a text's place ([`name_scope`], `roots`, [`tree`]), and every text bound in its place ([`binding`]).
//!
//! Reports nothing: `trefoil-lint` finds mistakes in names.

pub mod binding;
pub mod callee;
mod certain_results;
pub mod declarations;
pub mod inputs;
pub mod keys;
pub mod links;
mod name_collection;
pub mod name_scope;
pub mod node_part;
pub mod node_reads;
pub mod order;
mod path_lookup;
pub mod path_targets;
mod roots;
pub mod source;
mod suggestions;
pub mod texts;
pub mod tree;
pub mod types;
pub mod workflow_names;
