//! Names that nothing defines, in places about whose names the dialect has no finder of its own (`Place::called`).

use trefoil_syntax::{Diagnostic, Severity, suggest};
use trefoil_template::policy::Undefined;

use super::Found;
use trefoil_front::bound::BoundText;
use trefoil_front::mend;
use trefoil_front::names::{End, Stop, Use};

/// Looks at every name. How a path continues after a value is for the checker to judge.
pub fn names(text: &BoundText, found: &mut Found) {
    let Some(place) = text.place.called() else { return };
    for used in &text.uses {
        match &used.bound.end {
            End::Nothing(stop) if stop.before.what.is_none() => found.push(unknown(text, place, used, stop)),
            End::Nothing(_) | End::Open(_) | End::There => {}
        }
    }
}

fn unknown(text: &BoundText, place: &str, used: &Use, stop: &Stop) -> Diagnostic {
    let name = used.name(stop.segment);
    let before: Vec<&str> = (0..stop.segment).map(|segment| used.name(segment)).collect();
    let what = if before.is_empty() { place.to_owned() } else { format!("`{}`", before.join(".")) };
    let (severity, so) = match (&used.reference.default, text.policy.undefined) {
        (Some(default), _) => (Severity::Warning, format!("it is always `{default}`")),
        (None, Undefined::Empty) => (Severity::Warning, "it is always empty".to_owned()),
        (None, Undefined::Error) => (Severity::Error, "the run would fail".to_owned()),
    };
    let d = Diagnostic::new("unresolved-name", severity, used.at, format!("{what} has no `{name}`, so {so}"));
    let d = if before.is_empty() { d } else { d.of_property() };
    let names = || stop.before.names.iter().map(|name| &**name);
    match suggest::near(name, names()) {
        Some(near) => {
            let d = d.help(format!("did you mean `{}`?", near.name));
            mend::renamed(d, used.segment(stop.segment), near, used.reference.default.is_none())
        }
        None if stop.before.names.is_empty() => d,
        None => d.help(format!("available: {}", mend::listed(names()))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_front::bound::BoundText;
    use trefoil_front::names::{Entry, Listed, Place};
    use trefoil_ir::Position;
    use trefoil_ir::types::Type;
    use trefoil_syntax::yaml::{self, Limits};
    use trefoil_syntax::{FileId, Severity, SourceFile};
    use trefoil_template::Policy;

    /// A place of a format that has no finder of its own.
    struct Task {
        called: Option<&'static str>,
    }

    impl Place for Task {
        fn position(&self) -> Position {
            Position::Data
        }
        fn root(&self) -> Entry {
            let text = || Entry::new(Type::Any);
            let run = Listed::new([("started", text())]).namespace().entry();
            Entry::names(Listed::new([("topic", text()), ("run", run)]).namespace())
        }
        fn called(&self) -> Option<&'static str> {
            self.called
        }
    }

    fn found(called: Option<&'static str>, policy: &'static Policy, text: &str) -> Vec<(Severity, String, String)> {
        let file = SourceFile::new("task.yaml", format!("text: \"{text}\"\n"));
        let root = yaml::parse(FileId(0), &file, &Limits::default()).root.unwrap();
        let text = root.mapping().and_then(|m| m.get("text")).and_then(|e| e.value.string()).unwrap();
        let bound = BoundText::template(FileId(0), text, policy, Arc::new(Task { called }));
        let mut found = Vec::new();
        crate::text::find(&bound, &mut found);
        assert!(found.iter().all(|d| d.rule == "unresolved-name"), "{found:?}");
        found.into_iter().map(|d| (d.severity, d.message, d.help.unwrap_or_default())).collect()
    }

    #[test]
    fn a_format_without_a_finder_has_its_unknown_names_reported() {
        let text = "{{topic}} {{topci}} {{other}} {{run.started}} {{run.begun}}";
        for (policy, severity) in [(&Policy::AGNTZ, Severity::Warning), (&Policy::SIRENSPEC, Severity::Error)] {
            let found = found(Some("a task"), policy, text);
            let [slip, other, member] = found.as_slice() else { panic!("{found:?}") };
            assert!(found.iter().all(|(s, ..)| *s == severity), "{found:?}");
            assert!(slip.1.starts_with("a task has no `topci`") && slip.2.contains("`topic`"), "{slip:?}");
            assert!(other.1.contains("`other`") && other.2.contains("`topic`, `run`"), "{other:?}");
            assert!(member.1.starts_with("`run` has no `begun`") && member.2.contains("`started`"), "{member:?}");
        }
        // A default is what is read then.
        assert_eq!(found(Some("a task"), &Policy::SIRENSPEC, "{{ other | default('x') }}").len(), 1);
        // Where a format has a finder of its own, there is nothing to add.
        assert!(found(None, &Policy::AGNTZ, text).is_empty());
    }
}
