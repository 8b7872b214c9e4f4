//! The names in the templates of an `output_handler`. The templates are checked but not rendered.

use trefoil_ir::types::Type;
use trefoil_ir::{Defined, Position};

use crate::names::{Entry, Listed, Place};

/// The place of an output handler's template.
pub struct HandlerPlace;

impl Place for HandlerPlace {
    fn position(&self) -> Position {
        Position::Data
    }

    fn called(&self) -> Option<&'static str> {
        Some("an output handler")
    }

    fn root(&self) -> Entry {
        // Their types are unknown.
        let something = || Entry::new(Type::Any).defined(Defined::Sometimes);
        Entry::names(Listed::new([("output", something()), ("intent", something())]).namespace())
    }
}
