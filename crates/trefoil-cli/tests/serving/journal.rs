//! What the journals and the provider say after all: every run has ended, and nothing was paid for twice.

use std::collections::BTreeMap;

use trefoil::store::{RunFilter, Status};
use trefoil_machine::EntryKind;

use crate::scene::Scene;

/// What is in the store.
#[derive(Debug, Default)]
pub struct Paid {
    /// How many calls were completed, and how many were lost on their way.
    pub calls: usize,
    pub lost: usize,
    /// The runs with their label `n`.
    pub runs: BTreeMap<String, String>,
}

impl Scene {
    /// Requires that all runs are completed, that no two of them have the same label `n`, and that each completed call was requested
    /// once, and once more for each time that it was lost. Prompts must differ between runs.
    pub fn paid_once(&self) -> Paid {
        let mut asked: BTreeMap<String, usize> = BTreeMap::new();
        for prompt in self.provider.asked_by_now() {
            *asked.entry(prompt).or_default() += 1;
        }
        let store = self.store();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut paid = Paid::default();
        runtime.block_on(async {
            let mut after = None;
            loop {
                let page = store.list_runs(&RunFilter::default(), after, 200).await.unwrap();
                for record in &page.runs {
                    assert_eq!(record.status, Status::Completed, "{record:?}: {}", self.log());
                    let label = record.labels.iter().find(|(key, _)| key == "n").map(|(_, value)| value.clone());
                    let label = label.unwrap_or_else(|| record.run.clone());
                    assert!(!paid.runs.values().any(|other| *other == label), "`{label}` was started twice");
                    paid.runs.insert(record.run.clone(), label);
                    let (mut next, mut completed, mut lost) = (0, BTreeMap::new(), BTreeMap::<String, usize>::new());
                    loop {
                        let entries = store.read_entries(&record.run, next).await.unwrap();
                        let Some(last) = entries.last() else { break };
                        next = last.seq + 1;
                        for entry in entries {
                            match entry.kind {
                                EntryKind::Scheduled { key, .. } => {
                                    assert!(!completed.contains_key(&key.to_string()), "`{key}` began after its end");
                                }
                                EntryKind::Completed { key, value, .. } => {
                                    let text = value.exact_value().to_text().to_string();
                                    let before = completed.insert(key.to_string(), text);
                                    assert_eq!(before, None, "`{key}` has two ends");
                                }
                                EntryKind::Resumed { lost: of, .. } => {
                                    for one in of {
                                        *lost.entry(one.key.to_string()).or_default() += 1;
                                    }
                                }
                                _ => {}
                            }
                        }
                    }
                    for (key, answer) in &completed {
                        // The provider repeats the prompt, so its answer identifies the request.
                        let times = asked.get(answer).copied().unwrap_or(0);
                        let lost = lost.get(key).copied().unwrap_or(0);
                        assert!((1..=1 + lost).contains(&times), "`{answer}`: asked {times} times, lost {lost} times");
                        paid.calls += 1;
                        paid.lost += lost;
                    }
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let health = store.check_integrity().await.unwrap();
            assert_eq!(health.problems, Vec::<String>::new());
        });
        paid
    }
}
