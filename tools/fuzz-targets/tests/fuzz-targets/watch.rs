//! Calls a target, and reports where and why it panicked.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use fuzz_targets::Target;

thread_local! {
    /// The message of the panic during a call.
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Whether the invariant holds for an input; if not, the message and place of the panic.
pub(crate) fn holds(target: &Target, input: &[u8]) -> Result<(), String> {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let watched = MESSAGE.with_borrow_mut(|message| {
                message.as_mut().is_some_and(|m| {
                    *m = info.to_string();
                    true
                })
            });
            if !watched {
                before(info);
            }
        }));
    });
    MESSAGE.set(Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let message = MESSAGE.take().unwrap_or_default();
    result.map_err(|_| message)
}
