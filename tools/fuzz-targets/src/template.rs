//! Parses and renders templates, for each policy.

use trefoil_template::state::{self, TextKind};
use trefoil_template::{EvalError, Policy, Template, Value};

use crate::text::{World, aegis, agntz, check_mistakes, check_references, fill, inside, mark, sirenspec};
use crate::{Target, fixed};

const ABOUT: &str =
    "no text panics, every mistake and reference has a place, rendering repeats itself, data is never code";

pub(crate) const AGNTZ: Target = Target::of_text(
    "template-agntz",
    ABOUT,
    || fixed(agntz::TEMPLATES),
    agntz::WORDS,
    |bytes| run(bytes, &Policy::AGNTZ),
);
pub(crate) const AEGIS: Target = Target::of_text(
    "template-aegis",
    ABOUT,
    || fixed(aegis::TEMPLATES),
    aegis::WORDS,
    |bytes| run(bytes, &Policy::AEGIS),
);
pub(crate) const SIRENSPEC: Target = Target::of_text(
    "template-sirenspec",
    ABOUT,
    || fixed(sirenspec::TEMPLATES),
    sirenspec::WORDS,
    |bytes| run(bytes, &Policy::SIRENSPEC),
);

fn run(bytes: &[u8], policy: &'static Policy) {
    let text = &*String::from_utf8_lossy(bytes);
    let template = match Template::parse(text, policy) {
        Err(mistakes) => return check_mistakes(text, &mistakes),
        Ok(template) => template,
    };
    check_references(text, template.references());
    for local in template.local_paths() {
        inside(text, &local.span);
    }
    assert!(text.contains("{{") || template.literal_text() == Some(text), "{text:?} has no tag and is {template:?}");

    let mut shown = Vec::new();
    for world in [World::new(policy), World::harmless(policy)] {
        let mut bound = template.clone();
        bound.bind_references(|reference| world.bind(reference));
        let rendered = every_way(text, &bound, &world);
        let typed = settle(&world, || bound.render_value(&world));
        let alone = state::evaluate_text(policy, TextKind::Template, text, world.state()).map_err(|e| format!("{e:?}"));
        assert!(alone.as_ref().map_or(true, |value| matches!(value, Value::Str(_) | Value::Masked(_))), "not text");
        shown.push([show(rendered), show(typed), mark(&format!("{alone:?}"))]);
    }
    assert!(shown.first() == shown.last(), "the braces of data made a difference: {shown:?}");
}

/// Renders in every available way, and fills the holes like a driver.
fn every_way(text: &str, template: &Template, world: &World) -> Result<Value, EvalError> {
    let rendered = settle(world, || template.render_text(world));
    assert_eq!(rendered, template.render_text(world), "two renderings of {text:?}");
    let traced = template.render_with_provenance(world);
    let mut buffer = "before ".to_owned();
    let into = template.render_into(world, &mut buffer);
    match &rendered {
        Err(error) => {
            assert_eq!(traced.map(|_| ()).as_ref(), Err(error), "traced {text:?}");
            assert_eq!(into.as_ref(), Err(error), "into a buffer {text:?}");
            if let EvalError::Undefined { span, .. } = error {
                inside(text, span);
            }
        }
        Ok(value) => {
            let all = value.to_text();
            assert_eq!(into, Ok(()));
            assert_eq!(buffer.strip_prefix("before "), Some(&*all), "into a buffer {text:?}");
            let Ok((again, provenance)) = traced else { unreachable!("{text:?} renders and cannot be traced") };
            assert_eq!(again, *value, "traced {text:?}");
            let mut end = 0;
            for part in provenance {
                inside(&all, &part.output);
                assert!(part.output.start >= end, "{part:?} overlaps with what is before it");
                assert!(template.references().get(part.reference as usize).is_some(), "{part:?} is of no reference");
                end = part.output.end;
            }
            let filled = value.fill_holes(&mut fill);
            assert!(filled.map_or(true, |v| matches!(v, Value::Str(_) | Value::Null) && !v.is_masked()), "{text:?}");
        }
    }
    rendered
}

/// Evaluates, and answers questions as they come, until there are none.
fn settle<T>(world: &World, mut evaluate: impl FnMut() -> Result<T, EvalError>) -> Result<T, EvalError> {
    loop {
        match evaluate() {
            Err(EvalError::Undecided(question)) => world.answer(&question),
            other => return other,
        }
    }
}

fn show(result: Result<Value, EvalError>) -> String {
    mark(&match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    })
}
