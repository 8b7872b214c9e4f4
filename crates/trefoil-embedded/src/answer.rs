//! Makes one answer: collects its requirements from the decisions that depend on it, and generates a matching text.

use serde_json::{Map, Value as Json};
use trefoil_ir::StepId;
use trefoil_ir::solve::{Constraint, Random, hash, item, size, tidy};
use trefoil_template::read_json;

use super::decide::{AskedChoice, Decision, Marks};
use super::hints::Hints;
use super::pattern;
use super::schema::{self, Checked};
use super::trace::{ends_at, place};
use super::wants::{Path, Seg, Wants};

/// Maximum number of texts tried against patterns.
const TRIES: usize = 24;

/// The inputs of an answer.
pub(super) struct Maker<'a> {
    pub seed: u64,
    pub key: &'a str,
    pub step: StepId,
    pub hints: &'a Hints,
    pub decisions: &'a [Decision],
    /// The schema of the request, if the program has none.
    pub schema: Option<Checked>,
    /// The text of an answer without requirements.
    pub plain: String,
    /// The topic of the prompt in a few words.
    pub about: String,
}

impl Maker<'_> {
    /// Generates the text of the answer.
    pub fn text(&self) -> String {
        let mut random = Random::new(hash(self.seed, &[self.key, "answer"]));
        let wants = self.wants(&mut random);
        let mut schemas: Vec<Checked> = self.hints.schemas.clone();
        if schemas.is_empty() {
            schemas.extend(self.schema.clone());
        }
        let found = |text: &str| self.hints.patterns.iter().all(|p| p.is_match(text));
        if !schemas.is_empty()
            && let Some(value) = schema::instance(&schemas, &wants, &mut random, &|v| found(&v.to_string()))
        {
            let fits = |v: &Json| found(&v.to_string()) && schemas.iter().all(|s| s.accepts(v));
            return shown(&self.with_patterns(value, &fits, &mut random));
        }
        if wants.constraints.iter().any(|(p, _)| !p.is_empty()) || !wants.reads.is_empty() {
            return shown(&self.free(&wants, &mut Vec::new(), &mut random));
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
    fn wants(&self, random: &mut Random) -> Wants {
        let place = place(self.key);
        let reads = self.hints.reads.iter().filter(|(end, _)| ends_at(&place, end)).map(|(_, path)| path.clone());
        let mut wants = Wants { constraints: Vec::new(), reads: reads.collect(), about: self.about.clone() };
        for (_, path, want) in self.hints.wants.iter().filter(|(end, ..)| ends_at(&place, end)) {
            add(&mut wants, vec![(path.clone(), want.clone())], random);
        }
        let mut order = self.hints.decisions.clone();
        Random::new(hash(self.seed, &["order"])).shuffle(&mut order);
        let marks = Marks::of(self.key);
        let mut all: Vec<_> = order
            .into_iter()
            .filter_map(|d| self.decisions.get(d))
            .map(|decision| {
                AskedChoice { decision, seed: self.seed, marks: &marks, place: &place, step: self.step }.constraints()
            })
            .collect();
        all.sort_by_key(|(weight, _)| *weight);
        for (_, constraints) in all {
            add(&mut wants, constraints, random);
        }
        // A verdict has more properties than its score.
        let paths = wants.constraints.iter().map(|(p, _)| p).chain(&wants.reads);
        let is_score = |p: &&Path| matches!(p.last(), Some(Seg::Name(n)) if &**n == "score");
        let scores: Vec<Path> = paths.filter(is_score).cloned().collect();
        for mut path in scores {
            path.pop();
            for name in ["confidence", "reasoning"] {
                let mut path = path.clone();
                path.push(Seg::Name(name.into()));
                if !wants.within(&path) {
                    wants.reads.push(path);
                }
            }
        }
        wants
    }

    /// Generates a value without a schema, from requirements alone.
    fn free(&self, wants: &Wants, path: &mut Path, random: &mut Random) -> Json {
        let inside = wants.inside(path);
        let list = wants.at(path).any(|c| matches!(c, Constraint::List(..)));
        if inside.iter().any(|s| **s == Seg::Any) || (list && path.is_empty()) {
            let (low, high) = wants
                .at(path)
                .find_map(|c| match c {
                    Constraint::List(l, h) | Constraint::Length(l, h) => Some((*l, *h)),
                    _ => None,
                })
                .unwrap_or((2, 3));
            let count = size(low, high, random);
            path.push(Seg::Any);
            let items = (0..count).map(|n| self.item(wants, path, n, random)).collect();
            path.pop();
            return Json::Array(items);
        }
        let names: Vec<_> =
            inside.iter().filter_map(|s| if let Seg::Name(n) = s { Some(n.clone()) } else { None }).collect();
        if !names.is_empty() {
            let mut members = Map::new();
            for name in names {
                path.push(Seg::Name(name.clone()));
                members.insert(name.to_string(), self.free(wants, path, random));
                path.pop();
            }
            return Json::Object(members);
        }
        let wanted: Vec<&Constraint> = wants.at(path).collect();
        if let Some(value) = satisfying(&wanted, random) {
            return value;
        }
        match path.last() {
            Some(Seg::Name(name)) if matches!(&**name, "score" | "confidence") => {
                tidy(0.9 + random.between(0, 9) as f64 / 100.0)
            }
            _ => Json::from(self.plain.clone()),
        }
    }

    fn item(&self, wants: &Wants, path: &mut Path, n: usize, random: &mut Random) -> Json {
        if wants.inside(path).is_empty() && wants.at(path).next().is_none() {
            Json::from(item(n))
        } else {
            self.free(wants, path, random)
        }
    }

    /// Replaces the first text that can match the patterns with one that does.
    fn with_patterns(&self, value: Json, fits: &dyn Fn(&Json) -> bool, random: &mut Random) -> Json {
        if self.hints.patterns.is_empty() || fits(&value) {
            return value;
        }
        for _ in 0..TRIES {
            let parts: Vec<String> =
                self.hints.patterns.iter().filter_map(|p| pattern::matching(p.as_str(), random)).collect();
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
    fn matching(&self, text: String, wants: &Wants, random: &mut Random) -> String {
        let patterns = &self.hints.patterns;
        let wanted: Vec<&Constraint> = wants.at(&[]).collect();
        let fits = |t: &str| {
            patterns.iter().all(|p| p.is_match(t))
                && wanted.iter().all(|w| w.holds(&Json::from(t)) || w.holds(&read(t)))
        };
        if patterns.is_empty() || fits(&text) {
            return text;
        }
        for _ in 0..TRIES {
            let parts: Vec<String> = patterns.iter().filter_map(|p| pattern::matching(p.as_str(), random)).collect();
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
fn add(wants: &mut Wants, more: Vec<(Path, Constraint)>, random: &mut Random) {
    let before = wants.constraints.len();
    for (path, constraint) in more {
        wants.constraints.push((path.clone(), constraint));
        let at: Vec<&Constraint> = wants.at(&path).collect();
        if satisfying(&at, &mut random.clone()).is_none() {
            wants.constraints.truncate(before);
            return;
        }
    }
}

/// A value that satisfies all constraints.
fn satisfying(wanted: &[&Constraint], random: &mut Random) -> Option<Json> {
    let candidates = wanted.iter().flat_map(|w| w.candidates(random)).collect::<Vec<_>>();
    candidates.into_iter().find(|c| wanted.iter().all(|w| w.holds(c)))
}

/// Formats a value as a model would: text without quotes, other values as JSON.
fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => shown(other),
    }
}

fn shown(value: &Json) -> String {
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
