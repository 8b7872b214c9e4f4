//! Plants canaries wherever a secret can enter, and searches everything that a run leaves for every form of them.
//! Providers, HTTP tools and programs that receive a canary return it in all forms.

#[cfg(target_os = "linux")]
mod crashes;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Value as Json, json};

use crate::world::{Folder, Ran, finish, wait};

/// Each has characters that URLs, JSON and base64 encode differently. They have no common parts.
const KEY: &str = "sk-Qm7w\"Yx/+=key-of-the-model";
const VAULT: &str = "Tz3k\"ä/+= of the vault";
const FILE: &str = "Rv9p\\ö/+= of the env file";
const FOLDER: &str = "Lf5b\"ü/+= of the folder";
const COMMAND: &str = "Hd8c/ß+= of the command";
const VARIABLE: &str = "Wn2g\"é/+= of the variable";
const ENVIRONMENT: &str = "Bs6j\"ñ/+= of the environment";
const TOOL: &str = "Px4x\"ø/+= of the tool";
const PASSPHRASE: &str = "Gc1v\"å/+= passphrase";
const ALL: [&str; 9] = [KEY, VAULT, FILE, FOLDER, COMMAND, VARIABLE, ENVIRONMENT, TOOL, PASSPHRASE];

/// The forms that someone could search for in logs.
fn forms(secret: &str) -> Vec<String> {
    let percent = |keep: &str| -> String {
        let byte = |b: u8| match char::from(b) {
            c if c.is_ascii_alphanumeric() || keep.contains(c) => c.to_string(),
            _ => format!("%{b:02X}"),
        };
        secret.bytes().map(byte).collect()
    };
    let quoted = |text: &str| {
        let json = json!(text).to_string();
        json[1..json.len() - 1].to_owned()
    };
    vec![
        secret.to_owned(),
        quoted(secret),
        quoted(&quoted(secret)),
        percent("-._~"),
        percent("-._~/+="),
        percent("-._~/+=\\"),
        percent("-._*").replace("%20", "+"),
        STANDARD.encode(secret).trim_end_matches('=').to_owned(),
        URL_SAFE.encode(secret).trim_end_matches('=').to_owned(),
        // As the user name of basic authentication: the characters that depend on it alone.
        STANDARD.encode(format!("{secret}:x"))[..secret.len() * 8 / 6].to_owned(),
    ]
}

/// Returns each received canary in every form.
struct Echo {
    address: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Echo {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let kept = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                std::thread::spawn(move || answer(&stream, &kept));
            }
        });
        Self { address, heard }
    }

    fn heard(&self, secret: &str) -> bool {
        let heard = self.heard.lock().unwrap();
        heard.iter().any(|one| forms(secret).iter().any(|form| one.contains(form)))
    }
}

fn answer(mut stream: &TcpStream, kept: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if reader.read_until(b'\n', &mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head.lines().find_map(|l| l.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let asked = format!("{head}{}", String::from_utf8_lossy(&body));
    kept.lock().unwrap().push(asked.clone());
    // An environment value may be part of a result if something repeats it; of the received secrets, nothing may be
    // left.
    let repeated = |secret: &&&str| **secret != ENVIRONMENT && forms(secret).iter().any(|form| asked.contains(form));
    let sent = ALL.iter().filter(repeated);
    let echo = sent.flat_map(|secret| forms(secret)).collect::<Vec<_>>().join(" ; ");
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, kind, said) = match () {
        () if path.contains("chat/completions") && asked.contains("fails") => {
            ("401 No", "application/json", json!({"error": {"message": format!("no such key: {echo}")}}).to_string())
        }
        // A part of an answer, and nothing more while the process lives.
        () if path.contains("chat/completions") && asked.contains("stays") => {
            let delta = json!({"choices": [{"delta": {"content": format!("begun {echo}")}}]});
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {delta}\n\n");
            let _ = stream.read(&mut [0]);
            return;
        }
        // Tools respond after a model has started to answer.
        () if path.contains("after") => {
            while !kept.lock().unwrap().iter().any(|one| one.contains("chat/completions")) {
                std::thread::sleep(Duration::from_millis(20));
            }
            std::thread::sleep(Duration::from_millis(500));
            ("200 OK", "text/plain", echo)
        }
        () if path.contains("chat/completions") => {
            let delta = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
            // In small pieces, so that every form is split.
            let letters: Vec<char> = echo.chars().collect();
            let pieces: String = letters.chunks(7).map(|few| delta(&few.iter().collect::<String>())).collect();
            ("200 OK", "text/event-stream", format!("{pieces}data: [DONE]\n\n"))
        }
        () if path.contains("gone") => ("500 No", "text/plain", echo),
        () => ("200 OK", "application/json", json!({ "echo": echo, echo: 1 }).to_string()),
    };
    let length = said.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\nX-Echo: x\r\n\r\n{said}"
    );
}

/// A project that uses every source of secrets.
struct Project {
    folder: Folder,
    echo: Echo,
}

impl Project {
    fn new() -> Self {
        let (folder, echo) = (Folder::new(), Echo::start());
        let address = &echo.address;
        folder.write(
            "main.yaml",
            "id: main\nkind: sequential\nsteps:\n  - ref: call\n  - ref: show\n  - ref: write\n    input: { call: \"{{call}}\", show: \"{{show}}\" }\n",
        );
        folder.write(
            "call.yaml",
            format!(
                "id: call\nkind: tool\ntool:\n  kind: http\n  name: call\n  method: POST\n  \
                 url: \"http://{address}/x/{{{{secrets.VAULT}}}}?key={{{{secrets.FILE}}}}\"\n  \
                 headers: {{ X-Key: \"{{{{secrets.FOLDER}}}}\", X-Env: \"{{{{env.SEEN}}}}\" }}\n  \
                 body: {{ a: \"{{{{secrets.COMMAND}}}}\", b: [\"{{{{secrets.VARIABLE}}}}\"] }}\n"
            ),
        );
        folder.write("show.yaml", "id: show\nkind: tool\ntool: { kind: local, name: show }\n");
        folder.write(
            "write.yaml",
            "id: write\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: Be brief.\n\
             inputSchema: { call: object, show: string }\nprompt: \"Say {{call}} and {{show}}\"\n",
        );
        folder.write(
            "fails.yaml",
            "id: fails\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: This fails.\n",
        );
        folder.write(
            "gone.yaml",
            format!(
                "id: gone\nkind: tool\ntool:\n  kind: http\n  name: gone\n  url: \"http://{address}/gone\"\n  \
                 headers: {{ Authorization: \"Bearer {{{{secrets.FOLDER}}}}\" }}\n"
            ),
        );
        // Prints its own arguments, those of its parent, and its environment.
        let show = "#!/bin/sh\ntr '\\0' ' ' < /proc/$$/cmdline\ntr '\\0' ' ' < /proc/$PPID/cmdline\nenv\n\
                    printf %s \"$OWN\" | base64 -w0\nprintf %s \"$OWN\" >&2\n";
        folder.write("show.sh", show);
        folder.write(
            "config/config.toml",
            format!(
                "[http]\nallow = [\"{address}\"]\n[secrets]\nenv_file = \"../secrets.env\"\n\
                 command = [\"sh\", \"-c\", \"test {{name}} = COMMAND && cat secrets.command\"]\n\
                 [tools.show]\ncommand = [\"sh\", \"show.sh\"]\nfolder = \"..\"\nenv = {{ OWN = \"{{{{secrets.TOOL}}}}\" }}\n"
            ),
        );
        folder.write("secrets.env", format!("FILE='{FILE}'\n"));
        folder.write("mounted/FOLDER", format!("{FOLDER}\n"));
        let project = Self { folder, echo };
        project.vault(&["set", "VAULT"], VAULT);
        project.vault(&["set", "TOOL"], TOOL);
        project.vault(&["passphrase"], PASSPHRASE);
        project
    }

    fn vault(&self, args: &[&str], stdin: &str) {
        let mut command = self.folder.command(&[&["secrets"], args].concat());
        self.environment(&mut command);
        command.stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        wait(child).exits(0);
    }

    fn environment(&self, command: &mut Command) {
        let path = |name: &str| self.folder.path().join(name);
        command
            .env_remove("TREFOIL_EPHEMERAL")
            .env("RUST_BACKTRACE", "full")
            .env("TREFOIL_CONFIG_DIR", path("config"))
            .env("TREFOIL_SECRETS_DIR", path("mounted"))
            .env("TREFOIL_SECRETS_PASSPHRASE", PASSPHRASE)
            .env("TREFOIL_SECRET_VARIABLE", VARIABLE)
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", format!("http://{}/v1", self.echo.address))
            .env("SEEN", ENVIRONMENT);
    }

    fn trefoil(&self, args: &[&str]) -> Ran {
        let mut command = self.folder.command(args);
        self.environment(&mut command);
        finish(command)
    }

    /// Runs a file, and returns everything that it leaves.
    fn left(&self, file: &str, code: i32) -> String {
        let args = ["run", file, "--allow-command", "--store", "runs.db", "--trace", "t.json", "--events", "jsonl"];
        let ran = self.trefoil(&[&args[..], &["--input", "x"]].concat());
        ran.exits(code);
        let run = ran.lines()[0]["run"].as_str().unwrap().to_owned();
        let mut left = format!("{ran:#?}\n{}\n{}", ran.out, ran.err);
        for args in [
            &["runs", "export", &run, "--store", "runs.db"][..],
            &["runs", "show", &run, "--store", "runs.db"],
            &["runs", "list", "--store", "runs.db"],
            &["runs", "events", &run, "--store", "runs.db"],
            &["resume", &run, "--store", "runs.db", "--trace", "resumed.json"],
            &["trace", "t.json"],
            &["trace", "t.json", "--html", "page.html"],
            &["secrets", "list"],
            &["doctor", "--store", "runs.db"],
        ] {
            let ran = self.trefoil(args);
            left += &format!("{}\n{}", ran.out, ran.err);
        }
        for name in ["runs.db", "runs.db-wal", "t.json", "resumed.json", "page.html", "config/secrets.json"] {
            left += &String::from_utf8_lossy(&std::fs::read(self.folder.path().join(name)).unwrap_or_default());
        }
        left
    }
}

fn clean(left: &str, what: &str) {
    let mut found = Vec::new();
    for form in ALL.iter().flat_map(|secret| forms(secret)) {
        if let Some(at) = left.find(&form) {
            let from = (0..=at.saturating_sub(100)).rev().find(|at| left.is_char_boundary(*at)).unwrap_or(0);
            found.push(format!("`{form}` in: {}", &left[from..at + form.len()]));
        }
    }
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn no_form_of_any_secret_is_left_of_a_run() {
        let project = Project::new();
        std::fs::write(project.folder.path().join("secrets.command"), COMMAND).unwrap();
        // The search itself works: the forms are not empty, and JSON escapes the key.
        assert!(forms(KEY).iter().all(|form| !form.is_empty()) && Json::from(KEY).to_string().len() > KEY.len());
        let left = project.left("main.yaml", 0);
        for secret in [KEY, VAULT, FILE, FOLDER, COMMAND, VARIABLE, ENVIRONMENT] {
            assert!(project.echo.heard(secret), "`{secret}` was not sent to anybody");
        }
        assert!(left.contains("***"), "something came back");
        clean(&left, "a run that succeeds");
        clean(&project.left("fails.yaml", 1), "a provider that refuses");
        clean(&project.left("gone.yaml", 1), "a tool that fails");
    }
}
