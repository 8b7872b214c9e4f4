//! The members and items of values.

use std::sync::Arc;

use super::{ListType, OtherMembers, ValueKind, ValueType};

/// A member of a type.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeMember {
    /// It can exist, with this type.
    Is {
        /// The type.
        of: ValueType,
        /// Whether the value may lack it.
        optional: bool,
    },
    /// Nothing is known.
    Maybe,
    /// It never exists.
    Never {
        /// The kind of the value: `text`, `a list`, `an object`.
        what: &'static str,
        /// The members that the value has.
        members: Vec<Arc<str>>,
    },
    /// An index beyond the maximum length of a list.
    Beyond {
        /// The maximum length.
        length: u64,
    },
}

/// Whether a name is the index of an item.
fn is_index(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit())
}

impl ValueType {
    /// What is known about a member of a value of this type. Null is ignored, because it has no members.
    pub fn find_member(&self, name: &str) -> TypeMember {
        if let Some(all) = self.type_alternatives() {
            let mut found = Vec::new();
            for alternative in all {
                let is_null = matches!(alternative.value_kinds(), Some(kinds) if kinds.is_only(ValueKind::Null));
                if !is_null {
                    found.push(alternative.find_member(name));
                }
            }
            return either(found);
        }
        let Some(kinds) = self.value_kinds() else { return self.maybe_property(name) };
        let kinds = kinds.without_null();
        let what = match kinds {
            _ if kinds.is_only(ValueKind::Object) => return self.own_property(name),
            _ if kinds.is_only(ValueKind::List) && is_index(name) => {
                let Some(list) = self.as_list() else { return TypeMember::Maybe };
                return list.item(name);
            }
            _ if kinds.contains(ValueKind::Object) => return self.maybe_property(name),
            _ if kinds.is_empty() || kinds.contains(ValueKind::List) && is_index(name) => return TypeMember::Maybe,
            _ if kinds.iter().count() > 1 => "no object",
            _ => match kinds.iter().next() {
                Some(kind) => kind.display_name(),
                None => "no object",
            },
        };
        TypeMember::Never { what, members: Vec::new() }
    }

    /// A property of a value that may be an object.
    fn maybe_property(&self, name: &str) -> TypeMember {
        match self.as_object().and_then(|object| object.members.get(name)) {
            Some(of) => TypeMember::Is { of: of.clone(), optional: true },
            None => TypeMember::Maybe,
        }
    }

    fn own_property(&self, name: &str) -> TypeMember {
        let Some(object) = self.as_object() else { return TypeMember::Maybe };
        if let Some(of) = object.members.get(name) {
            return TypeMember::Is { of: of.clone(), optional: !object.requires_member(name) };
        }
        match &object.others {
            _ if self.is_open() => TypeMember::Maybe,
            OtherMembers::Of(of) => TypeMember::Is { of: of.clone(), optional: true },
            OtherMembers::None => {
                TypeMember::Never { what: "an object", members: object.members.keys().cloned().collect() }
            }
            OtherMembers::Undeclared | OtherMembers::Any | OtherMembers::Beneath => TypeMember::Maybe,
        }
    }

    /// The type of a property, if it is declared; otherwise any type.
    #[must_use]
    pub fn property_type(&self, name: &str) -> Self {
        self.as_object().and_then(|object| object.members.get(name)).cloned().unwrap_or_default()
    }

    /// The same, or the type of the items of a list.
    #[must_use]
    pub fn part_type(&self, name: &str) -> Self {
        let is_property = || matches!(self.as_object(), Some(object) if object.members.contains_key(name));
        match self.as_list() {
            Some(ListType { rest: Some(items), .. }) if is_index(name) && !is_property() => items.clone(),
            _ => self.property_type(name),
        }
    }

    /// Whether a value never has a member of this name.
    pub fn never_has(&self, name: &str) -> bool {
        matches!(self.find_member(name), TypeMember::Never { .. })
    }

    /// The type of a member if any alternative declares it, although the value may be of another one. For hints, not for
    /// claims.
    pub fn likely_member(&self, name: &str) -> Option<Self> {
        if let Some(all) = self.type_alternatives() {
            let found: Vec<Self> = all.iter().filter_map(|alternative| alternative.likely_member(name)).collect();
            return if found.is_empty() { None } else { Some(Self::union_of(found)) };
        }
        let member = self.as_object()?.members.get(name)?;
        if *member == Self::Any { None } else { Some(member.clone()) }
    }

    /// The names of the declared members, from all alternatives that can be objects.
    pub fn declared_members(&self) -> Vec<Arc<str>> {
        if let Some(all) = self.type_alternatives() {
            let mut names = Vec::new();
            for alternative in all {
                // A type that is never an object has no properties.
                if matches!(alternative.value_kinds(), Some(kinds) if !kinds.contains(ValueKind::Object)) {
                    continue;
                }
                let declared = alternative.declared_members();
                if declared.is_empty() {
                    return Vec::new();
                }
                for name in declared {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
            return names;
        }
        let Some(object) = self.as_object() else { return Vec::new() };
        let is_known = self.is_kind(ValueKind::Object) && !self.is_open();
        if !is_known || matches!(object.others, OtherMembers::Of(_) | OtherMembers::Beneath) {
            return Vec::new();
        }
        object.members.keys().cloned().collect()
    }

    /// The type of a list's items; for any other type, nothing is known.
    #[must_use]
    pub fn item_type(&self) -> Self {
        let Some(list) = self.as_list() else { return Self::Any };
        if !self.is_kind(ValueKind::List) {
            return Self::Any;
        }
        match (list.first.as_slice(), &list.rest) {
            ([], rest) => rest.clone().unwrap_or_default(),
            (first, None) => Self::union_of(first.iter().cloned()),
            _ => Self::Any,
        }
    }

    /// The type of the values that a loop goes through: the items of a list, or the declared values of an object.
    /// Undeclared members of an open object are not considered.
    #[must_use]
    pub fn loop_item_type(&self) -> Self {
        if !self.is_kind(ValueKind::Object) || self.type_alternatives().is_some() {
            return self.item_type();
        }
        let Some(object) = self.as_object() else { return Self::Any };
        if self.is_open() {
            return Self::Any;
        }
        let mut types: Vec<Self> = object.members.values().cloned().collect();
        if let OtherMembers::Of(others) = &object.others {
            types.push(others.clone());
        }
        Self::union_of(types)
    }
}

impl ListType {
    fn item(&self, name: &str) -> TypeMember {
        let Ok(index) = name.parse::<u64>() else { return TypeMember::Maybe };
        let end = if self.is_closed { Some(self.first.len() as u64) } else { None };
        if let Some(length) = self.most.into_iter().chain(end).min()
            && index >= length
        {
            return TypeMember::Beyond { length };
        }
        let optional = match self.least {
            Some(least) => index >= least,
            None => true,
        };
        match self.first.get(index as usize).or(self.rest.as_ref()) {
            Some(of) => TypeMember::Is { of: of.clone(), optional },
            None => TypeMember::Maybe,
        }
    }
}

/// What is true of all of these.
fn either(all: Vec<TypeMember>) -> TypeMember {
    if all.is_empty() || all.contains(&TypeMember::Maybe) {
        return TypeMember::Maybe;
    }
    let mut is = Vec::new();
    let mut partly = false;
    let mut last = TypeMember::Maybe;
    for member in all {
        match (member, &mut last) {
            (TypeMember::Is { of, optional }, _) => {
                partly |= optional;
                is.push(of);
            }
            // For two objects, list the members of both.
            (
                TypeMember::Never { what: "an object", members: more },
                TypeMember::Never { what: "an object", members },
            ) => {
                for name in more {
                    if !members.contains(&name) {
                        members.push(name);
                    }
                }
            }
            (TypeMember::Never { what, .. }, TypeMember::Never { what: "an object", .. }) if what != "an object" => {}
            (never, _) => last = never,
        }
    }
    match is.is_empty() {
        true => last,
        false => TypeMember::Is { of: ValueType::union_of(is), optional: partly || last != TypeMember::Maybe },
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OtherMembers, ValueKind};
    use super::{TypeMember, ValueType};
    use trefoil_template::Value;

    #[test]
    fn a_union_has_a_member_where_any_has_it() {
        let with = ValueType::object_of([("a".into(), ValueType::NUMBER, false)], OtherMembers::None);
        let both = ValueType::union_of([with, ValueType::TEXT]);
        assert_eq!(both.value_kinds(), Some([ValueKind::Text, ValueKind::Object].into_iter().collect()));
        assert_eq!(both.find_member("a"), TypeMember::Is { of: ValueType::NUMBER, optional: true });
        assert!(matches!(both.find_member("b"), TypeMember::Never { .. }), "neither has it");
    }

    #[test]
    fn a_fixed_list_ends() {
        let two = ValueType::tuple_of([ValueType::TEXT, ValueType::NUMBER]);
        assert_eq!(two.find_member("1"), TypeMember::Is { of: ValueType::NUMBER, optional: false });
        assert_eq!(two.find_member("2"), TypeMember::Beyond { length: 2 });
        assert!(matches!(ValueType::list_of(ValueType::TEXT).find_member("7"), TypeMember::Is { optional: true, .. }));
    }

    #[test]
    fn what_is_not_declared_is_not_denied_in_an_open_object() {
        let open = ValueType::object_of([("a".into(), ValueType::NUMBER, false)], OtherMembers::Any);
        assert_eq!(open.find_member("b"), TypeMember::Maybe);
        assert!(ValueType::of_value(&Value::from("x")).is_kind(ValueKind::Text));
    }
}
