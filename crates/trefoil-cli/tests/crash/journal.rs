//! A run's journal, as printed by `trefoil runs export`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

#[derive(Debug, Clone, Default)]
pub struct Journal(pub Vec<Json>);

impl Journal {
    fn of<'j>(&'j self, kind: &'j str) -> impl Iterator<Item = (u64, &'j Json)> {
        self.0.iter().filter_map(move |entry| Some((entry["seq"].as_u64()?, entry["entry"].get(kind)?)))
    }

    fn sorts(&self) -> BTreeMap<&str, &str> {
        self.of("scheduled").filter_map(|(_, entry)| Some((entry["key"].as_str()?, entry["sort"].as_str()?))).collect()
    }

    /// The answers of models.
    pub fn answers(&self) -> Vec<&str> {
        let sorts = self.sorts();
        let completed = self.of("completed").filter_map(|(_, entry)| {
            let key = entry["key"].as_str()?;
            // A turn with tool calls is an object that contains its text.
            let text = || entry["value"].as_str().or(entry["value"]["text"].as_str()).expect("models answer with text");
            (sorts.get(key) == Some(&"model")).then(text)
        });
        completed.collect()
    }

    /// Scheduled activities of one kind without an end: the key, and the last entry that scheduled each.
    pub fn open(&self, sort: &str) -> Vec<(String, u64)> {
        let sorts = self.sorts();
        let mut open = BTreeMap::new();
        for entry in &self.0 {
            let Some((kind, what)) = entry["entry"].as_object().and_then(|entry| entry.iter().next()) else { continue };
            let Some(key) = what["key"].as_str().filter(|key| sorts.get(key) == Some(&sort)) else { continue };
            match kind.as_str() {
                "scheduled" | "restarted" => drop(open.insert(key.to_owned(), entry["seq"].as_u64().unwrap())),
                "completed" | "failed" => drop(open.remove(key)),
                _ => {}
            }
        }
        open.into_iter().collect()
    }

    /// How often a step was repeated because its outcome was unknown.
    pub fn restarts(&self, step: &str) -> usize {
        self.of("restarted").filter(|(_, entry)| entry["key"].as_str().is_some_and(|key| key.contains(step))).count()
    }

    /// Whether it ended.
    pub fn ended(&self) -> bool {
        self.of("finished").next().is_some()
    }
}
