//! A command on a terminal of its own.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::world::Folder;

/// Longer than any test takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A run on a terminal.
pub struct Screen {
    pub child: Child,
    pub keys: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Screen {
    pub fn new(folder: &Folder, args: &[&str], columns: u16) -> Self {
        Self::with(folder, args, columns, &[])
    }
    pub fn with(folder: &Folder, args: &[&str], columns: u16, env: &[(&str, &str)]) -> Self {
        let mut command = folder.command(args);
        command.env("NO_COLOR", "1").envs(env.iter().copied());
        Self::of(command, columns)
    }
    /// Starts a command on a terminal.
    pub fn of(mut command: Command, columns: u16) -> Self {
        let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&own).unwrap();
        unlockpt(&own).unwrap();
        tcsetwinsize(&own, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&own, Vec::new()).unwrap();
        let other = || Stdio::from(rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap());
        command.env("TERM", "xterm").env("LANG", "C.UTF-8");
        command.stdin(other()).stdout(other()).stderr(other());
        let child = command.spawn().unwrap();
        drop(command);
        let keys = File::from(own);
        let (mut reader, seen) = (keys.try_clone().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let into = seen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // On Linux, the end of a terminal is an error.
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                into.lock().unwrap().extend_from_slice(&bytes[..n]);
            }
        });
        Self { child, keys, seen }
    }
    pub fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }
    pub fn waits_for(&self, text: &str) -> &Self {
        self.waits_for_nth(text, 1)
    }
    pub fn waits_for_nth(&self, text: &str, count: usize) -> &Self {
        let began = Instant::now();
        while self.seen().matches(text).count() < count {
            assert!(began.elapsed() < LIMIT, "`{text}` is not on the screen: {}", self.seen());
            std::thread::sleep(Duration::from_millis(5));
        }
        self
    }
    pub fn types(&self, keys: &str) -> &Self {
        (&self.keys).write_all(keys.as_bytes()).unwrap();
        self
    }
    /// As Ctrl-C does.
    pub fn interrupt(&self) -> &Self {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self
    }
    /// The exit code, and all output.
    pub fn ends(mut self) -> (i32, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > LIMIT {
                self.child.kill().unwrap();
                panic!("still running: {}", self.seen());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // The last output may not have been read yet.
        let mut before = usize::MAX;
        while before != self.seen.lock().unwrap().len() {
            before = self.seen.lock().unwrap().len();
            std::thread::sleep(Duration::from_millis(50));
        }
        (status.code().unwrap_or(-1), self.seen())
    }
}
