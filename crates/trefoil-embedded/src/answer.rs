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
        let found = |text: &str| self.hints.patterns.iter().all(|pattern| pattern.is_match(text));
        let found_in = |value: &Json| found(&value.to_string());
        if !schemas.is_empty()
            && let Some(value) = schema::generate_instance(&schemas, &wants, &mut random, &found_in)
        {
            let fits = |value: &Json| found_in(value) && schemas.iter().all(|schema| schema.accepts_value(value));
            return json_text(&self.with_patterns(value, &fits, &mut random));
        }
        if wants.constraints.iter().any(|(path, _)| !path.is_empty()) || !wants.reads.is_empty() {
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
        let mut wants = AnswerRequirements { constraints: Vec::new(), reads: Vec::new(), about: self.about.clone() };
        for (end, path) in &self.hints.reads {
            if ends_at(&place, end) {
                wants.reads.push(path.clone());
            }
        }
        for (end, path, want) in &self.hints.wants {
            if ends_at(&place, end) {
                add(&mut wants, vec![(path.clone(), want.clone())], random);
            }
        }
        let mut order = self.hints.decisions.clone();
        SplitMixRandom::new(stable_hash(self.seed, &["order"])).shuffle_slice(&mut order);
        let marks = KeyNumbers::from_key(self.key);
        let mut all = Vec::new();
        for index in order {
            let Some(decision) = self.decisions.get(index) else { continue };
            let choice = StepChoice { decision, seed: self.seed, marks: &marks, place: &place, step: self.step };
            all.push(choice.weighted_constraints());
        }
        all.sort_by_key(|(weight, _)| *weight);
        for (_, constraints) in all {
            add(&mut wants, constraints, random);
        }
        // A verdict has more properties than its score.
        let is_score =
            |path: &AnswerPath| matches!(path.last(), Some(AnswerPathSegment::Name(name)) if &**name == "score");
        let scores: Vec<AnswerPath> = wants.all_paths().filter(|path| is_score(path)).cloned().collect();
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
        let list = wants.constraints_at(path).any(|constraint| matches!(constraint, ValueConstraint::List(..)));
        if inside.contains(&&AnswerPathSegment::Any) || (list && path.is_empty()) {
            let length = wants.constraints_at(path).find_map(|constraint| match constraint {
                ValueConstraint::List(low, high) | ValueConstraint::Length(low, high) => Some((*low, *high)),
                _ => None,
            });
            let (low, high) = length.unwrap_or((2, 3));
            let count = pick_length(low, high, random);
            path.push(AnswerPathSegment::Any);
            let items = (0..count).map(|n| self.item(wants, path, n, random)).collect();
            path.pop();
            return Json::Array(items);
        }
        let mut members = Map::new();
        for segment in inside {
            if let AnswerPathSegment::Name(name) = segment {
                path.push(segment.clone());
                members.insert(name.to_string(), self.free(wants, path, random));
                path.pop();
            }
        }
        if !members.is_empty() {
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
            let text = self.pattern_texts(random).join(" ");
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
        let accepts = |constraint: &ValueConstraint, text: &str| {
            constraint.accepts_value(&Json::from(text)) || constraint.accepts_value(&read(text))
        };
        let fits = |text: &str| {
            patterns.iter().all(|pattern| pattern.is_match(text))
                && wanted.iter().all(|constraint| accepts(constraint, text))
        };
        if patterns.is_empty() || fits(&text) {
            return text;
        }
        for _ in 0..TRIES {
            let parts = self.pattern_texts(random);
            let all = parts.join("\n");
            for candidate in [format!("{text} {all}"), format!("{all} {text}"), format!("{text}\n{all}"), all] {
                if fits(&candidate) {
                    return candidate;
                }
            }
            // If several patterns are anchored, one text may match all of them.
            if let Some(one) = parts.into_iter().find(|part| fits(part)) {
                return one;
            }
        }
        text
    }

    /// A text for each pattern that is supported.
    fn pattern_texts(&self, random: &mut SplitMixRandom) -> Vec<String> {
        let patterns = self.hints.patterns.iter();
        patterns.filter_map(|pattern| pattern::generate_match(pattern.as_str(), random)).collect()
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
    let mut candidates = Vec::new();
    for constraint in wanted {
        candidates.extend(constraint.propose_values(random));
    }
    candidates.into_iter().find(|candidate| wanted.iter().all(|constraint| constraint.accepts_value(candidate)))
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
