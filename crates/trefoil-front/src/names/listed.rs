//! An object of a format, whose members the format lists.

use std::sync::Arc;

use trefoil_ir::Source;
use trefoil_template::Value;

use super::{Entry, Found, Names, Nothing, Read};
use crate::types::object_of;

/// Names and what they stand for.
#[derive(Default)]
pub struct Listed {
    fields: Vec<(Arc<str>, Entry)>,
    whole: Option<Read>,
    others: Option<Entry>,
    namespace: bool,
}

impl Listed {
    /// These names and no others.
    pub fn new<'n>(fields: impl IntoIterator<Item = (&'n str, Entry)>) -> Self {
        Self::of(fields.into_iter().map(|(name, entry)| (name.into(), entry)))
    }
    /// The same.
    pub fn of(fields: impl IntoIterator<Item = (Arc<str>, Entry)>) -> Self {
        Self { fields: fields.into_iter().collect(), ..Self::default() }
    }
    /// The same; all of it is read from there.
    #[must_use]
    pub fn read_whole(self, source: Source, skip: u16) -> Self {
        Self { whole: Some(Read { source, skip }), ..self }
    }
    /// The same; it may have other names, which stand for this.
    #[must_use]
    pub fn others(self, others: Entry) -> Self {
        Self { others: Some(others), ..self }
    }
    /// The same, as names of the format: no value has them as its members.
    #[must_use]
    pub fn namespace(self) -> Self {
        Self { namespace: true, ..self }
    }
    /// Its type.
    pub fn schema(&self) -> Value {
        let closed = object_of(self.fields.iter().map(|(name, entry)| (name.clone(), entry.schema.clone())));
        if self.others.is_none() {
            return closed;
        }
        let open =
            closed.as_object().into_iter().flatten().filter(|(keyword, _)| &***keyword != "additionalProperties");
        Value::from_iter(open.map(|(keyword, value)| (keyword.clone(), value.clone())))
    }
    /// As what a name stands for.
    pub fn entry(self) -> Entry {
        let schema = self.schema();
        Entry { schema, ..Entry::names(self) }
    }
}

impl Names for Listed {
    fn get(&self, name: &str) -> Found {
        match (self.fields.iter().find(|(n, _)| &**n == name), &self.others) {
            (Some((_, entry)), _) => Found::Is(entry.clone()),
            (None, Some(other)) => Found::Maybe(other.clone()),
            (None, None) => {
                let what = (!self.namespace).then_some("an object");
                Found::Never(Nothing { what, names: self.fields.iter().map(|(n, _)| n.clone()).collect() })
            }
        }
    }

    fn all(&self) -> Vec<(Arc<str>, Entry)> {
        self.fields.clone()
    }

    fn read(&self) -> Option<Read> {
        self.whole.clone()
    }
}
