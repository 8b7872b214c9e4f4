//! Paths in blocks, and paths that only blocks define.

use trefoil_ir::ValuePresence;
use trefoil_syntax::Diagnostic;

use super::FindingList;
use trefoil_front::bound_text::{BoundLocal, BoundText};

/// Paths outside a block that only a block would define.
pub fn find_stray_paths(text: &BoundText, found: &mut FindingList) {
    let Some(template) = text.as_template() else { return };
    for span in template.stray_paths() {
        let path = text.source.value.get(span.start as usize..span.end as usize).unwrap_or_default();
        let (message, help) = stray(path);
        let d = Diagnostic::new_warning("loop-variable", text.place_of(span.clone()), message);
        found.push(if help.is_empty() { d } else { d.with_help(help) });
    }
}

fn stray(path: &str) -> (String, &'static str) {
    match path.chars().next() {
        _ if matches!(path, "this" | ".") => (
            format!("`{path}` is outside a block, so it prints the whole state as JSON"),
            "write the path of the value; to print the whole state, write `{{json this}}`",
        ),
        Some('@') => (format!("`{path}` is always empty: it has a value only in `{{{{#each}}}}`"), ""),
        Some('.') => (format!("`{path}` is always empty: it leaves more blocks than are open"), ""),
        _ => {
            (format!("`{path}` is outside a block: `this` is an item only in `{{{{#each}}}}`"), "write the whole path")
        }
    }
}

/// Paths in a block that are written as if outside it; inside, they are looked up in the item.
pub fn from_the_root(text: &BoundText, found: &mut FindingList) {
    for BoundLocal { local, bound, begin } in text.local_paths() {
        let (Some(bound), Some(before)) = (bound, begin.checked_sub(1)) else { continue };
        let (Some(start), Some((first, rest))) = (bound.entries.get(before), local.path.split_first()) else {
            continue;
        };
        let Some(object) = start.schema.as_object() else { continue };
        let declared = &object.members;
        let written = text.source.value.get(local.span.start as usize..).unwrap_or_default();
        if declared.is_empty() || !written.starts_with(&*first.name) || declared.contains_key(&first.name) {
            continue;
        }
        let dotted = || {
            let names: Vec<&str> = local.path.iter().map(|segment| &*segment.name).collect();
            names.join(".")
        };
        // Outside blocks it is the name of a value that always exists.
        let is_root = || {
            let found = text.look_up(&local.path);
            matches!(found.entries.first(), Some(entry) if entry.defined == ValuePresence::Always)
        };
        let meant = match (&*first.name, rest) {
            (own @ ("index" | "key" | "first" | "last"), []) if local.each => format!("@{own}"),
            (_, [second, ..]) if declared.contains_key(&second.name) => {
                let inner: Vec<&str> = rest.iter().map(|s| &*s.name).collect();
                format!("this.{}", inner.join("."))
            }
            (_, [_, ..]) if is_root() || text.is_there(&dotted(), false) => format!("@root.{}", dotted()),
            _ => continue,
        };
        let at = text.place_of(local.span.clone());
        let straight = at.span.end - at.span.start == local.span.end - local.span.start;
        let message = format!("in this block `{}` is looked up in the item, which does not have it", first.name);
        let d = Diagnostic::new_warning("unresolved-name", at, message);
        let help = format!("write `{meant}`");
        found.push(if straight { d.with_suggestion(help, at, meant) } else { d.with_help(help) });
    }
}
