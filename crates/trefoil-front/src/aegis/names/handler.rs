//! The names in the templates of an `output_handler`. The templates are checked but not rendered.

use trefoil_ir::types::ValueType;
use trefoil_ir::{TextRole, ValuePresence};

use crate::names::{FixedObject, NameEntry, NameScope};

/// The place of an output handler's template.
pub struct OutputHandlerScope;

impl NameScope for OutputHandlerScope {
    fn text_position(&self) -> TextRole {
        TextRole::Data
    }

    fn scope_description(&self) -> Option<&'static str> {
        Some("an output handler")
    }

    fn root_entry(&self) -> NameEntry {
        // Their types are unknown.
        let something = || NameEntry::new(ValueType::Any).with_defined(ValuePresence::Sometimes);
        NameEntry::from_names(FixedObject::new([("output", something()), ("intent", something())]).as_namespace())
    }
}
