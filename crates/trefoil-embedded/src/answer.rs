//! Makes one answer: collects its requirements from the decisions that depend on it, and generates a matching text.

use serde_json::{Map, Value as Json};
use trefoil_ir::StepId;
use trefoil_ir::solver::{SplitMixRandom, ValueConstraint, pick_length, rounded_number, sample_item, stable_hash};
use trefoil_template::read_json;

use super::decisions::{KeyNumbers, ProgramDecision, StepChoice};
use super::hints::AnswerHints;
use super::origins::{ends_at, key_without_numbers};
use super::pattern;
use super::requirements::{AnswerPath, AnswerPathSegment, AnswerRequirements};
use super::schema::{self, CheckedSchema};

/// Maximum number of texts tried against patterns.
const TRIES: usize = 24;

/// The inputs of an answer.
pub(super) struct AnswerGenerator<'a> {
    pub seed: u64,
    pub key: &'a str,
    pub step: StepId,
    pub hints: &'a AnswerHints,
    pub decisions: &'a [ProgramDecision],
    /// The schema of the request, if the program has none.
    pub schema: Option<CheckedSchema>,
    /// The text of an answer without requirements.
    pub plain: String,
    /// The topic of the prompt in a few words.
    pub about: String,
}

impl AnswerGenerator<'_> {
    /// Generates the text of the answer.
    pub fn generate_text(&self) -> String {
        let mut random = SplitMixRandom::new(stable_hash(self.seed, &[self.key, "answer"]));
        let wants = self.wants(&mut random);
        let mut schemas: Vec<CheckedSchema> = self.hints.schemas.clone();
        if schemas.is_empty() {
            schemas.extend(self.schema.clone());
        }
        let found = |text: &str| self.hints.patterns.iter().all(|p| p.is_match(text));
        if !schemas.is_empty()
            && let Some(value) = schema::generate_instance(&schemas, &wants, &mut random, &|v| found(&v.to_string()))
        {
            let fits = |v: &Json| found(&v.to_string()) && schemas.iter().all(|s| s.accepts_value(v));
            return json_text(&self.with_patterns(value, &fits, &mut random));
        }
        if wants.constraints.iter().any(|(p, _)| !p.is_empty()) || !wants.reads.is_empty() {
            return json_text(&self.free(&wants, &mut Vec::new(), &mut random));
        }
        let text = match wants.constraints.is_empty() {
            true => self.plain.clone(),
            false => text_of(&self.free(&wants, &mut Vec::new(), &mut random)),
        };
        let text = self.matching(text, &wants, &mut random);
        match self.hints.longest {
            Some(longest) if text.chars().count() > longest => text.chars().take(longest).collect(),
            _ => text,
        }
    }

    /// The requirements that always apply, then those of decisions by weight. Decisions of one weight have a different
    /// order for each seed, so that each has its turn if they exclude each other.
    fn wants(&self, random: &mut SplitMixRandom) -> AnswerRequirements {
        let place = key_without_numbers(self.key);
        let reads = self.hints.reads.iter().filter(|(end, _)| ends_at(&place, end)).map(|(_, path)| path.clone());
        let mut wants =
            AnswerRequirements { constraints: Vec::new(), reads: reads.collect(), about: self.about.clone() };
        for (_, path, want) in self.hints.wants.iter().filter(|(end, ..)| ends_at(&place, end)) {
            add(&mut wants, vec![(path.clone(), want.clone())], random);
        }
        let mut order = self.hints.decisions.clone();
        SplitMixRandom::new(stable_hash(self.seed, &["order"])).shuffle_slice(&mut order);
        let marks = KeyNumbers::from_key(self.key);
        let mut all: Vec<_> = order
            .into_iter()
            .filter_map(|d| self.decisions.get(d))
            .map(|decision| {
                StepChoice { decision, seed: self.seed, marks: &marks, place: &place, step: self.step }
                    .weighted_constraints()
            })
            .collect();
        all.sort_by_key(|(weight, _)| *weight);
        for (_, constraints) in all {
            add(&mut wants, constraints, random);
        }
        // A verdict has more properties than its score.
        let paths = wants.constraints.iter().map(|(p, _)| p).chain(&wants.reads);
        let is_score = |p: &&AnswerPath| matches!(p.last(), Some(AnswerPathSegment::Name(n)) if &**n == "score");
        let scores: Vec<AnswerPath> = paths.filter(is_score).cloned().collect();
        for mut path in scores {
            path.pop();
            for name in ["confidence", "reasoning"] {
                let mut path = path.clone();
                path.push(AnswerPathSegment::Name(name.into()));
                if !wants.has_within(&path) {
                    wants.reads.push(path);
                }
            }
        }
        wants
    }

    /// Generates a value without a schema, from requirements alone.
    fn free(&self, wants: &AnswerRequirements, path: &mut AnswerPath, random: &mut SplitMixRandom) -> Json {
        let inside = wants.segments_inside(path);
        let list = wants.constraints_at(path).any(|c| matches!(c, ValueConstraint::List(..)));
        if inside.iter().any(|s| **s == AnswerPathSegment::Any) || (list && path.is_empty()) {
            let (low, high) = wants
                .constraints_at(path)
                .find_map(|c| match c {
                    ValueConstraint::List(l, h) | ValueConstraint::Length(l, h) => Some((*l, *h)),
                    _ => None,
                })
                .unwrap_or((2, 3));
            let count = pick_length(low, high, random);
            path.push(AnswerPathSegment::Any);
            let items = (0..count).map(|n| self.item(wants, path, n, random)).collect();
            path.pop();
            return Json::Array(items);
        }
        let names: Vec<_> = inside
            .iter()
            .filter_map(|s| if let AnswerPathSegment::Name(n) = s { Some(n.clone()) } else { None })
            .collect();
        if !names.is_empty() {
            let mut members = Map::new();
            for name in names {
                path.push(AnswerPathSegment::Name(name.clone()));
                members.insert(name.to_string(), self.free(wants, path, random));
                path.pop();
            }
            return Json::Object(members);
        }
        let wanted: Vec<&ValueConstraint> = wants.constraints_at(path).collect();
        if let Some(value) = satisfying(&wanted, random) {
            return value;
        }
        match path.last() {
            Some(AnswerPathSegment::Name(name)) if matches!(&**name, "score" | "confidence") => {
                rounded_number(0.9 + random.pick_between(0, 9) as f64 / 100.0)
            }
            _ => Json::from(self.plain.clone()),
        }
    }

    fn item(&self, wants: &AnswerRequirements, path: &mut AnswerPath, n: usize, random: &mut SplitMixRandom) -> Json {
        if wants.segments_inside(path).is_empty() && wants.constraints_at(path).next().is_none() {
            Json::from(sample_item(n))
        } else {
            self.free(wants, path, random)
        }
    }

    /// Replaces the first text that can match the patterns with one that does.
    fn with_patterns(&self, value: Json, fits: &dyn Fn(&Json) -> bool, random: &mut SplitMixRandom) -> Json {
        if self.hints.patterns.is_empty() || fits(&value) {
            return value;
        }
        for _ in 0..TRIES {
            let parts: Vec<String> =
                self.hints.patterns.iter().filter_map(|p| pattern::generate_match(p.as_str(), random)).collect();
            let text = parts.join(" ");
            for place in 0..leaves(&value) {
                let (mut changed, mut skip) = (value.clone(), place);
                if let Some(leaf) = leaf_mut(&mut changed, &mut skip) {
                    *leaf = Json::from(text.clone());
                }
                if fits(&changed) {
                    return changed;
                }
            }
            if let Json::Object(members) = &value {
                let mut members = members.clone();
                members.insert("note".to_owned(), Json::from(text));
                let changed = Json::Object(members);
                if fits(&changed) {
                    return changed;
                }
            }
        }
        value
    }

    /// Returns the text, or another one that matches every pattern.
    fn matching(&self, text: String, wants: &AnswerRequirements, random: &mut SplitMixRandom) -> String {
        let patterns = &self.hints.patterns;
        let wanted: Vec<&ValueConstraint> = wants.constraints_at(&[]).collect();
        let fits = |t: &str| {
            patterns.iter().all(|p| p.is_match(t))
                && wanted.iter().all(|w| w.accepts_value(&Json::from(t)) || w.accepts_value(&read(t)))
        };
        if patterns.is_empty() || fits(&text) {
            return text;
        }
        for _ in 0..TRIES {
            let parts: Vec<String> =
                patterns.iter().filter_map(|p| pattern::generate_match(p.as_str(), random)).collect();
            let all = parts.join("\n");
            for candidate in [format!("{text} {all}"), format!("{all} {text}"), format!("{text}\n{all}"), all] {
                if fits(&candidate) {
                    return candidate;
                }
            }
            // If several patterns are anchored, one text may match all of them.
            if let Some(one) = parts.into_iter().find(|p| fits(p)) {
                return one;
            }
        }
        text
    }
}

/// Adds requirements that belong together, unless they contradict the existing ones.
fn add(wants: &mut AnswerRequirements, more: Vec<(AnswerPath, ValueConstraint)>, random: &mut SplitMixRandom) {
    let before = wants.constraints.len();
    for (path, constraint) in more {
        wants.constraints.push((path.clone(), constraint));
        let at: Vec<&ValueConstraint> = wants.constraints_at(&path).collect();
        if satisfying(&at, &mut random.clone()).is_none() {
            wants.constraints.truncate(before);
            return;
        }
    }
}

/// A value that satisfies all constraints.
fn satisfying(wanted: &[&ValueConstraint], random: &mut SplitMixRandom) -> Option<Json> {
    let candidates = wanted.iter().flat_map(|w| w.propose_values(random)).collect::<Vec<_>>();
    candidates.into_iter().find(|c| wanted.iter().all(|w| w.accepts_value(c)))
}

/// Formats a value as a model would: text without quotes, other values as JSON.
fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => json_text(other),
    }
}

fn json_text(value: &Json) -> String {
    value.to_string()
}

/// The JSON value that a text may stand for.
fn read(text: &str) -> Json {
    read_json(text).unwrap_or(Json::Null)
}

/// The number of values without nested values.
fn leaves(value: &Json) -> usize {
    match value {
        Json::Array(items) => items.iter().map(leaves).sum(),
        Json::Object(members) => members.values().map(leaves).sum(),
        _ => 1,
    }
}

/// The leaf with this index.
fn leaf_mut<'v>(value: &'v mut Json, skip: &mut usize) -> Option<&'v mut Json> {
    match value {
        Json::Array(items) => items.iter_mut().find_map(|v| leaf_mut(v, skip)),
        Json::Object(members) => members.values_mut().find_map(|v| leaf_mut(v, skip)),
        leaf if *skip == 0 => Some(leaf),
        _ => {
            *skip -= 1;
            None
        }
    }
}
