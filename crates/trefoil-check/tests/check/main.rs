//! The rules over manifests of each dialect, and every page's examples.

mod corpus;
mod pages;
mod support;
