//! The names of the templates of an `output_handler`, which nothing renders here.

use std::sync::Arc;

use trefoil_ir::{Defined, Position};
use trefoil_template::Value;

use crate::names::{Entry, Found, Names, Place};

/// What such a template is filled with.
pub const HANDLER: [&str; 2] = ["output", "intent"];

/// The template of an output handler.
pub struct HandlerPlace;

impl Place for HandlerPlace {
    fn position(&self) -> Position {
        Position::Data
    }

    fn root(&self) -> Entry {
        Entry::names(Handler)
    }
}

/// Its names, whose types are unknown.
struct Handler;

fn something() -> Entry {
    Entry::new(Value::Bool(true)).defined(Defined::Sometimes)
}

impl Names for Handler {
    fn get(&self, name: &str) -> Found {
        if HANDLER.contains(&name) { Found::Is(something()) } else { Found::Maybe(something()) }
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        HANDLER.iter().map(|name| ((*name).into(), something())).collect()
    }
}
