//! The facts about names for editors: declarations, mentions, scopes.

mod aegis;
mod agntz;
mod examples;
mod sirenspec;
mod support;
