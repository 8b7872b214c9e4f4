//! Who may do what: callers with their keys and rights, and which requests a browser of somebody else could have sent.

mod allowance;
mod caller;
mod day_spending;
mod key_ring;
mod origin;
mod sent_key;

pub use allowance::{COST_LABEL, FlowRule, KEY_LABEL, StartAllowance, UsageGate};
pub use caller::{Caller, KeyRights, KeyScope, KeyScopes};
pub use key_ring::{KeyError, KeyRecord, KeyRing};
pub use origin::{AllowedOrigins, check_origin, parse_host_name, parse_page_origin};
pub use sent_key::find_sent_key;
