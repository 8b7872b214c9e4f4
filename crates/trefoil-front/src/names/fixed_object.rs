//! An object of the format, with a fixed list of members.

use std::sync::Arc;

use trefoil_ir::Source;
use trefoil_ir::types::{ObjectType, OtherMembers, ValueType};

use super::{NameAbsence, NameEntry, NameMatch, NameResolver, PathSource};

/// Names with their entries.
#[derive(Default)]
pub struct FixedObject {
    fields: Vec<(Arc<str>, NameEntry)>,
    whole: Option<PathSource>,
    others: Option<NameEntry>,
    namespace: bool,
}

impl FixedObject {
    /// Exactly these names.
    pub fn new<'n>(fields: impl IntoIterator<Item = (&'n str, NameEntry)>) -> Self {
        Self::from_entries(fields.into_iter().map(|(name, entry)| (name.into(), entry)))
    }
    /// Like [`Self::new`].
    pub fn from_entries(fields: impl IntoIterator<Item = (Arc<str>, NameEntry)>) -> Self {
        Self { fields: fields.into_iter().collect(), ..Self::default() }
    }
    /// Sets the source from which the object as a whole is read.
    #[must_use]
    pub fn read_whole(self, source: Source, skip: u16) -> Self {
        Self { whole: Some(PathSource { source, skip }), ..self }
    }
    /// Allows other names, with this entry.
    #[must_use]
    pub fn with_others(self, others: NameEntry) -> Self {
        Self { others: Some(others), ..self }
    }
    /// Marks it as a namespace, which is not a value with members.
    #[must_use]
    pub fn as_namespace(self) -> Self {
        Self { namespace: true, ..self }
    }
    /// Its type.
    pub fn object_type(&self) -> ValueType {
        let fields = self.fields.iter().map(|(name, entry)| (name.clone(), entry.schema.clone()));
        let others = if self.others.is_none() { OtherMembers::None } else { OtherMembers::Undeclared };
        ValueType::Object(Arc::new(ObjectType { members: fields.collect(), required: None, others }))
    }
    /// The object as an entry.
    pub fn into_entry(self) -> NameEntry {
        let schema = self.object_type();
        NameEntry { schema, ..NameEntry::from_names(self) }
    }
}

impl NameResolver for FixedObject {
    fn get(&self, name: &str) -> NameMatch {
        match (self.fields.iter().find(|(n, _)| &**n == name), &self.others) {
            (Some((_, entry)), _) => NameMatch::Is(entry.clone()),
            (None, Some(other)) => NameMatch::Maybe(other.clone()),
            (None, None) => {
                let what = if self.namespace { None } else { Some("an object") };
                let names = self.fields.iter().map(|(name, _)| name.clone()).collect();
                NameMatch::Never(NameAbsence { what, names })
            }
        }
    }

    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)> {
        self.fields.clone()
    }

    fn whole_source(&self) -> Option<PathSource> {
        self.whole.clone()
    }
}
