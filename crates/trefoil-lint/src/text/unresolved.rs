//! Names that nothing defines, in places about whose names the dialect has no finder of its own (`NameScope::scope_description`).

use trefoil_syntax::{Diagnostic, FindingSeverity, suggestions};
use trefoil_template::policy::UndefinedHandling;

use super::FindingList;
use trefoil_front::bound_text::BoundText;
use trefoil_front::names::{BoundReference, PathResolution, PathStop};
use trefoil_front::spelling_fixes;

/// Looks at every name. How a path continues after a value is for the checker to judge.
pub fn find_unresolved_names(text: &BoundText, found: &mut FindingList) {
    let Some(place) = text.place.scope_description() else { return };
    for used in &text.uses {
        match &used.bound.end {
            PathResolution::Nothing(stop) if stop.before.what.is_none() => found.push(unknown(text, place, used, stop)),
            PathResolution::Nothing(_) | PathResolution::Open(_) | PathResolution::There => {}
        }
    }
}

fn unknown(text: &BoundText, place: &str, used: &BoundReference, stop: &PathStop) -> Diagnostic {
    let name = used.segment_name(stop.segment);
    let before: Vec<&str> = (0..stop.segment).map(|segment| used.segment_name(segment)).collect();
    let what = if before.is_empty() { place.to_owned() } else { format!("`{}`", before.join(".")) };
    let (severity, so) = match (&used.reference.default, text.policy.undefined) {
        (Some(default), _) => (FindingSeverity::Warning, format!("it is always `{default}`")),
        (None, UndefinedHandling::Empty) => (FindingSeverity::Warning, "it is always empty".to_owned()),
        (None, UndefinedHandling::Error) => (FindingSeverity::Error, "the run would fail".to_owned()),
    };
    let d = Diagnostic::new("unresolved-name", severity, used.at, format!("{what} has no `{name}`, so {so}"));
    let d = if before.is_empty() { d } else { d.of_property() };
    let names = || stop.before.names.iter().map(|name| &**name);
    match suggestions::find_near_match(name, names()) {
        Some(near) => {
            let d = d.with_help(format!("did you mean `{}`?", near.name));
            spelling_fixes::fix_name(d, used.segment_location(stop.segment), near, used.reference.default.is_none())
        }
        None if stop.before.names.is_empty() => d,
        None => d.with_help(format!("available: {}", spelling_fixes::join_names(names()))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trefoil_front::bound_text::BoundText;
    use trefoil_front::names::{FixedObject, NameEntry, NameScope};
    use trefoil_ir::TextRole;
    use trefoil_ir::types::ValueType;
    use trefoil_syntax::yaml::{self, YamlLimits};
    use trefoil_syntax::{FileId, FindingSeverity, SourceFile};
    use trefoil_template::Policy;

    /// A place of a format that has no finder of its own.
    struct Task {
        called: Option<&'static str>,
    }

    impl NameScope for Task {
        fn text_position(&self) -> TextRole {
            TextRole::Data
        }
        fn root_entry(&self) -> NameEntry {
            let text = || NameEntry::new(ValueType::Any);
            let run = FixedObject::new([("started", text())]).as_namespace().into_entry();
            NameEntry::from_names(FixedObject::new([("topic", text()), ("run", run)]).as_namespace())
        }
        fn scope_description(&self) -> Option<&'static str> {
            self.called
        }
    }

    fn found(
        called: Option<&'static str>,
        policy: &'static Policy,
        text: &str,
    ) -> Vec<(FindingSeverity, String, String)> {
        let file = SourceFile::new("task.yaml", format!("text: \"{text}\"\n"));
        let root = yaml::parse(FileId(0), &file, &YamlLimits::default()).root.unwrap();
        let text = root.as_mapping().and_then(|m| m.get("text")).and_then(|e| e.value.as_string()).unwrap();
        let bound = BoundText::from_template(FileId(0), text, policy, Arc::new(Task { called }));
        let mut found = Vec::new();
        crate::text::find_text_mistakes(&bound, &mut found);
        assert!(found.iter().all(|d| d.rule == "unresolved-name"), "{found:?}");
        found.into_iter().map(|d| (d.severity, d.message, d.help.unwrap_or_default())).collect()
    }

    #[test]
    fn a_format_without_a_finder_has_its_unknown_names_reported() {
        let text = "{{topic}} {{topci}} {{other}} {{run.started}} {{run.begun}}";
        for (policy, severity) in
            [(&Policy::AGNTZ, FindingSeverity::Warning), (&Policy::SIRENSPEC, FindingSeverity::Error)]
        {
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
