//! Paths that go on where the type of the value says that there is nothing (`unknown-property`, `property-of-text`), and
//! indices beyond the end of a list.

use trefoil_syntax::{Diagnostic, Location, Severity, Span, suggest};

use crate::rule::Context;
use crate::semantic::schema::Member;
use crate::semantic::{Read, locals};

/// A property that an object does not have, or that an open one does not declare.
pub(super) fn unknown_property(cx: &mut Context<'_>) {
    let model = cx.model;
    for read in model.reads() {
        let Some((at, declared)) = &read.undeclared else { continue };
        let Some((before, name)) = parts(read, *at) else { continue };
        // An open object may have it all the same, unless it is a slip of the pen.
        let near = suggest::near(&name, declared.iter().map(|m| &**m));
        let Some(near) = near.filter(|n| name.chars().count() >= 3 * n.distance) else { continue };
        let message = format!("the schema of `{before}` declares no `{name}`");
        let d = Diagnostic { severity: Severity::Warning, ..cx.finding(read.at, message) };
        let d = d.help(format!("did you mean `{}`?", near.name));
        cx.report(renamed(d, read, *at, near.name, false));
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
            Some((format!("`{before}` has no `{name}`"), help, suggest::near(&name, members.iter().map(|m| &**m))))
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
            Some((message, "leave the rest of the path out, or have the value made as an object".to_owned(), None))
        }
        _ => None,
    });
}

/// Paths in the loops of templates: a member of an item, by what the loop goes over.
pub(super) fn of_items(cx: &mut Context<'_>) {
    let model = cx.model;
    for item in locals::all(model) {
        let (at, declared, what) = match (&item.walk.stop, &item.walk.undeclared) {
            (Some((at, Member::Never { what, members })), _) => (*at, members, *what),
            (None, Some((at, declared))) => (*at, declared, ""),
            _ => continue,
        };
        let Some(name) = item.path.get(at) else { continue };
        let near = suggest::nearest(name, declared.iter().map(|m| &**m));
        let message = match what {
            "" if near.is_none() => continue,
            "" => format!("the schema of the item declares no `{name}`"),
            "an object" => format!("the item has no `{name}`"),
            other => format!("the item is {other}, so it has no `{name}`"),
        };
        let d = Diagnostic { severity: Severity::Warning, ..cx.finding(item.at, message) };
        cx.report(match near {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None => d,
        });
    }
}

/// Message, help, and the name that was meant.
type Wrong<'m> = (String, String, Option<suggest::Near<'m>>);

fn each(cx: &mut Context<'_>, wrong: impl for<'m> Fn(&Read<'_>, usize, &'m Member) -> Option<Wrong<'m>>) {
    let model = cx.model;
    for read in model.reads() {
        let Some((at, member)) = &read.stop else { continue };
        let Some((message, help, near)) = wrong(read, *at, member) else { continue };
        let d = Diagnostic { severity: Severity::Warning, ..cx.finding(read.at, message) }.help(help);
        cx.report(match near {
            Some(near) => renamed(d, read, *at, near.name, near.sure),
            None => d,
        });
    }
}

/// The finding with the change of a segment to the name that was meant, where its bytes can be told.
fn renamed(d: Diagnostic, read: &Read<'_>, at: usize, name: &str, sure: bool) -> Diagnostic {
    let place = || {
        let reference = read.reference?;
        let (whole, part) = (&reference.span, &reference.path.get(at)?.span);
        // A path that is written in the file as it is decoded has the same length in both.
        let straight = read.at.span.end.checked_sub(read.at.span.start) == whole.end.checked_sub(whole.start);
        let (from, to) = (part.start.checked_sub(whole.start)?, part.end.checked_sub(whole.start)?);
        let span = Span::new(read.at.span.start + from, read.at.span.start + to);
        (straight && part.end <= whole.end).then(|| Location::new(read.at.file, span))
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let Some(place) = place().filter(|_| !name.is_empty() && name.chars().all(plain)) else { return d };
    let message = format!("write `{name}`");
    if sure { d.fix(message, place, name) } else { d.suggestion(message, place, name) }
}

/// What stands before a segment of the path, and the segment.
pub(super) fn parts(read: &Read<'_>, at: usize) -> Option<(String, String)> {
    let path = &read.reference?.path;
    let before = path.get(..at)?.iter().map(|s| &*s.name).collect::<Vec<_>>().join(".");
    Some((before, path.get(at)?.name.to_string())).filter(|(before, _)| !before.is_empty())
}
