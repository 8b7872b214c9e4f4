//! The requests of runs to their clients for the results of tools, and what became of them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value as Json;
use tokio::sync::oneshot;
use trefoil_runtime::locks::lock;

/// The most requests that are remembered, for repeated and late results.
const REMEMBERED: usize = 10_000;

/// A result from a client.
pub type ClientResult = Result<Json, String>;

/// What becomes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultReceipt {
    /// The run goes on with it.
    Accepted,
    /// The run has had one before.
    Repeated,
    /// Nobody waits for it any more: its time is over, or its run was cancelled.
    Gone,
    /// There is no such request.
    Unknown,
}

/// How a request stands.
enum RequestStage {
    /// Until this time.
    Open(oneshot::Sender<ClientResult>, Instant),
    Answered,
    /// Its time is over, or its run was cancelled.
    Gone,
}

/// The requests to the clients of the runs of this process.
#[derive(Default)]
pub struct ClientToolBoard(Mutex<BoardState>);

#[derive(Default)]
struct BoardState {
    requests: HashMap<(String, String), RequestStage>,
    /// In the order in which they were made.
    order: std::collections::VecDeque<(String, String)>,
}

impl ClientToolBoard {
    /// Adds a request, which is open until this time. Old ones that are settled are forgotten.
    pub fn open_request(&self, key: (String, String), deadline: Instant) -> oneshot::Receiver<ClientResult> {
        let (sender, receiver) = oneshot::channel();
        let mut state = lock(&self.0);
        while state.order.len() >= REMEMBERED
            && let Some(oldest) = state.order.pop_front()
        {
            match state.requests.get(&oldest) {
                Some(RequestStage::Open(..)) => state.order.push_back(oldest),
                _ => drop(state.requests.remove(&oldest)),
            }
        }
        state.order.push_back(key.clone());
        state.requests.insert(key, RequestStage::Open(sender, deadline));
        receiver
    }

    /// Nobody waits for it any more.
    pub fn close_request(&self, key: &(String, String)) {
        let mut state = lock(&self.0);
        if let Some(stage @ RequestStage::Open(..)) = state.requests.get_mut(key) {
            *stage = RequestStage::Gone;
        }
    }

    /// Passes a result on.
    pub fn take_result(&self, key: &(String, String), result: ClientResult) -> ResultReceipt {
        let mut state = lock(&self.0);
        let Some(stage) = state.requests.get_mut(key) else { return ResultReceipt::Unknown };
        let (is_taken, receipt) = match std::mem::replace(stage, RequestStage::Gone) {
            // Whoever waits may be told later that the time is over.
            RequestStage::Open(_, deadline) if Instant::now() >= deadline => (false, ResultReceipt::Gone),
            RequestStage::Open(sender, _) => (sender.send(result).is_ok(), ResultReceipt::Accepted),
            RequestStage::Answered => (true, ResultReceipt::Repeated),
            RequestStage::Gone => (false, ResultReceipt::Gone),
        };
        if !is_taken {
            return ResultReceipt::Gone;
        }
        *stage = RequestStage::Answered;
        receipt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_result_counts_and_repeats_are_accepted() {
        let board = ClientToolBoard::default();
        let key = ("run".to_owned(), "req".to_owned());
        let status = |key: &(String, String)| board.take_result(key, Ok(Json::Null));
        assert_eq!(status(&key), ResultReceipt::Unknown);
        let later = Instant::now() + std::time::Duration::from_secs(60);
        let mut result = board.open_request(key.clone(), later);
        assert_eq!(status(&key), ResultReceipt::Accepted);
        assert_eq!(result.try_recv().unwrap(), Ok(Json::Null));
        board.close_request(&key);
        assert_eq!(status(&key), ResultReceipt::Repeated);
        let late = ("run".to_owned(), "late".to_owned());
        let _result = board.open_request(late.clone(), later);
        board.close_request(&late);
        assert_eq!(status(&late), ResultReceipt::Gone);
        let over = ("run".to_owned(), "over".to_owned());
        let _result = board.open_request(over.clone(), Instant::now());
        assert_eq!(status(&over), ResultReceipt::Gone);
    }
}
