//! Whether a value of one type may stand where another one is wanted.

use trefoil_template::Value;

use super::{ListType, TypeMember, ValueKind, ValueType};

/// The maximum depth of the comparison.
const DEPTH: usize = 6;

impl ValueType {
    /// Why no value of this type matches another one: `it must be text, not a number`, `an item must be text, not an
    /// object`. `None` if one of them may match, or if a type does not say enough.
    pub fn explain_mismatch(&self, wanted: &Self) -> Option<String> {
        self.misfit_at(wanted, &mut Vec::new())
    }

    fn misfit_at(&self, wanted: &Self, way: &mut Vec<String>) -> Option<String> {
        if way.len() > DEPTH {
            return None;
        }
        let what = |way: &[String]| if way.is_empty() { "it".to_owned() } else { way.join(" of ") };
        let (is, needs) = (self.solid_kinds()?, wanted.solid_kinds()?);
        if !is.overlaps_with(needs) {
            return Some(format!("{} must be {needs}, not {is}", what(way)));
        }
        if is.is_only(ValueKind::List) && needs.is_only(ValueKind::List) {
            // An empty list would match, but people do not pass a list that is always empty.
            return self.item_type().misfit_inside(&wanted.item_type(), "an item".to_owned(), way);
        }
        if !is.is_only(ValueKind::Object) || !needs.is_only(ValueKind::Object) {
            return None;
        }
        for name in wanted.declared_members() {
            match (self.find_member(&name), wanted.find_member(&name)) {
                (TypeMember::Is { of, .. }, TypeMember::Is { of: wanted, .. }) => {
                    if let Some(why) = of.misfit_inside(&wanted, format!("`{name}`"), way) {
                        return Some(why);
                    }
                }
                (TypeMember::Never { what: "an object", .. }, TypeMember::Is { optional: false, .. }) => {
                    return Some(format!("{} has no `{name}`, which is required", what(way)));
                }
                _ => {}
            }
        }
        None
    }

    fn misfit_inside(&self, wanted: &Self, what: String, way: &mut Vec<String>) -> Option<String> {
        way.insert(0, what);
        let why = self.misfit_at(wanted, way);
        way.remove(0);
        why
    }

    /// Why this type rejects a value; `None` if it accepts it, or for reasons that are not examined here.
    pub fn explain_rejection(&self, value: &Value) -> Option<String> {
        let kind = ValueKind::from_value(value);
        if let Some(kinds) = self.value_kinds()
            && !kinds.is_empty()
            && !kinds.contains(kind)
        {
            return Some(format!("it must be {kinds}, not {}", kind.display_name()));
        }
        if let Some(choices) = self.allowed_values()
            && !choices.contains(value)
        {
            let texts: Vec<String> = choices.iter().map(|choice| format!("`{}`", choice.to_text())).collect();
            return Some(format!("it must be one of {}", texts.join(", ")));
        }
        match value {
            Value::Number(n) => {
                let n = n.as_f64();
                if self.is_integer() && n.fract() != 0.0 {
                    return Some("it must be a whole number".to_owned());
                }
                if let Some(low) = self.limit_above("minimum", n) {
                    return Some(format!("it must be at least {low}"));
                }
                let high = self.limit_below("maximum", n)?;
                Some(format!("it must be at most {high}"))
            }
            Value::Str(text) => {
                let length = text.chars().count() as f64;
                if let Some(low) = self.limit_above("minLength", length) {
                    return Some(format!("it must have at least {low} characters"));
                }
                let high = self.limit_below("maxLength", length)?;
                Some(format!("it must have at most {high} characters"))
            }
            Value::List(items) => {
                let length = items.len() as f64;
                if self.limit_above("minItems", length).is_some() || self.limit_below("maxItems", length).is_some() {
                    return Some("it has the wrong number of items".to_owned());
                }
                let ListType { first, rest: Some(inner), .. } = self.as_list()? else { return None };
                if !first.is_empty() {
                    return None;
                }
                let why = items.iter().find_map(|item| inner.explain_rejection(item))?;
                Some(format!("its items do not match: {why}"))
            }
            Value::Object(members) => {
                let declared = &self.as_object()?.members;
                for (name, member) in members.iter() {
                    if let Some(inner) = declared.get(name)
                        && let Some(why) = inner.explain_rejection(member)
                    {
                        return Some(format!("of `{name}`: {why}"));
                    }
                }
                None
            }
            Value::Null | Value::Bool(_) | Value::Masked(_) => None,
        }
    }

    /// A lower limit that a number does not reach.
    fn limit_above(&self, keyword: &str, n: f64) -> Option<f64> {
        let low = self.keyword_limit(keyword)?;
        if n < low { Some(low) } else { None }
    }

    /// An upper limit that a number exceeds.
    fn limit_below(&self, keyword: &str, n: f64) -> Option<f64> {
        let high = self.keyword_limit(keyword)?;
        if n > high { Some(high) } else { None }
    }
}
