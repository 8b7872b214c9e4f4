//! An object of the format, with a fixed list of members.

use std::sync::Arc;

use trefoil_ir::Source;
use trefoil_ir::types::{ObjectType, OtherMembers, Type};

use super::{Entry, Found, Names, Nothing, Read};

/// Names with their entries.
#[derive(Default)]
pub struct Listed {
    fields: Vec<(Arc<str>, Entry)>,
    whole: Option<Read>,
    others: Option<Entry>,
    namespace: bool,
}

impl Listed {
    /// Exactly these names.
    pub fn new<'n>(fields: impl IntoIterator<Item = (&'n str, Entry)>) -> Self {
        Self::of(fields.into_iter().map(|(name, entry)| (name.into(), entry)))
    }
    /// Like [`Self::new`].
    pub fn of(fields: impl IntoIterator<Item = (Arc<str>, Entry)>) -> Self {
        Self { fields: fields.into_iter().collect(), ..Self::default() }
    }
    /// Sets the source from which the object as a whole is read.
    #[must_use]
    pub fn read_whole(self, source: Source, skip: u16) -> Self {
        Self { whole: Some(Read { source, skip }), ..self }
    }
    /// Allows other names, with this entry.
    #[must_use]
    pub fn others(self, others: Entry) -> Self {
        Self { others: Some(others), ..self }
    }
    /// Marks it as a namespace, which is not a value with members.
    #[must_use]
    pub fn namespace(self) -> Self {
        Self { namespace: true, ..self }
    }
    /// Its type.
    pub fn schema(&self) -> Type {
        let fields = self.fields.iter().map(|(name, entry)| (name.clone(), entry.schema.clone()));
        let others = if self.others.is_none() { OtherMembers::None } else { OtherMembers::Undeclared };
        Type::Object(Arc::new(ObjectType { members: fields.collect(), required: None, others }))
    }
    /// The object as an entry.
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
