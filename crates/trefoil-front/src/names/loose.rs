//! Values that may have more than their types say: what a model answers does not always keep to the schema it was given,
//! and what starts a run may come with other members than the default has.

use std::sync::Arc;

use super::{Entry, Found, Inside, Members, Names, member};
use trefoil_ir::Defined;
use trefoil_template::Value;

/// A value whose members are read even where its type has none of that name.
#[must_use]
pub fn loose(value: Entry) -> Entry {
    let typed = value.clone();
    value.inner(Loose(typed))
}

struct Loose(Entry);

impl Names for Loose {
    fn get(&self, name: &str) -> Found {
        let no_places = Members::default();
        let places = match &self.0.inside {
            Inside::Value(places) => places,
            Inside::Names(_) => &no_places,
        };
        match member(&self.0, places, name) {
            Found::Is(entry) => Found::Is(loose(entry)),
            Found::Maybe(entry) => Found::Maybe(loose(entry)),
            Found::Never(_) => Found::Maybe(loose(Entry::new(Value::Bool(true)).defined(Defined::Never))),
        }
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        let declared = self.0.schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let names = declared.map(|(name, _)| name.clone());
        names.filter_map(|name| Some((name.clone(), found(self.get(&name))?))).collect()
    }
}

fn found(found: Found) -> Option<Entry> {
    match found {
        Found::Is(entry) | Found::Maybe(entry) => Some(entry),
        Found::Never(_) => None,
    }
}
