//! Finds and ends the processes that commands start.
//!
//! A command runs in a process group, and killing the group ends nearly everything. Processes that have left the group
//! (`setsid`, daemons) are found on Linux after a call of [`adopt_orphans`]: this process then inherits every orphan among its
//! descendants, and each command and its descendants carry a mark in their environment. A process that also removes the
//! mark is ended with the last command. On other systems, only groups are ended.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use tokio::process::{Child, Command};
use trefoil_runtime::locks::lock;

/// The environment variable with the mark of the command that a process belongs to.
const MARK: &str = "TREFOIL_COMMAND";

/// The marks of the commands in progress, by the id of their first process, which is also the id of their group.
static UNDER_WAY: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());

fn under_way() -> MutexGuard<'static, BTreeMap<u32, String>> {
    lock(&UNDER_WAY)
}

/// Makes this process inherit the orphans of its descendants, so that none outlives the command that started it, and
/// [hides](hide_memory) its memory and environment from them. For a command-line process that starts no other children; a host
/// with other children must decide this itself.
pub fn adopt_orphans() {
    hide_memory();
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpid, set_child_subreaper};
        let adopts = set_child_subreaper(Some(getpid())).is_ok();
        linux::ADOPTS.store(adopts, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Protects this process's memory and environment, which contain its keys: other processes of the same user cannot read
/// them, and a crash writes no core dump. Processes of root can still read them. Only on Linux.
pub fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Ends every command in progress with everything that it started.
pub fn end_all() {
    let all: Vec<u32> = under_way().keys().copied().collect();
    for id in all {
        end(id);
    }
}

/// The processes of a command. Dropping this ends them.
#[derive(Debug)]
pub struct ProcessGroup(Option<u32>);

impl ProcessGroup {
    /// Starts a command in a group of its own. Nobody looks for strays meanwhile: a command that is not registered yet would be
    /// taken for one, and be reaped before its own end is read.
    pub(super) fn spawn(mut command: Command, mark: String) -> std::io::Result<(Child, Self)> {
        let mut commands = under_way();
        command.env(MARK, &mark);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        let id = child.id();
        if let Some(id) = id {
            commands.insert(id, mark);
        }
        Ok((child, Self(id)))
    }

    /// Whether [`end_all`] has ended it.
    pub(super) fn was_ended(&self) -> bool {
        matches!(self.0, Some(id) if !under_way().contains_key(&id))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            end(id);
        }
    }
}

fn end(id: u32) {
    #[cfg(unix)]
    kill_group(id);
    let mark = under_way().remove(&id);
    #[cfg(target_os = "linux")]
    if let Some(mark) = mark {
        linux::end_strays(id, &mark);
    }
    #[cfg(not(target_os = "linux"))]
    drop(mark);
}

#[cfg(unix)]
fn kill_group(id: u32) {
    if let Some(group) = pid(id) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(unix)]
fn pid(id: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(id).ok()?)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

    use super::{MARK, pid, under_way};

    /// Whether this process inherits orphans.
    pub(super) static ADOPTS: AtomicBool = AtomicBool::new(false);

    /// Maximum number of searches for strays. A process that forks faster than it is killed may survive.
    const ROUNDS: usize = 20;

    /// A process according to `/proc`.
    struct ProcEntry {
        id: u32,
        parent: u32,
        group: u32,
        dead: bool,
    }

    /// Ends the processes outside its group that a command has left behind.
    pub(super) fn end_strays(command: u32, mark: &str) {
        if !ADOPTS.load(Ordering::Relaxed) {
            return;
        }
        for _ in 0..ROUNDS {
            let strays = strays(command, mark);
            for stray in &strays {
                if let Some(pid) = pid(*stray) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            if strays.is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// The running strays of a command. Dead ones are reaped here, because nothing else waits for them.
    fn strays(command: u32, mark: &str) -> Vec<u32> {
        let own = std::process::id();
        let all = processes();
        let Some(group) = all.get(&own).map(|p| p.group) else { return Vec::new() };
        let under_way = under_way();
        // The ancestor of a process that is a direct child of this one.
        let top = |process: &ProcEntry| {
            let mut at = process.id;
            for _ in 0..all.len() {
                match all.get(&at) {
                    Some(p) if p.parent == own => return Some(at),
                    Some(p) => at = p.parent,
                    None => return None,
                }
            }
            None
        };
        let mut strays = Vec::new();
        for process in all.values().filter(|p| p.id != own && p.id != command) {
            let Some(top) = top(process).filter(|top| !under_way.contains_key(top)) else { continue };
            // This process's own group is controlled by its terminal.
            let left = process.group != group;
            if process.dead {
                if left
                    && top == process.id
                    && let Some(pid) = pid(process.id)
                {
                    let _ = waitpid(Some(pid), WaitOptions::NOHANG);
                }
                continue;
            }
            let mine = match marked(process.id) {
                Some(found) => found == mark,
                // Without a mark, its command is unknown, so it is ended when no command is left.
                None => left && under_way.is_empty(),
            };
            if mine {
                strays.push(process.id);
            }
        }
        strays
    }

    fn processes() -> BTreeMap<u32, ProcEntry> {
        let Ok(all) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
        let ids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(|id: u32| Some((id, process(id)?))).collect()
    }

    /// Parses `pid (name) state parent group …`; the name may contain any characters.
    fn process(id: u32) -> Option<ProcEntry> {
        let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let dead = matches!(fields.next()?, "Z" | "X");
        let mut number = || fields.next()?.parse().ok();
        Some(ProcEntry { id, parent: number()?, group: number()?, dead })
    }

    /// The mark of a process, if it still has one.
    fn marked(id: u32) -> Option<String> {
        let environment = std::fs::read(format!("/proc/{id}/environ")).ok()?;
        let mut all = environment.split(|b| *b == 0).filter_map(|e| std::str::from_utf8(e).ok());
        all.find_map(|e| Some(e.strip_prefix(MARK)?.strip_prefix('=')?.to_owned()))
    }
}
