//! The names of a workflow as data: what there is ([`known`]), in which order nodes run ([`links`]), what a text sees from
//! where it is ([`place`], `roots`, [`tree`]), and every text bound there ([`binding`]).
//!
//! Reports nothing: `trefoil-lint` finds what is wrong with the names.

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
