//! A folder with flows, a model provider, and a server that serves them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::provider::{KEY, Provider};
use crate::world::{Folder, Ran, finish};

/// An agent that repeats its prompt.
const HELLO: &str = "id: hello\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\n\
                     inputSchema: { text: string }\nprompt: 'about {{text}}'\n";

/// One without an input.
const PLAIN: &str = "id: plain\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: once\n";

/// Two steps, one after the other.
const PAIR: &str = "id: pair\nkind: sequential\ninputSchema: { text: string }\nsteps:\n  - ref: hello\n    input: { text: '{{text}}' }\n  - \
                    ref: second\n    input: { text: '{{text}}' }\n";

/// A server and what is around it.
pub struct Scene {
    pub folder: Folder,
    pub provider: Provider,
    pub server: RunningServer,
    options: Vec<String>,
}

/// A server, killed at the end.
pub struct RunningServer {
    child: Child,
    pub address: String,
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Scene {
    pub fn start() -> Self {
        Self::with_options(&[])
    }

    /// With more options of `trefoil serve`.
    pub fn with_options(options: &[&str]) -> Self {
        Self::with_models(options, true, "")
    }

    /// Its model has a price: a call costs $0.00013.
    pub fn with_prices(options: &[&str]) -> Self {
        Self::with_models(options, true, "[prices]\n\"openai:m\" = { input = 10, output = 10 }\n")
    }

    /// Until the server is restarted, its provider has no model.
    pub fn without_models() -> Self {
        Self::with_models(&[], false, "")
    }

    fn with_models(options: &[&str], has_models: bool, config: &str) -> Self {
        let (folder, provider) = (Folder::new(), Provider::start());
        folder.write("config/config.toml", config);
        folder.write("flows/hello.yaml", HELLO);
        folder.write("flows/plain.yaml", PLAIN);
        folder.write("flows/second.yaml", HELLO.replace("id: hello", "id: second").replace("about", "more about"));
        folder.write("flows/pair.yaml", PAIR);
        let human = include_str!("../crash/manifests/human.yaml").replace("{{ env.SECRET_WORD }}", "print");
        folder.write("flows/publish.yaml", human);
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let server = start_server(&folder, &provider, &options, "0", has_models);
        Self { folder, provider, server, options }
    }

    /// The server ends without a word, and another one starts at the same address.
    pub fn restart_server(&mut self) {
        self.kill_server();
        let port = self.server.address.rsplit(':').next().unwrap().to_owned();
        self.server = start_server(&self.folder, &self.provider, &self.options, &port, true);
    }

    pub fn kill_server(&mut self) {
        self.server.child.kill().unwrap();
        self.server.child.wait().unwrap();
    }

    /// A command of a client: without a store, the key of the provider, or anything else but the address.
    pub fn client(&self, args: &[&str]) -> Command {
        let mut command = self.folder.command(args);
        command.env("TREFOIL_SERVER", &self.server.address);
        command
    }

    /// Runs a command of a client.
    pub fn remote(&self, args: &[&str]) -> Ran {
        finish(self.client(args))
    }

    /// Runs the same command with the store of the server.
    pub fn local(&self, args: &[&str]) -> Ran {
        finish(with_store(&self.folder, &self.provider, args))
    }

    /// Runs a printed command as it stands, in a shell without the address.
    pub fn enter(&self, line: &str) -> Ran {
        let mut command = self.folder.command(&[]);
        let words = line.trim().strip_prefix("trefoil ").unwrap_or_else(|| panic!("no command: {line}"));
        for word in words.split(' ') {
            command.arg(word.trim_matches('\''));
        }
        finish(command)
    }
}

fn with_store(folder: &Folder, provider: &Provider, args: &[&str]) -> Command {
    let mut command = folder.command(args);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_STORE", folder.path().join("runs.db"));
    command.env("TREFOIL_CONFIG_DIR", folder.path().join("config"));
    command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", provider.address());
    command
}

pub fn start_server(
    folder: &Folder,
    provider: &Provider,
    options: &[String],
    port: &str,
    has_models: bool,
) -> RunningServer {
    let mut args = vec!["serve", "flows", "--port", port, "--drain", "0"];
    args.extend(options.iter().map(String::as_str));
    let mut command = with_store(folder, provider, &args);
    if !has_models {
        command.env("OPENAI_BASE_URL", provider.address().replace("/v1", "/nowhere"));
    }
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap());
    let (sender, addresses) = mpsc::channel();
    // Read to the end, so that the server never waits for its reader.
    std::thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            if line.contains("serving ")
                && let Some((_, address)) = line.rsplit_once(" at ")
            {
                let _ = sender.send(address.to_owned());
            }
            if std::env::var_os("TREFOIL_SHOW_SERVER").is_some() {
                eprintln!("server: {line}");
            }
        }
    });
    let address = addresses.recv_timeout(Duration::from_secs(60)).unwrap();
    RunningServer { child, address }
}

/// Waits until something is so.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command on a line with this start.
pub fn command_after(ran: &Ran, start: &str) -> String {
    for line in ran.err.lines() {
        if let Some(command) = line.trim().strip_prefix(start) {
            return command.trim().to_owned();
        }
    }
    panic!("no line starts with `{start}`:\n{}", ran.err)
}

/// The id on the line `run ID`.
pub fn run_id(ran: &Ran) -> String {
    command_after(ran, "run ")
}
