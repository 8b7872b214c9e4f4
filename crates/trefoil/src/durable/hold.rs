//! Taking a run over. Leases run out by themselves; on one machine nobody has to wait for that.

use std::sync::Arc;

use trefoil_runtime::Random as _;
use trefoil_runtime::ports::SystemRandom;
use trefoil_store::{Hold, Owner, Result, StoreError};

/// A name for this process that no other process has, ever: machine, number of the process, something random.
pub fn process() -> String {
    format!("{}:{}:{:016x}", machine(), std::process::id(), SystemRandom.next())
}

/// Holds a run for this process. The lease of a process of this machine that has ended counts for nothing.
pub async fn hold(owner: &Arc<Owner>, run: &str) -> Result<Hold> {
    match owner.resume(run).await {
        Err(StoreError::Held { owner: other, .. }) if is_gone(&other) => owner.succeed(run, other).await,
        held => held,
    }
}

fn is_gone(process: &str) -> bool {
    let mut parts = process.split(':');
    let (Some(host), Some(number)) = (parts.next(), parts.next().and_then(|number| number.parse().ok())) else {
        return false;
    };
    host == machine() && !is_running(number)
}

#[cfg(unix)]
fn machine() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    name.replace(':', "-")
}

/// Whether there is a process of this number. One that uses the number again makes others wait for the lease.
#[cfg(unix)]
fn is_running(number: i32) -> bool {
    let Some(number) = rustix::process::Pid::from_raw(number) else { return false };
    !matches!(rustix::process::test_kill_process(number), Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn machine() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default().replace(':', "-")
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_machine_can_be_known_to_have_ended() {
        assert!(!is_gone(&process()), "this one runs");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let ended = format!("{}:{}:0", machine(), child.id());
        child.wait().unwrap();
        assert!(is_gone(&ended));
        assert!(!is_gone(&ended.replace(&machine(), "another-machine")));
        assert!(!is_gone("somebody"));
    }
}
