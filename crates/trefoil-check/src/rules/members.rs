//! Paths that go on where the type of the value says that there is nothing (`unknown-property`, `property-of-text`), and
//! indices beyond the end of a list.

use trefoil_syntax::{Diagnostic, Severity, suggest};

use crate::rule::Context;
use crate::semantic::Read;
use crate::semantic::schema::Member;

/// A property that an object does not have, or that an open one does not declare.
pub(super) fn unknown_property(cx: &mut Context<'_>) {
    let model = cx.model;
    for read in model.reads() {
        let Some((at, declared)) = &read.undeclared else { continue };
        let Some((before, name)) = parts(read, *at) else { continue };
        // An open object may have it all the same, unless it is a slip of the pen.
        let Some(near) = suggest::nearest(&name, declared.iter().map(|m| &**m)) else { continue };
        let message = format!("the schema of `{before}` declares no `{name}`");
        let d = Diagnostic { severity: Severity::Warning, ..cx.finding(read.at, message) };
        cx.report(d.help(format!("did you mean `{near}`?")));
    }
    each(cx, |read, at, member| match member {
        Member::Never { what: "an object", members } => {
            let (before, name) = parts(read, at)?;
            let has = members.iter().take(12).map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ");
            let help = match suggest::nearest(&name, members.iter().map(|m| &**m)) {
                Some(near) => format!("did you mean `{near}`? it has {has}"),
                None if has.is_empty() => "it has none".to_owned(),
                None => format!("it has {has}"),
            };
            Some((format!("`{before}` has no `{name}`"), help))
        }
        _ => None,
    });
}

/// A property of something that has none.
pub(super) fn property_of_text(cx: &mut Context<'_>) {
    each(cx, |read, at, member| match member {
        Member::Never { what, .. } if *what != "an object" => {
            let (before, name) = parts(read, at)?;
            let message = format!("`{before}` is {what}, so `{before}.{name}` is never there");
            Some((message, "leave the rest of the path out, or have the value made as an object".to_owned()))
        }
        _ => None,
    });
}

fn each(cx: &mut Context<'_>, wrong: impl Fn(&Read<'_>, usize, &Member) -> Option<(String, String)>) {
    let model = cx.model;
    for read in model.reads() {
        let Some((at, member)) = &read.stop else { continue };
        let Some((message, help)) = wrong(read, *at, member) else { continue };
        let d = Diagnostic { severity: Severity::Warning, ..cx.finding(read.at, message) };
        cx.report(d.help(help));
    }
}

/// What stands before a segment of the path, and the segment.
pub(super) fn parts(read: &Read<'_>, at: usize) -> Option<(String, String)> {
    let path = &read.reference?.path;
    let before = path.get(..at)?.iter().map(|s| &*s.name).collect::<Vec<_>>().join(".");
    Some((before, path.get(at)?.name.to_string())).filter(|(before, _)| !before.is_empty())
}
