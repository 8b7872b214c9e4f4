//! A real Postgres server from this machine's packages: in a temporary folder, on a free port of the loopback address,
//! and ended with the test in every case.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The user and password for connections over the network.
pub const USER: &str = "tester";
pub const PASSWORD: &str = "Kx7-Qd2";

/// A server.
pub struct Server {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    /// Whether commits wait for the disk.
    durable: bool,
    running: Mutex<Option<Child>>,
    databases: AtomicU32,
}

/// The server that all tests of this process share. `None` if Postgres is not installed, which is printed; if
/// `TREFOIL_POSTGRES` is set, as in CI, the test fails instead.
pub fn server() -> Option<Arc<Server>> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(Server::start(false)?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

impl Server {
    /// Starts a server for a single test. `durable`: commits wait for the disk.
    #[allow(clippy::disallowed_methods, reason = "whoever runs the tests says whether it may be skipped")]
    pub fn start(durable: bool) -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(std::env::var_os("TREFOIL_POSTGRES").is_none(), "Postgres is not installed");
            untested::skipped("Postgres is not installed (Debian: `apt-get install postgresql`)");
            return None;
        };
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("trefoil-pg-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the server");
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&folder));
        }
        let secret = folder.join("password");
        std::fs::write(&secret, PASSWORD).expect("a file for the password");
        let data = folder.join("data");
        let mut make = as_somebody(&programs.join("initdb"));
        make.arg("-D").arg(&data).args([
            "-U",
            USER,
            "--no-sync",
            "-E",
            "UTF8",
            "--locale",
            "C",
            "--auth-local",
            "trust",
        ]);
        make.args(["--auth-host", "scram-sha-256", "--pwfile"]).arg(&secret);
        run(&mut make);
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let server = Self { folder, programs, port, durable, running: Mutex::default(), databases: AtomicU32::new(0) };
        server.begin();
        Some(server)
    }

    /// Starts it, and returns when it accepts connections.
    pub fn begin(&self) {
        // It ends when its standard input is closed, at the latest together with this process.
        let script = "\"$@\" & server=$!; cat >/dev/null; kill -QUIT $server; wait";
        let mut command = as_somebody(Path::new("sh"));
        command.args(["-c", script, "sh"]).arg(self.programs.join("postgres")).arg("-D").arg(self.folder.join("data"));
        command.arg("-k").arg(&self.folder).args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "max_connections=200", "-c", if self.durable { "fsync=on" } else { "fsync=off" }]);
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log")).expect("a log");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        *self.running.lock().expect("nobody panicked with it") = Some(command.spawn().expect("the server starts"));
        let began = Instant::now();
        while !self.answers() {
            assert!(began.elapsed() < Duration::from_secs(60), "the server does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Gives it a certificate for `localhost`, and allows only encrypted connections over the network. Returns the file
    /// of the certificate authority, which is not trusted yet.
    pub fn encrypt(&self) -> PathBuf {
        let (data, authority) = (self.folder.join("data"), self.folder.join("authority.crt"));
        let script = "\
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority \
              -keyout authority.key -out \"$1\" -addext keyUsage=critical,keyCertSign &&
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
              -keyout server.key -out server.csr &&
            printf 'subjectAltName=DNS:localhost\\nextendedKeyUsage=serverAuth\\n' >server.ext &&
            openssl x509 -req -in server.csr -CA \"$1\" -CAkey authority.key -CAcreateserial -days 2 \
              -extfile server.ext -out server.crt &&
            printf 'local all all trust\\nhostssl all all all scram-sha-256\\n' >pg_hba.conf";
        let mut make = as_somebody(Path::new("sh"));
        let inside = format!("cd \"$0\" && {script}");
        run(make.args(["-c", &inside]).arg(&data).arg(&authority));
        self.sql("postgres", "ALTER SYSTEM SET ssl = on");
        self.sql("postgres", "SELECT pg_reload_conf()");
        let began = Instant::now();
        while self.sql("postgres", "SHOW ssl").trim() != "on" {
            assert!(began.elapsed() < Duration::from_secs(60), "the server does not encrypt: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        authority
    }

    /// Stops it like a crash: data that was not committed is lost.
    pub fn crash(&self) {
        if let Some(mut child) = self.running.lock().expect("nobody panicked with it").take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }

    fn answers(&self) -> bool {
        let mut ask = Command::new(self.programs.join("pg_isready"));
        ask.arg("-q").arg("-h").arg(&self.folder).args(["-p", &self.port.to_string()]);
        ask.status().is_ok_and(|status| status.success())
    }

    /// Its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Creates an empty database and returns its name.
    pub fn database(&self) -> String {
        let name = format!("runs_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Creates a copy of another database and returns its name. There must be no connections to the original.
    pub fn copy(&self, of: &str) -> String {
        let name = format!("runs_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {of}"));
        name
    }

    /// Removes a database, even if there are connections to it.
    pub fn remove(&self, database: &str) {
        self.sql("postgres", &format!("DROP DATABASE {database} WITH (FORCE)"));
    }

    /// The address of a database over the network, with the password.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// The address without the password.
    pub fn address_without_password(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// The address through a Unix socket, which needs no password.
    pub fn local_address(&self, database: &str) -> String {
        format!("postgres://{USER}@/{database}?host={}&port={}", self.folder.display(), self.port)
    }

    /// The contents of a database as text.
    pub fn dump(&self, database: &str) -> String {
        let mut dump = Command::new(self.programs.join("pg_dump"));
        // Bytes are shown as text, so that uncompressed data can be searched.
        dump.args(["--data-only", "--inserts", "-U", USER, "-d", database, "-h"]).arg(&self.folder);
        dump.args(["-p", &self.port.to_string()]).env("PGOPTIONS", "-c bytea_output=escape");
        run(&mut dump)
    }

    /// Runs a query with `psql`; returns one line for each row.
    pub fn sql(&self, database: &str, question: &str) -> String {
        let mut ask = Command::new(self.programs.join("psql"));
        ask.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", database, "-h"]).arg(&self.folder);
        ask.args(["-p", &self.port.to_string(), "-c", question]);
        run(&mut ask)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.crash();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The folder with the programs of the latest version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut versions: Vec<PathBuf> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(version);
    versions.into_iter().rev().map(|path| path.join("bin")).find(|bin| bin.join("initdb").is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// The server refuses to run as root, so use the user created by the package.
fn as_somebody(program: &Path) -> Command {
    if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
        command
    } else {
        Command::new(program)
    }
}

fn run(command: &mut Command) -> String {
    let ran = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}
