//! The members and items of values.

use std::sync::Arc;

use super::{Kind, Kinds, ListType, OtherMembers, Type};

/// A member of a type.
#[derive(Debug, Clone, PartialEq)]
pub enum Member {
    /// It can exist, with this type.
    Is {
        /// The type.
        of: Type,
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

impl Type {
    /// What is known about a member of a value of this type. Null is ignored, because it has no members.
    pub fn member(&self, name: &str) -> Member {
        if let Some(all) = self.alternatives() {
            let solid = all.iter().filter(|one| one.kinds().is_none_or(|kinds| !kinds.is(Kind::Null)));
            return either(solid.map(|one| one.member(name)).collect());
        }
        let Some(kinds) = self.kinds().map(Kinds::solid) else { return self.maybe_property(name) };
        let what = match kinds {
            _ if kinds.is(Kind::Object) => return self.own_property(name),
            _ if kinds.is(Kind::List) && is_index(name) => {
                return self.as_list().map_or(Member::Maybe, |list| list.item(name));
            }
            _ if kinds.has(Kind::Object) => return self.maybe_property(name),
            _ if kinds.is_empty() || kinds.has(Kind::List) && is_index(name) => return Member::Maybe,
            _ if kinds.iter().count() > 1 => "no object",
            _ => kinds.iter().next().map_or("no object", Kind::spoken),
        };
        Member::Never { what, members: Vec::new() }
    }

    /// A property of a value that may be an object.
    fn maybe_property(&self, name: &str) -> Member {
        match self.as_object().and_then(|object| object.members.get(name)) {
            Some(of) => Member::Is { of: of.clone(), optional: true },
            None => Member::Maybe,
        }
    }

    fn own_property(&self, name: &str) -> Member {
        let Some(object) = self.as_object() else { return Member::Maybe };
        if let Some(of) = object.members.get(name) {
            return Member::Is { of: of.clone(), optional: !object.requires(name) };
        }
        match &object.others {
            _ if self.is_open() => Member::Maybe,
            OtherMembers::Of(of) => Member::Is { of: of.clone(), optional: true },
            OtherMembers::None => {
                Member::Never { what: "an object", members: object.members.keys().cloned().collect() }
            }
            OtherMembers::Undeclared | OtherMembers::Any | OtherMembers::Beneath => Member::Maybe,
        }
    }

    /// The type of a property, if it is declared; otherwise any type.
    #[must_use]
    pub fn property(&self, name: &str) -> Self {
        self.as_object().and_then(|object| object.members.get(name)).cloned().unwrap_or_default()
    }

    /// The same, or the type of the items of a list.
    #[must_use]
    pub fn part(&self, name: &str) -> Self {
        match self.as_list().and_then(|list| list.rest.clone()) {
            Some(items) if is_index(name) && !self.as_object().is_some_and(|o| o.members.contains_key(name)) => items,
            _ => self.property(name),
        }
    }

    /// Whether a value never has a member of this name.
    pub fn never_has(&self, name: &str) -> bool {
        matches!(self.member(name), Member::Never { .. })
    }

    /// The type of a member if any alternative declares it, although the value may be of another one. For hints, not for
    /// claims.
    pub fn likely(&self, name: &str) -> Option<Self> {
        if let Some(all) = self.alternatives() {
            let found: Vec<Self> = all.iter().filter_map(|one| one.likely(name)).collect();
            return (!found.is_empty()).then(|| Self::union(found));
        }
        self.as_object()?.members.get(name).filter(|of| **of != Self::Any).cloned()
    }

    /// The names of the declared members, from all alternatives that can be objects.
    pub fn declares(&self) -> Vec<Arc<str>> {
        if let Some(all) = self.alternatives() {
            let mut names = Vec::new();
            // A type that is never an object has no properties.
            for one in all.iter().filter(|one| one.kinds().is_none_or(|kinds| kinds.has(Kind::Object))) {
                let of_one = one.declares();
                if of_one.is_empty() {
                    return Vec::new();
                }
                let new: Vec<_> = of_one.into_iter().filter(|name| !names.contains(name)).collect();
                names.extend(new);
            }
            return names;
        }
        let listing = |others: &OtherMembers| !matches!(others, OtherMembers::Of(_) | OtherMembers::Beneath);
        let object = self.as_object().filter(|_| self.is(Kind::Object) && !self.is_open());
        object.filter(|object| listing(&object.others)).map_or_else(Vec::new, |o| o.members.keys().cloned().collect())
    }

    /// The type of a list's items; for any other type, nothing is known.
    #[must_use]
    pub fn item(&self) -> Self {
        let Some(list) = self.as_list().filter(|_| self.is(Kind::List)) else { return Self::Any };
        match (list.first.as_slice(), &list.rest) {
            ([], rest) => rest.clone().unwrap_or_default(),
            (first, None) => Self::union(first.iter().cloned()),
            _ => Self::Any,
        }
    }

    /// The type of the values that a loop goes through: the items of a list, or the declared values of an object.
    /// Undeclared members of an open object are not considered.
    #[must_use]
    pub fn each(&self) -> Self {
        if !self.is(Kind::Object) || self.alternatives().is_some() {
            return self.item();
        }
        let Some(object) = self.as_object().filter(|_| !self.is_open()) else { return Self::Any };
        let others = if let OtherMembers::Of(others) = &object.others { Some(others) } else { None };
        Self::union(object.members.values().chain(others).cloned())
    }
}

impl ListType {
    fn item(&self, name: &str) -> Member {
        let Ok(index) = name.parse::<u64>() else { return Member::Maybe };
        let end = self.is_closed.then_some(self.first.len() as u64);
        if let Some(length) = self.most.into_iter().chain(end).min()
            && index >= length
        {
            return Member::Beyond { length };
        }
        match self.first.get(index as usize).or(self.rest.as_ref()) {
            Some(of) => Member::Is { of: of.clone(), optional: self.least.is_none_or(|least| index >= least) },
            None => Member::Maybe,
        }
    }
}

/// What is true of all of these.
fn either(all: Vec<Member>) -> Member {
    if all.is_empty() || all.contains(&Member::Maybe) {
        return Member::Maybe;
    }
    let mut is = Vec::new();
    let mut partly = false;
    let mut last = Member::Maybe;
    for one in all {
        match (one, &mut last) {
            (Member::Is { of, optional }, _) => {
                partly |= optional;
                is.push(of);
            }
            // For two objects, list the members of both.
            (Member::Never { what: "an object", members: more }, Member::Never { what: "an object", members }) => {
                more.into_iter().for_each(|m| {
                    if !members.contains(&m) {
                        members.push(m)
                    }
                });
            }
            (Member::Never { what, .. }, Member::Never { what: "an object", .. }) if what != "an object" => {}
            (never, _) => last = never,
        }
    }
    match is.is_empty() {
        true => last,
        false => Member::Is { of: Type::union(is), optional: partly || last != Member::Maybe },
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, OtherMembers};
    use super::{Member, Type};
    use trefoil_template::Value;

    #[test]
    fn a_union_has_a_member_where_any_has_it() {
        let with = Type::object([("a".into(), Type::NUMBER, false)], OtherMembers::None);
        let both = Type::union([with, Type::TEXT]);
        assert_eq!(both.kinds(), Some([Kind::Text, Kind::Object].into_iter().collect()));
        assert_eq!(both.member("a"), Member::Is { of: Type::NUMBER, optional: true });
        assert!(matches!(both.member("b"), Member::Never { .. }), "neither has it");
    }

    #[test]
    fn a_fixed_list_ends() {
        let two = Type::tuple([Type::TEXT, Type::NUMBER]);
        assert_eq!(two.member("1"), Member::Is { of: Type::NUMBER, optional: false });
        assert_eq!(two.member("2"), Member::Beyond { length: 2 });
        assert!(matches!(Type::list_of(Type::TEXT).member("7"), Member::Is { optional: true, .. }));
    }

    #[test]
    fn what_is_not_declared_is_not_denied_in_an_open_object() {
        let open = Type::object([("a".into(), Type::NUMBER, false)], OtherMembers::Any);
        assert_eq!(open.member("b"), Member::Maybe);
        assert!(Type::of_value(&Value::from("x")).is(Kind::Text));
    }
}
