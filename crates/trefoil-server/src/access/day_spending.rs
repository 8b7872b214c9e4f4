//! What counts for the budget of a day although no run of that day in the store has spent it: what runs had spent that were deleted, and
//! what runs may spend that others have started, or that were started on an earlier day, and were resumed.

use std::sync::Arc;

use trefoil_store::{Document, Store, StoreResult};

/// The collection of documents with these sums.
const COLLECTION: &str = "day-spending";
/// A day in milliseconds.
pub const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Whose budget it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetSubject {
    /// A key, by its id.
    Key(String),
    /// A flow.
    Flow(String),
}

/// The sums in a store.
pub struct DaySpending {
    store: Arc<dyn Store>,
}

impl BudgetSubject {
    fn document_name(&self, day: u64) -> String {
        match self {
            Self::Key(key) => format!("{day} key {key}"),
            Self::Flow(flow) => format!("{day} flow {flow}"),
        }
    }
}

impl DaySpending {
    /// Those of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// When the day has begun: milliseconds since 1970-01-01 UTC.
    pub fn start_of_day(&self) -> u64 {
        let now = self.store.clock().wall_ms();
        now - now % DAY_MS
    }

    /// What else counts today, in millionths of a dollar.
    pub async fn read_sum(&self, subject: &BudgetSubject) -> StoreResult<u64> {
        let today = self.start_of_day();
        let document = self.store.read_document(COLLECTION, &subject.document_name(today), today).await?;
        Ok(document.map_or(0, |document| read_micro(&document)))
    }

    /// Adds to what else counts today.
    pub async fn add_cost(&self, subject: &BudgetSubject, micro: u64) -> StoreResult<()> {
        if micro == 0 {
            return Ok(());
        }
        let today = self.start_of_day();
        let name = subject.document_name(today);
        loop {
            let before = self.store.read_document(COLLECTION, &name, today).await?;
            let (version, sum) = before.map_or((0, 0), |before| (before.version, read_micro(&before)));
            let document = Document {
                collection: COLLECTION.to_owned(),
                name: name.clone(),
                version,
                value: sum.saturating_add(micro).to_string(),
                expires: Some(today + 2 * DAY_MS),
            };
            if self.store.write_document(document).await?.is_some() {
                return Ok(());
            }
        }
    }
}

/// What cannot be read counts as if it used up every budget.
fn read_micro(document: &Document) -> u64 {
    document.value.parse().unwrap_or(u64::MAX)
}
