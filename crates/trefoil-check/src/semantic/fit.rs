//! Whether values of one type can match another below the top level: items of lists, properties of objects.

use trefoil_ir::types::{self, Member};
use trefoil_template::Value;

/// The maximum depth of the comparison.
const DEPTH: usize = 6;

/// Why no value of the first type matches the second, although both are lists or both are objects: `its items must be
/// text, not numbers`. `None` if a type does not say enough.
pub fn misfit(held: &Value, wanted: &Value) -> Option<String> {
    below(held, wanted, &mut Vec::new())
}

fn below(held: &Value, wanted: &Value, way: &mut Vec<String>) -> Option<String> {
    if way.len() > DEPTH {
        return None;
    }
    let kinds = |of: &Value| types::solid_kinds(of).filter(|k| !k.is_empty());
    let (is, needs) = (kinds(held)?, kinds(wanted)?);
    if !is.iter().any(|kind| needs.contains(kind)) {
        let what = way.join(" of ");
        return (!what.is_empty())
            .then(|| format!("{what} must be {}, not {}", types::spoken_kinds(&needs), types::spoken_kinds(&is)));
    }
    match (&*is, &*needs) {
        // An empty list would match, but people do not pass a list that is always empty.
        (["array"], ["array"]) => inside(&types::item_of(held), &types::item_of(wanted), "an item".to_owned(), way),
        (["object"], ["object"]) => {
            let names = types::declares(wanted);
            names.iter().find_map(|name| match (types::member(held, name), types::member(wanted, name)) {
                (Member::Is { schema: held, .. }, Member::Is { schema: wanted, .. }) => {
                    inside(&held, &wanted, format!("`{name}`"), way)
                }
                (Member::Never { what: "an object", .. }, Member::Is { optional: false, .. }) => {
                    let of = if way.is_empty() { "it".to_owned() } else { way.join(" of ") };
                    Some(format!("{of} has no `{name}`, which is required"))
                }
                _ => None,
            })
        }
        _ => None,
    }
}

fn inside(held: &Value, wanted: &Value, what: String, way: &mut Vec<String>) -> Option<String> {
    way.insert(0, what);
    let why = below(held, wanted, way);
    way.remove(0);
    why
}
