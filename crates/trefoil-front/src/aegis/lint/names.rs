//! Names in the texts of workflows that no run defines, or only some runs do (decision C9). One file a sort of name:
//! states (`order`, `result`), keys of the Blackboard (`key`), fields of the input (`input`); the format's own are here.

use trefoil_syntax::suggest::{self, Near};
use trefoil_syntax::{Diagnostic, Location};

use super::{Found, Workflow, helped, input, key, order, result};
use crate::aegis::names::{Moment, WorkflowNames};
use crate::mend;
use crate::names::{End, Sort, Use};

/// Names that are not there.
pub fn unknown(unit: &Workflow<'_, '_>, found: &mut Found) {
    for (moment, used) in &unit.texts.uses {
        Asked { unit, names: unit.names, moment: *moment, used }.judge(found);
    }
}

/// A reference that is looked at.
pub struct Asked<'u, 'a, 'd> {
    pub unit: &'u Workflow<'a, 'd>,
    pub names: &'u WorkflowNames,
    pub moment: Moment,
    pub used: &'u Use,
}

impl Asked<'_, '_, '_> {
    fn judge(&self, found: &mut Found) {
        let sorts = || self.used.bound.entries.iter().map(|entry| entry.sort).enumerate();
        let of_interest = sorts().find(|(_, sort)| *sort != Sort::Other);
        match of_interest {
            Some((segment, Sort::Step(state))) => {
                found.extend(result::check(self, segment, state));
                found.extend(match segment.checked_sub(1).filter(|before| self.name(*before) == "state") {
                    Some(before) => Some(self.without(before, &[self.name(segment)])),
                    None => order::check(self, segment, state),
                });
            }
            Some((segment, Sort::Key)) => found.extend(key::check(self, segment)),
            Some((segment, Sort::Input)) => found.extend(input::check(self, segment)),
            Some((_, Sort::Other)) | None => found.extend(self.built_in()),
        }
    }

    /// Names of the format itself.
    fn built_in(&self) -> Option<Diagnostic> {
        let unknown = |message: &str, help: &str| Some(self.warning("unknown-property", message, help));
        let last = self.used.reference.path.len().checked_sub(1)?;
        let (at, name) = match &self.used.bound.end {
            End::Nothing(stop) => (stop.segment, self.name(stop.segment)),
            _ if matches!(self.name(last), "human" | "execution") => (last + 1, ""),
            _ => return self.always_empty(),
        };
        match at.checked_sub(1).map(|before| self.name(before))? {
            "workflow" => {
                let context = format!(
                    "a field of the start input is `input.{name}`, one of the context `workflow.context.{name}`"
                );
                unknown(&format!("`workflow` has no `{name}`"), &context)
            }
            "state" => unknown(&format!("`state` has no `{name}`"), "write `state.feedback`"),
            "human" => {
                let what = if name.is_empty() { "human".to_owned() } else { format!("human.{name}") };
                unknown(&format!("`{what}` is always empty"), "write `human.feedback`")
            }
            "execution" => unknown("of `execution` only the `id` is known", "write `execution.id`"),
            _ => None,
        }
    }

    /// Feedback that nobody gives.
    fn always_empty(&self) -> Option<Diagnostic> {
        use trefoil_ir::Defined::Never;
        let entries = &self.used.bound.entries;
        let feedback = (1..entries.len()).find(|i| self.name(*i) == "feedback")?;
        if entries.get(feedback)?.defined != Never {
            return None;
        }
        match (self.name(feedback - 1), self.moment.state()) {
            ("human", _) => {
                let message = "`human.feedback` is always empty: no state asks a person";
                Some(self.warning("unresolved-name", message, ""))
            }
            ("state", Some(state)) => {
                let name = self.names.name(state);
                let message = format!("`state.feedback` is always empty: no transition into `{name}` has `feedback`");
                Some(self.warning("unresolved-name", &message, ""))
            }
            _ => None,
        }
    }

    /// The name of a segment.
    pub fn name(&self, segment: usize) -> &str {
        self.used.reference.path.get(segment).map_or("", |s| &*s.name)
    }

    /// How many names the path has.
    pub fn length(&self) -> usize {
        self.used.reference.path.len()
    }

    /// Where a segment is.
    pub fn place(&self, segment: usize) -> Option<Location> {
        mend::segment(&self.used.reference, self.used.at, segment)
    }

    /// A warning about the whole path.
    pub fn warning(&self, rule: &'static str, message: &str, help: &str) -> Diagnostic {
        helped(Diagnostic::warning(rule, self.used.at, message), help)
    }

    /// A warning about a segment, with the name that was meant by it.
    pub fn near(
        &self,
        rule: &'static str,
        message: &str,
        help: &str,
        segment: usize,
        near: Option<Near<'_>>,
    ) -> Diagnostic {
        let d = self.warning(rule, message, help);
        match near {
            Some(near) => mend::renamed(d, self.place(segment), near, true),
            None => d,
        }
    }

    /// A path with a word before a name that does not belong there; `meant` stands for both.
    pub fn without(&self, word: usize, meant: &[&str]) -> Diagnostic {
        let meant = meant.join(".");
        let message = format!("nothing is called `{}.{}`", self.name(word), self.name(word + 1));
        let d = self.warning("unresolved-name", &message, &format!("write `{meant}`"));
        let place = mend::segments(&self.used.reference, self.used.at, word, word + 1);
        mend::rewritten(d, place, &meant, false)
    }
}

/// The name that was surely meant, where any other one could be there too: nothing but two letters swapped, or one left
/// out, inside of a word.
pub fn slip<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<Near<'c>> {
    let letters = |text: &str| {
        let mut all: Vec<char> = text.chars().collect();
        all.sort_unstable();
        all
    };
    let all: Vec<&str> = candidates.collect();
    let near = suggest::near(word, all.iter().copied()).filter(|near| near.sure && near.name != word)?;
    let swapped = letters(word) == letters(near.name);
    let left_out = near.distance == 1 && word.len() < near.name.len() && !near.name.starts_with(word);
    (word.len() >= 4 && (swapped || left_out)).then_some(near)
}
