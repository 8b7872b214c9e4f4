//! How many language servers run at a time: each has a thread, and the texts of the folder in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http::StatusCode;
use trefoil_runtime::locks::lock;

use crate::access::Caller;
use crate::problem::{ApiResult, Problem};

/// The most at a time.
const MOST: usize = 32;
/// The most of a key.
const MOST_OF_CALLER: usize = 8;

/// How many sessions each caller has.
type SlotCounts = HashMap<Option<Arc<str>>, usize>;

/// The editors that are open.
#[derive(Debug, Default)]
pub struct EditorSlots(Arc<Mutex<SlotCounts>>);

/// That an editor is open, until this is dropped.
#[derive(Debug)]
pub struct EditorSlot {
    counts: Arc<Mutex<SlotCounts>>,
    key: Option<Arc<str>>,
}

impl EditorSlots {
    /// Makes room for another one.
    ///
    /// # Errors
    ///
    /// 429 if there are too many.
    pub fn take_slot(&self, caller: &Caller) -> ApiResult<EditorSlot> {
        let mut counts = lock(&self.0);
        let own = counts.get(&caller.key).copied().unwrap_or_default();
        if own >= MOST_OF_CALLER || counts.values().sum::<usize>() >= MOST {
            let detail = match own >= MOST_OF_CALLER {
                true => format!("the key has {MOST_OF_CALLER} editors open"),
                false => format!("{MOST} editors are open"),
            };
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_SESSIONS", detail);
            return Err(problem.with_help("close an editor that is not used").with_retry_after(5));
        }
        counts.insert(caller.key.clone(), own + 1);
        Ok(EditorSlot { counts: self.0.clone(), key: caller.key.clone() })
    }
}

impl Drop for EditorSlot {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_key_nor_all_of_them_have_more_than_their_number() {
        let slots = EditorSlots::default();
        let caller = |key: &str| Caller { key: Some(key.into()), ..Caller::local_user("") };
        let mut open: Vec<EditorSlot> = Vec::new();
        for _ in 0..MOST_OF_CALLER {
            open.push(slots.take_slot(&caller("a")).unwrap());
        }
        assert_eq!(slots.take_slot(&caller("a")).unwrap_err().status, 429);
        drop(open.pop());
        open.push(slots.take_slot(&caller("a")).unwrap());
        for key in ["b", "c", "d"] {
            for _ in 0..MOST_OF_CALLER {
                open.push(slots.take_slot(&caller(key)).unwrap());
            }
        }
        assert_eq!(slots.take_slot(&caller("e")).unwrap_err().status, 429);
        open.clear();
        assert!(lock(&slots.0).is_empty());
    }
}
