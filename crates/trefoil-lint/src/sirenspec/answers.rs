//! Edges that test text answers: a text used as a boolean, a word that the prompt does not mention.

use std::sync::Arc;

use trefoil_ir::solve::{ConditionTest, TestTree};
use trefoil_ir::{Cond, OnTimeout, SlotId, Source};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Location, suggest};
use trefoil_template::{Comparison, Expression, Value, Written};

use super::subject::{Found, Subject};
use trefoil_front::bound::BoundText;
use trefoil_front::sirenspec::manifest::{NodeKind, OnFailure};
use trefoil_front::sirenspec::names::stand::{Reading, Stand};

/// A word that an edge compares an answer with.
struct AskedWord<'m> {
    word: Arc<str>,
    at: Location,
    when: &'m Text,
}

/// Checks the conditions of the edges, in the order of their target nodes.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    if subject.manifest.edges.iter().all(|edge| edge.when.is_none()) {
        return;
    }
    let slots = subject.known.nodes.iter().enumerate().map(|(at, n)| (n.slot, at));
    let nodes: HashMap<SlotId, usize> = slots.collect();
    let mut words: Vec<(usize, Vec<AskedWord<'_>>)> = Vec::new();
    for link in (0..subject.known.nodes.len()).flat_map(|at| subject.links.incoming(at)) {
        let when = subject.manifest.edges.get(link.edge).and_then(|edge| edge.when);
        let bound = when.and_then(|when| subject.texts.get(Reading::EdgeFrom(link.from), Stand::Plain, when));
        let read = bound.filter(|bound| bound.text.as_condition().is_some());
        let Some((text, cond)) = read.and_then(|bound| Some((&bound.text, bound.text.cond()?))) else { continue };
        let mut look = Look { subject, nodes: &nodes, cond: &cond, text, words: &mut words, found };
        TestTree::of(cond.condition.expression(), true).tests().into_iter().for_each(|test| look.test(test));
    }
    words.iter().for_each(|(node, asked)| unknown(subject, *node, asked, found));
}

struct Look<'l, 's> {
    subject: &'l Subject<'s>,
    nodes: &'l HashMap<SlotId, usize>,
    cond: &'l Cond,
    text: &'s BoundText,
    words: &'l mut Vec<(usize, Vec<AskedWord<'s>>)>,
    found: &'l mut Found,
}

impl Look<'_, '_> {
    /// What a test asks of an answer.
    fn test(&mut self, test: ConditionTest<'_>) {
        let Expression::Reference(r) = test.left else { return };
        let Some((comparison, other)) = test.compared else { return self.yes(*r) };
        let Some(node) = self.answer(*r) else { return };
        let words = match (comparison, other) {
            (Comparison::Equal, one @ Expression::Literal(..)) => std::slice::from_ref(one),
            (Comparison::In, Expression::List(items)) => items,
            _ => return,
        };
        for word in words {
            if let Expression::Literal(Value::Str(word), at) = word {
                self.word(node, word, *at);
            }
        }
    }

    fn word(&mut self, node: usize, word: &Arc<str>, at: Written) {
        let at = self.text.written(at).map_or(self.text.at, |(at, _)| at);
        let asked = AskedWord { word: word.clone(), at, when: &self.text.source };
        match self.words.iter_mut().find(|(n, _)| *n == node) {
            Some((_, all)) => all.push(asked),
            None => self.words.push((node, vec![asked])),
        }
    }

    /// The node whose whole answer a reference reads.
    fn answer(&self, reference: u32) -> Option<usize> {
        let reference = self.cond.condition.references().get(reference as usize)?;
        let rest = reference.path.get(usize::from(reference.binding.skip)..)?;
        let (slot, whole) = match self.cond.sources.get(reference.binding.source as usize)? {
            Source::Member(slot, _) => (slot, rest.is_empty()),
            Source::Slot(slot) => (slot, matches!(rest, [output] if &*output.name == "output")),
            _ => return None,
        };
        self.nodes.get(slot).copied().filter(|_| whole)
    }

    /// An answer used as a boolean.
    fn yes(&mut self, reference: u32) {
        let Some(node) = self.answer(reference).and_then(|at| self.subject.manifest.nodes.get(at)) else { return };
        let prompt = |text: Option<&Text>| text.and_then(|t| choice(&t.value));
        let found = match &node.kind {
            NodeKind::Human(human) => match &human.on_timeout {
                OnTimeout::Answer(text) if is_no(text) => Some(("", text.trim().to_owned())),
                _ => prompt(human.prompt),
            },
            NodeKind::Agent(agent) => {
                let system = agent.agent.and_then(|id| self.subject.manifest.agent(&id.value)).and_then(|a| a.system);
                match &agent.on_failure {
                    Some(OnFailure::UseDefault(text)) if is_no(text) => Some(("", text.trim().to_owned())),
                    _ => prompt(system),
                }
            }
            _ => None,
        };
        let Some((yes, no)) = found else { return };
        let Some(path) = self.cond.condition.references().get(reference as usize).map(|r| r.dotted()) else { return };
        let at = self
            .cond
            .spans
            .get(reference as usize)
            .map_or(self.cond.origin, |s| Location::new(self.cond.origin.file, *s));
        let message = format!("`{path}` is text; every non-empty text is true, even `{no}`");
        let yes = if yes.is_empty() { "yes" } else { yes };
        let d = Diagnostic::warning("text-as-boolean", at, message);
        self.found.push(d.help(format!("compare it: `{path} == \"{yes}\"`")));
    }
}

/// Whether an answer says no.
fn is_no(text: &str) -> bool {
    ["no", "n", "false", "reject", "rejected", "deny", "denied"].iter().any(|w| text.trim().eq_ignore_ascii_case(w))
}

/// The two answers that a prompt asks for.
fn choice(prompt: &str) -> Option<(&'static str, String)> {
    const PAIRS: [(&str, &str); 4] = [("yes", "no"), ("true", "false"), ("y", "n"), ("approve", "reject")];
    let bare: String =
        prompt.chars().filter(|c| !matches!(c, '"' | '\'' | '`' | '*')).collect::<String>().to_lowercase();
    let (yes, no) = PAIRS.into_iter().find(|(yes, no)| {
        let joined = ["/", " / ", " or ", "|"].map(|by| format!("{yes}{by}{no}"));
        joined.iter().any(|pair| has_word(&bare, pair))
    })?;
    Some((yes, no.to_owned()))
}

fn has_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, found)| {
        edge(text.get(..at).and_then(|t| t.chars().next_back()))
            && edge(text.get(at + found.len()..).and_then(|t| t.chars().next()))
    })
}

/// Words that the prompt does not mention, although it mentions the other words that edges compare with.
fn unknown(subject: &Subject<'_>, node: usize, asked: &[AskedWord<'_>], found: &mut Found) {
    for one in asked.iter().filter(|a| a.word.trim() != &*a.word && !a.word.trim().is_empty()) {
        // If the condition also compares without the space, it accepts several spellings.
        if one.when.value.matches(one.word.trim()).count() > 1 {
            continue;
        }
        let message = format!(
            "`{}` starts or ends with a space, so it equals only text with the same space",
            one.word.escape_debug()
        );
        let d = Diagnostic::warning("unknown-answer", one.at, message);
        found.push(d.help(format!("write `\"{}\"`", one.word.trim())));
    }
    let Some(NodeKind::Agent(agent)) = subject.manifest.nodes.get(node).map(|n| &n.kind) else { return };
    let Some(agent) = agent.agent.and_then(|id| subject.manifest.agent(&id.value)) else { return };
    let Some(system) = agent.system.filter(|_| asked.len() > 1) else { return };
    let prompt = system.value.to_lowercase();
    let named = |word: &str| has_word(&prompt, &word.trim().to_lowercase());
    let mut strange = asked.iter().filter(|a| !a.word.trim().is_empty() && !named(&a.word));
    let Some(one) = strange.next() else { return };
    // If several words are not mentioned, they come from somewhere else.
    if strange.any(|other| other.word != one.word) {
        return;
    }
    let words = prompt.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').filter(|w| !w.is_empty());
    let Some(near) = suggest::near(&one.word.to_lowercase(), words).filter(|near| near.sure) else { return };
    let message =
        format!("the prompt of `{}` does not mention `{}`, although it mentions the others", agent.id.value, one.word);
    let d = Diagnostic::warning("unknown-answer", one.at, message).label(subject.at(system.span), "the prompt");
    found.push(d.help(format!("did you mean `{}`?", near.name)));
}
