//! Edges that test text answers: a text used as a boolean, a word that the prompt does not mention.

use std::sync::Arc;

use trefoil_ir::solver::{ConditionTest, TestTree};
use trefoil_ir::{BoundCondition, OnTimeout, SlotId, Source};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, Location, suggestions};
use trefoil_template::{ComparisonOperator, ConditionExpression, LiteralIndex, Value};

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::bound_text::BoundText;
use trefoil_front::sirenspec::manifest::{NodeFailurePolicy, NodeKind};
use trefoil_front::sirenspec::names::node_part::{NodePart, ReadingPoint};

/// A word that an edge compares an answer with.
struct ComparedWord<'m> {
    word: Arc<str>,
    at: Location,
    when: &'m YamlText,
}

/// Checks the conditions of the edges, in the order of their target nodes.
pub fn check_answer_tests(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    if subject.manifest.edges.iter().all(|edge| edge.when.is_none()) {
        return;
    }
    let slots = subject.known.nodes.iter().enumerate().map(|(at, n)| (n.slot, at));
    let nodes: HashMap<SlotId, usize> = slots.collect();
    let mut words: Vec<(usize, Vec<ComparedWord<'_>>)> = Vec::new();
    for link in (0..subject.known.nodes.len()).flat_map(|at| subject.links.incoming_edges(at)) {
        let when = subject.manifest.edges.get(link.edge).and_then(|edge| edge.when);
        let bound = when.and_then(|when| subject.texts.get(ReadingPoint::EdgeFrom(link.from), NodePart::Plain, when));
        let read = bound.filter(|bound| bound.text.as_condition().is_some());
        let Some((text, cond)) = read.and_then(|bound| Some((&bound.text, bound.text.to_condition()?))) else {
            continue;
        };
        let mut look = AnswerTestCheck { subject, nodes: &nodes, cond: &cond, text, words: &mut words, found };
        TestTree::from_expression(cond.condition.expression_tree(), true)
            .all_tests()
            .into_iter()
            .for_each(|test| look.test(test));
    }
    words.iter().for_each(|(node, asked)| unknown(subject, *node, asked, found));
}

struct AnswerTestCheck<'l, 's> {
    subject: &'l CheckedWorkflow<'s>,
    nodes: &'l HashMap<SlotId, usize>,
    cond: &'l BoundCondition,
    text: &'s BoundText,
    words: &'l mut Vec<(usize, Vec<ComparedWord<'s>>)>,
    found: &'l mut FindingList,
}

impl AnswerTestCheck<'_, '_> {
    /// What a test asks of an answer.
    fn test(&mut self, test: ConditionTest<'_>) {
        let ConditionExpression::Reference(r) = test.left else { return };
        let Some((comparison, other)) = test.compared else { return self.yes(*r) };
        let Some(node) = self.answer(*r) else { return };
        let words = match (comparison, other) {
            (ComparisonOperator::Equal, one @ ConditionExpression::Literal(..)) => std::slice::from_ref(one),
            (ComparisonOperator::In, ConditionExpression::List(items)) => items,
            _ => return,
        };
        for word in words {
            if let ConditionExpression::Literal(Value::Str(word), at) = word {
                self.word(node, word, *at);
            }
        }
    }

    fn word(&mut self, node: usize, word: &Arc<str>, at: LiteralIndex) {
        let at = self.text.literal_location(at).map_or(self.text.at, |(at, _)| at);
        let asked = ComparedWord { word: word.clone(), at, when: &self.text.source };
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
        let prompt = |text: Option<&YamlText>| text.and_then(|t| choice(&t.value));
        let found = match &node.kind {
            NodeKind::Human(human) => match &human.on_timeout {
                OnTimeout::Answer(text) if is_no(text) => Some(("", text.trim().to_owned())),
                _ => prompt(human.prompt),
            },
            NodeKind::Agent(agent) => {
                let system =
                    agent.agent.and_then(|id| self.subject.manifest.find_agent(&id.value)).and_then(|a| a.system);
                match &agent.on_failure {
                    Some(NodeFailurePolicy::UseDefault(text)) if is_no(text) => Some(("", text.trim().to_owned())),
                    _ => prompt(system),
                }
            }
            _ => None,
        };
        let Some((yes, no)) = found else { return };
        let Some(path) = self.cond.condition.references().get(reference as usize).map(|r| r.dotted_path()) else {
            return;
        };
        let at = self
            .cond
            .spans
            .get(reference as usize)
            .map_or(self.cond.origin, |s| Location::new(self.cond.origin.file, *s));
        let message = format!("`{path}` is text; every non-empty text is true, even `{no}`");
        let yes = if yes.is_empty() { "yes" } else { yes };
        let d = Diagnostic::new_warning("text-as-boolean", at, message);
        self.found.push(d.with_help(format!("compare it: `{path} == \"{yes}\"`")));
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
fn unknown(subject: &CheckedWorkflow<'_>, node: usize, asked: &[ComparedWord<'_>], found: &mut FindingList) {
    for one in asked.iter().filter(|a| a.word.trim() != &*a.word && !a.word.trim().is_empty()) {
        // If the condition also compares without the space, it accepts several spellings.
        if one.when.value.matches(one.word.trim()).count() > 1 {
            continue;
        }
        let message = format!(
            "`{}` starts or ends with a space, so it equals only text with the same space",
            one.word.escape_debug()
        );
        let d = Diagnostic::new_warning("unknown-answer", one.at, message);
        found.push(d.with_help(format!("write `\"{}\"`", one.word.trim())));
    }
    let Some(NodeKind::Agent(agent)) = subject.manifest.nodes.get(node).map(|n| &n.kind) else { return };
    let Some(agent) = agent.agent.and_then(|id| subject.manifest.find_agent(&id.value)) else { return };
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
    let Some(near) = suggestions::find_near_match(&one.word.to_lowercase(), words).filter(|near| near.sure) else {
        return;
    };
    let message =
        format!("the prompt of `{}` does not mention `{}`, although it mentions the others", agent.id.value, one.word);
    let d = Diagnostic::new_warning("unknown-answer", one.at, message)
        .with_label(subject.location_of(system.span), "the prompt");
    found.push(d.with_help(format!("did you mean `{}`?", near.name)));
}
