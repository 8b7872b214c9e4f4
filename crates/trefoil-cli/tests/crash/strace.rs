//! Stops a process at a chosen system call, without any code in the process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// What happens at a system call, before it is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The process is killed.
    Kill,
    /// The disk is full from then on.
    Full,
    /// Syncing to the disk fails.
    Broken,
}

/// The n-th call (from 1) of this name by any of the threads.
#[derive(Debug, Clone)]
pub struct Point {
    pub call: &'static str,
    pub n: usize,
    pub what: What,
}

/// Where runs are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    InFile,
    OnServer,
}

impl Kept {
    pub fn place(self) -> &'static str {
        match self {
            Self::InFile => "in a file",
            Self::OnServer => "on a server",
        }
    }

    /// The call that stores what a run appends: a commit, or a request to the server.
    pub fn append(self) -> &'static str {
        match self {
            Self::InFile => "fsync",
            Self::OnServer => "sendto",
        }
    }

    /// A call that a run repeats once it is in the store: a commit, or a request to the provider.
    pub fn beat(self) -> &'static str {
        match self {
            Self::InFile => "fsync",
            Self::OnServer => "writev",
        }
    }
}

/// The relevant calls: writes to the disk, communication with other processes, and starts of processes.
const CALLS: &[&str] = &[
    "fsync",
    "pwrite64",
    "ftruncate",
    "unlink",
    "connect",
    "sendto",
    "writev",
    "recvfrom",
    "write",
    "clone3",
    "pidfd_open",
];

/// Whether `strace` is available.
pub fn exists() -> bool {
    Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success())
}

/// Wraps the command so that it stops at a point; its writes and syncs until then are logged to a file.
pub fn stopped(command: &Command, at: &Point, log: &Path) -> Command {
    let Point { call, n, what } = at;
    let inject = match what {
        What::Kill => format!("inject={call}:signal=KILL:when={n}"),
        What::Full => format!("inject={call}:error=ENOSPC:when={n}+"),
        What::Broken => format!("inject={call}:error=EIO:when={n}"),
    };
    let trace = format!("trace={call},pwrite64,fsync");
    under(command, &["-y", "-o", log.to_str().unwrap(), "-s", "0", "-e", &trace, "-e", &inject])
}

/// Wraps the command so that its calls are logged to a file.
pub fn watched(command: &Command, log: &Path) -> Command {
    // Other calls do not stop the process, which takes long. Nothing can be injected like this.
    under(
        command,
        &["--seccomp-bpf", "-o", log.to_str().unwrap(), "-s", "0", "-e", &format!("trace={}", CALLS.join(","))],
    )
}

fn under(command: &Command, options: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    strace.arg("-f").args(options).arg(command.get_program()).args(command.get_args());
    crate::world::bare(&mut strace);
    strace.current_dir(command.get_current_dir().unwrap());
    // Only the command's own variables, because its environment is cleared.
    strace.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    strace
}

/// The offset and length of the last write to a file, if it was not synced: a power failure may tear it.
pub fn unsure(log: &str, file: &Path) -> Option<(u64, u64)> {
    let name = format!("<{}>", file.display());
    let mut begun: BTreeSet<&str> = BTreeSet::new();
    let mut last = None;
    for line in log.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let ended = call.ends_with("= 0");
        if call.starts_with("pwrite64(") && call.contains(&name) {
            let number = |text: &str| text.trim().split([')', ' ']).next().and_then(|n| n.parse().ok());
            let mut numbers = call.split(',').skip(2).map(number);
            if let (Some(Some(length)), Some(Some(at))) = (numbers.next(), numbers.next()) {
                last = Some((at, length));
            }
        } else if call.starts_with("fsync(") && call.contains(&name) {
            begun.insert(thread);
        }
        if ended && call.contains("fsync") && begun.remove(thread) {
            last = None;
        }
    }
    last
}

/// A call in a log: its thread, its name, its number among calls of that name in the thread, and its first argument.
struct Call<'l> {
    thread: &'l str,
    name: &'static str,
    n: usize,
    first: &'l str,
}

fn read(log: &str) -> Vec<Call<'_>> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = rest.trim_start().split_once('(') else { continue };
        let Some(name) = CALLS.iter().find(|call| **call == name) else { continue };
        let n = counts.entry((thread, name)).or_default();
        *n += 1;
        let first = arguments.split([',', ' ', ')']).next().unwrap_or_default();
        calls.push(Call { thread, name, n: *n, first });
    }
    calls
}

/// The points to kill at: every `fsync` (a commit), the first and last write before it, and everything that leaves the
/// process or starts something; and a selection of output, input and further writes. Input from a database server
/// includes the confirmation of a commit: a process killed there does not know that the commit succeeded.
///
/// `strace` counts the calls of each thread separately, so a point is reached by the first thread that gets there.
pub fn points(log: &str, shown: bool, kept: Kept) -> Vec<Point> {
    let calls = read(log);
    let all = |name: &str, but: &dyn Fn(&Call<'_>) -> bool| {
        let mut numbers: Vec<usize> = calls.iter().filter(|c| c.name == name && but(c)).map(|c| c.n).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let mut points = Vec::new();
    let mut add = |call: &'static str, numbers: Vec<usize>| {
        points.extend(numbers.into_iter().map(|n| Point { call, n, what: What::Kill }));
    };
    for call in ["fsync", "ftruncate", "unlink", "connect", "sendto", "writev", "clone3", "pidfd_open"] {
        add(call, all(call, &|_| true));
    }
    let answers = if kept == Kept::OnServer { usize::MAX } else { 6 };
    add("recvfrom", some(all("recvfrom", &|_| true), answers));
    if shown {
        add("write", some(all("write", &|c| c.first == "1"), 6));
    }
    let mut writes = some(all("pwrite64", &|_| true), 4);
    writes.extend(around_commits(&calls));
    writes.sort_unstable();
    writes.dedup();
    add("pwrite64", writes);
    points
}

/// The first and the last write before each `fsync` of a thread.
fn around_commits(calls: &[Call<'_>]) -> Vec<usize> {
    let mut open: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut writes = Vec::new();
    for call in calls {
        match call.name {
            "pwrite64" => {
                let (_, last) = open.entry(call.thread).or_insert((call.n, call.n));
                *last = call.n;
            }
            "fsync" => writes.extend(open.remove(call.thread).into_iter().flat_map(|(first, last)| [first, last])),
            _ => {}
        }
    }
    writes
}

/// An even selection of at most `most` items.
pub fn some<T: Clone>(all: Vec<T>, most: usize) -> Vec<T> {
    if all.len() <= most {
        return all;
    }
    (0..most).map(|i| all[i * (all.len() - 1) / (most - 1).max(1)].clone()).collect()
}
