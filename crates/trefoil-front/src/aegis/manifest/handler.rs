//! The templates of an `output_handler`: what they name (`output`, `intent`), though nothing renders them here.

use trefoil_ir::{Defined, Name, Position, Source, Visible};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Location, suggest};
use trefoil_template::{Missing, Policy, Reference, Value};

use crate::Reader;
use crate::build;
use crate::learn::{Meaning, Resolve};
use crate::mend;

const ROOTS: [&str; 2] = ["output", "intent"];

struct Names<'a, 'd>(&'a Reader<'d>);

/// Reports what is wrong with such a template.
pub fn check(reader: &Reader<'_>, text: &Text) {
    build::text(reader, text, &Policy::AEGIS, &mut Names(reader));
}

impl Resolve for Names<'_, '_> {
    fn bind(&mut self, reference: &Reference, at: Location) -> (Source, u16) {
        if let Some(root) = reference.path.first().filter(|root| !ROOTS.contains(&&*root.name)) {
            let message = format!("an output handler has no `{}`: it is always empty", root.name);
            let d = Diagnostic::warning("unresolved-name", at, message);
            self.0.report(match suggest::near(&root.name, ROOTS) {
                Some(near) => {
                    let d = d.help(format!("did you mean `{}`?", near.name));
                    mend::renamed(d, mend::segment(reference, at, 0), near, true)
                }
                None => d.help("it has `output` and `intent`"),
            });
        }
        (Source::Missing(Missing::Key(0)), 0)
    }
    fn position(&self) -> Position {
        Position::Data
    }
    fn visible(&self) -> Visible {
        ROOTS.iter().map(|root| Name::new(*root, Defined::Sometimes)).collect::<Vec<_>>().into()
    }
    fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        reference.path.iter().map(|_| Meaning::built_in(Defined::Sometimes, Value::Bool(true))).collect()
    }
}
