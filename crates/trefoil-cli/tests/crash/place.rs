//! Where the runs that are cut off are kept: in a file, or on a database server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use testbed::postgres::Server;

use crate::strace::{self, Kept};
use crate::world::Folder;

/// A store with nothing in it, from which each scene gets its own.
pub enum Prepared {
    File(PathBuf),
    Server(Arc<Server>, String),
}

/// The store of a scene.
pub enum Place {
    /// In memory, as waiting for a disk shows nothing about who is killed.
    File(Folder),
    Server {
        server: Arc<Server>,
        database: String,
    },
}

impl Prepared {
    /// A store of its own. `first`: nothing has been prepared in it.
    pub fn place(&self, first: bool) -> Place {
        match self {
            Self::File(prepared) => {
                let memory = Path::new("/dev/shm");
                let folder = if memory.is_dir() { Folder::within(memory) } else { Folder::new() };
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

impl Place {
    /// What `--store` gets.
    pub fn store(&self) -> String {
        match self {
            Self::File(folder) => folder.path().join("runs.db").to_str().unwrap().to_owned(),
            Self::Server { server, database } => server.local_address(database),
        }
    }

    /// The same where somebody can look at what a process left. Opening a file would tidy it up, so it is copied.
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

    /// The process that was killed is gone from here as well. `calls`: what `strace` wrote, if the power is to have failed, too.
    pub fn killed(&self, calls: Option<&Path>) {
        match self {
            Self::File(folder) => {
                if let Some(calls) = calls {
                    tear(&folder.path().join("runs.db-wal"), &std::fs::read_to_string(calls).unwrap());
                }
            }
            Self::Server { server, database } => {
                // What reached the server before the kill may still be at work there.
                let others = "SELECT count(*) FROM pg_stat_activity \
                              WHERE datname = current_database() AND pid <> pg_backend_pid()";
                let began = Instant::now();
                while server.sql(database, others).trim() != "0" {
                    assert!(began.elapsed() < Duration::from_secs(60), "the server still works for who was killed");
                    std::thread::sleep(Duration::from_millis(5));
                }
                // Nothing but time tells others that the process is gone: its lease ends.
                let table = server.sql(database, "SELECT to_regclass('trefoil.run')");
                if !table.trim().is_empty() {
                    server.sql(database, "UPDATE trefoil.run SET lease_until = 0 WHERE lease_until IS NOT NULL");
                }
            }
        }
    }

    /// Where something is, if it is in the store.
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

/// Cuts the log in the last write that may not have reached the disk.
fn tear(log: &Path, calls: &str) {
    if let Some((at, length)) = strace::unsure(calls, log)
        && let Ok(file) = std::fs::OpenOptions::new().write(true).open(log)
        && file.metadata().unwrap().len() >= at + length
    {
        file.set_len(at + length / 2).unwrap();
    }
}
