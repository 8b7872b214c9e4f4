//! The stores of the runs that are cut off: a file, or a database server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use testbed::postgres::Server;

use crate::strace::{self, Kept};
use crate::world::Folder;

/// An empty store that is copied for each scene.
pub enum Prepared {
    File(PathBuf),
    Server(Arc<Server>, String),
}

/// The store of a scene.
pub enum Place {
    /// In memory, because waiting for a disk makes no difference to these tests.
    File(Folder),
    Server {
        server: Arc<Server>,
        database: String,
    },
}

impl Prepared {
    /// Creates a separate store. `first`: there is no prepared store.
    pub fn place(&self, first: bool) -> Place {
        match self {
            Self::File(prepared) => {
                let folder = in_memory();
                if !first {
                    std::fs::copy(prepared, folder.path().join("runs.db")).unwrap();
                }
                Place::File(folder)
            }
            Self::Server(server, prepared) => {
                let database = if first { server.database() } else { server.copy(prepared) };
                Place::Server { server: server.clone(), database }
            }
        }
    }

    pub fn kept(&self) -> Kept {
        match self {
            Self::File(_) => Kept::InFile,
            Self::Server(..) => Kept::OnServer,
        }
    }
}

fn in_memory() -> Folder {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { Folder::within(memory) } else { Folder::new() }
}

impl Place {
    pub fn kept(&self) -> Kept {
        match self {
            Self::File(_) => Kept::InFile,
            Self::Server { .. } => Kept::OnServer,
        }
    }

    /// A copy of what all processes left, with the files by which they are known to have ended.
    pub fn copied(&self) -> Self {
        match self {
            Self::File(folder) => {
                let copy = in_memory();
                for name in ["runs.db", "runs.db-wal"] {
                    let _ = std::fs::copy(folder.path().join(name), copy.path().join(name));
                }
                for owner in std::fs::read_dir(folder.path().join("runs.db-owners")).into_iter().flatten() {
                    let owner = owner.unwrap();
                    let name = format!("runs.db-owners/{}", owner.file_name().to_str().unwrap());
                    copy.write(&name, std::fs::read(owner.path()).unwrap());
                }
                Self::File(copy)
            }
            Self::Server { server, database } => {
                Self::Server { server: server.clone(), database: server.copy(database) }
            }
        }
    }

    /// The value for `--store`.
    pub fn store(&self) -> String {
        match self {
            Self::File(folder) => folder.path().join("runs.db").to_str().unwrap().to_owned(),
            Self::Server { server, database } => server.local_address(database),
        }
    }

    /// The store for inspecting what a process left. A file is copied first, because opening it would modify it.
    pub fn left(&self) -> String {
        let Self::File(folder) = self else { return self.store() };
        let copy = folder.path().join("look");
        std::fs::create_dir_all(&copy).unwrap();
        for name in ["runs.db", "runs.db-wal"] {
            let _ = std::fs::remove_file(copy.join(name));
            let _ = std::fs::copy(folder.path().join(name), copy.join(name));
        }
        copy.join("runs.db").to_str().unwrap().to_owned()
    }

    /// Called after a process was killed. `calls`: the log of `strace`, to simulate a power failure as well.
    pub fn killed(&self, calls: Option<&Path>) {
        match self {
            Self::File(folder) => {
                if let Some(calls) = calls {
                    tear(&folder.path().join("runs.db-wal"), &std::fs::read_to_string(calls).unwrap());
                }
            }
            Self::Server { server, database } => {
                // Statements that reached the server before the kill may still be running.
                let others = "SELECT count(*) FROM pg_stat_activity \
                              WHERE datname = current_database() AND pid <> pg_backend_pid()";
                let began = Instant::now();
                while server.sql(database, others).trim() != "0" {
                    assert!(began.elapsed() < Duration::from_secs(60), "the server still works for who was killed");
                    std::thread::sleep(Duration::from_millis(5));
                }
                // On a server, other processes notice the end of a process only when its lease expires.
                let table = server.sql(database, "SELECT to_regclass('trefoil.run')");
                if !table.trim().is_empty() {
                    server.sql(database, "UPDATE trefoil.run SET lease_until = 0 WHERE lease_until IS NOT NULL");
                }
            }
        }
    }

    /// Where a text is, if it is in the store.
    pub fn holds(&self, secret: &str) -> Option<String> {
        match self {
            Self::File(folder) => ["runs.db", "runs.db-wal", "runs.db-shm"].into_iter().find_map(|name| {
                let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
                bytes.windows(secret.len()).any(|part| part == secret.as_bytes()).then(|| name.to_owned())
            }),
            Self::Server { server, database } => server.dump(database).contains(secret).then(|| database.clone()),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Server { server, database } = self
            && !std::thread::panicking()
        {
            server.remove(database);
        }
    }
}

/// Truncates the log within the last write that may not have reached the disk.
fn tear(log: &Path, calls: &str) {
    if let Some((at, length)) = strace::unsure(calls, log)
        && let Ok(file) = std::fs::OpenOptions::new().write(true).open(log)
        && file.metadata().unwrap().len() >= at + length
    {
        file.set_len(at + length / 2).unwrap();
    }
}
