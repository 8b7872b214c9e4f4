//! The names of a workflow as data: the available names ([`known`]), the order of nodes ([`links`]), the names visible
//! from a text's place ([`place`], `roots`, [`tree`]), and every text bound in its place ([`binding`]).
//!
//! Reports nothing: `trefoil-lint` finds mistakes in names.

pub mod binding;
pub mod child;
pub mod declare;
mod gather;
pub mod inputs;
pub mod keys;
pub mod known;
pub mod leads;
pub mod links;
mod look;
mod offer;
pub mod order;
pub mod place;
pub mod reads;
mod roots;
pub mod source;
pub mod stand;
mod surely;
pub mod texts;
pub mod tree;
pub mod types;
