//! HTTP tools and secrets, as a user sees them: a real server, the real binary.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::world::Folder;

const SECRET: &str = "canary-Zx81-äö/+=";
/// A token that is encoded differently in URLs, JSON and base64.
const TOKEN: &str = "tok/en+01-23456789==";

/// Answers by path, and records the requests.
struct Api {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Api {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let kept = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                std::thread::spawn(move || serve(&stream, &kept));
            }
        });
        Self { address, asked }
    }
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, kept: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|l| l.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let number = {
        let mut kept = kept.lock().unwrap();
        kept.push(format!("{head}{}", String::from_utf8_lossy(&body)));
        kept.iter().filter(|one| one.contains("/items")).count()
    };
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, kind, answer) = match () {
        () if path.starts_with("/token") => {
            ("200 OK", "application/json", json!({"access_token": "token-0123456789"}).to_string())
        }
        () if path.starts_with("/keys") => ("200 OK", "application/json", json!({"access_token": TOKEN}).to_string()),
        () if path.starts_with("/mirror") => {
            use base64::Engine as _;
            let base64 = base64::engine::general_purpose::STANDARD.encode(format!("user:{TOKEN}"));
            let url = TOKEN.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D");
            let json = TOKEN.replace('/', "\\/");
            let said = format!("plain {TOKEN} base64 {base64} url {url} json {json}");
            ("200 OK", "application/json", json!({"said": said}).to_string())
        }
        () if path.starts_with("/gone") => ("404 Not Found", "text/plain", format!("no such item for {SECRET}")),
        () if path.starts_with("/flaky") && number == 1 => ("401 Unauthorized", "text/plain", String::new()),
        () if path.starts_with("/text") => ("200 OK", "text/plain", "plain".to_owned()),
        () => (
            "200 OK",
            "application/json; charset=utf-8",
            json!({"path": path, "said": lower.contains("authorization")}).to_string(),
        ),
    };
    let mut stream = stream;
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.len()
    );
}

/// An agntz tool with this request.
fn tool(request: &str) -> Folder {
    let folder = Folder::new();
    let text =
        format!("id: find\nkind: tool\ninputSchema: {{ q: string }}\ntool:\n  kind: http\n  name: search\n{request}");
    folder.write("find.yaml", text);
    folder
}

fn run(folder: &Folder, more: &[&str], env: &[(&str, &str)]) -> crate::world::Ran {
    let args = [&["run", "find.yaml", "--input", "q=a b/c?d", "--output", "json"], more].concat();
    let mut command = folder.command(&args);
    command.envs(env.iter().copied());
    crate::world::finish(command)
}

#[test]
fn a_request_is_sent_as_it_is_written_and_values_open_no_part_of_it() {
    let api = Api::start();
    let folder = tool(&format!(
        "  method: POST\n  url: \"http://{}/items/{{id}}/{{{{q}}}}?x={{{{q}}}}&y={{y?}}\"\n  params: {{ id: \"{{{{q}}}}\" }}\n  \
         headers: {{ X-Kind: \"a {{{{q}}}}\" }}\n  body: {{ deep: [\"{{{{q}}}}\", 1] }}\n",
        api.address
    ));
    let ran = run(&folder, &["--allow-host", &api.address.to_string()], &[]);
    ran.exits(0);
    let asked = api.asked().join("");
    let path = "/items/a%20b%2Fc%3Fd/a%20b%2Fc%3Fd?x=a%20b%2Fc%3Fd";
    assert!(asked.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{asked}");
    assert!(asked.contains("x-kind: a a b/c?d\r\n") && asked.ends_with("{\"deep\":[\"a b/c?d\",1]}"), "{asked}");
    assert_eq!(ran.json()["path"], path);
}

#[test]
fn a_value_is_one_segment_of_an_address_and_leads_to_no_other() {
    let api = Api::start();
    let host = api.address.to_string();
    let url = format!("  method: DELETE\n  url: \"http://{host}/items/{{{{q}}}}/parts\"\n");
    for (value, sent) in [("a/../b", true), ("..", false), (".", false), ("%2e%2e", true)] {
        let before = api.asked().len();
        let folder = tool(&url);
        let args = ["run", "find.yaml", "--input", &format!("q={value}"), "--allow-host", &host];
        let ran = folder.trefoil(&args);
        assert_eq!(api.asked().len() > before, sent, "{value}: {}", ran.err);
        match sent {
            true => assert!(api.asked()[before].starts_with("DELETE /items/"), "{:?}", api.asked()),
            false => drop(ran.exits(1).says(&["TOOL_ERROR", "which leads to another address"])),
        }
    }
}

#[test]
fn an_address_that_is_not_public_is_called_only_if_the_operator_says_so() {
    let api = Api::start();
    let folder = tool(&format!("  url: \"http://{}/text\"\n", api.address));
    run(&folder, &[], &[]).exits(2).says(&["host-not-allowed", "port", "is not allowed", "--allow-host 127.0.0.1:"]);
    let port = format!("[http]\nports = [{}]\n", api.address.port());
    folder.write("config/config.toml", &port);
    let config = folder.path().join("config").display().to_string();
    run(&folder, &[], &[("TREFOIL_CONFIG_DIR", &config)]).exits(2).says(&["127.0.0.1 is a loopback address"]);
    assert_eq!(api.asked(), Vec::<String>::new());
    folder.write("config/config.toml", format!("[http]\nallow = [\"{}\"]\n", api.address));
    let ran = run(&folder, &[], &[("TREFOIL_CONFIG_DIR", &config)]);
    assert_eq!(ran.exits(0).json(), "plain");
    // An untrusted project must not allow anything.
    folder.write("config/config.toml", "").write("trefoil.toml", format!("[http]\nallow = [\"{}\"]\n", api.address));
    run(&folder, &[], &[("TREFOIL_CONFIG_DIR", &config)]).exits(2).says(&["untrusted-project"]);
}

#[test]
fn values_of_the_environment_are_not_told_to_whoever_a_manifest_names() {
    let folder =
        tool("  url: \"https://api.example.com/x\"\n  headers: { Authorization: \"Bearer {{env.API_KEY}}\" }\n");
    let ran = run(&folder, &[], &[("API_KEY", SECRET)]);
    ran.exits(2).says(&["`api.example.com` may not receive", "--allow-host api.example.com"]);
    assert!(!ran.err.contains("canary"), "{}", ran.err);
}

#[test]
fn a_status_that_is_a_failure_fails_the_step_and_hides_secrets() {
    let api = Api::start();
    let folder =
        tool(&format!("  url: \"http://{}/gone\"\n  headers: {{ X-Key: \"{{{{secrets.API_KEY}}}}\" }}\n", api.address));
    let host = api.address.to_string();
    let ran = run(&folder, &["--allow-host", &host, "--trace", "t.json"], &[("TREFOIL_SECRET_API_KEY", SECRET)]);
    ran.exits(1).says(&["TOOL_ERROR", "answered with 404: no such item for ***"]);
    assert!(api.asked()[0].contains("x-key: canary"), "{:?}", api.asked());
    let trace = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    assert!(!trace.contains("canary") && !ran.err.contains("canary"), "{trace}\n{}", ran.err);
}

#[test]
fn a_token_is_got_once_and_again_when_the_server_does_not_know_it() {
    let api = Api::start();
    let folder = tool(&format!(
        "  url: \"http://{0}/flaky/items\"\n  auth:\n    type: oauth2_client_credentials\n    token_url: \"http://{0}/token\"\n    \
         client_id: me\n    client_secret: \"{{{{secrets.CLIENT}}}}\"\n    scope: read\n",
        api.address
    ));
    let ran = run(&folder, &["--allow-host", &api.address.to_string()], &[("TREFOIL_SECRET_CLIENT", SECRET)]);
    ran.exits(0);
    let asked = api.asked();
    let firsts: Vec<_> = asked.iter().map(|one| one.split(' ').nth(1).unwrap()).collect();
    assert_eq!(firsts, ["/token", "/flaky/items", "/token", "/flaky/items"]);
    assert!(asked[0].ends_with("grant_type=client_credentials&scope=read"), "{}", asked[0]);
    assert!(asked[0].contains("authorization: Basic "), "{}", asked[0]);
    assert!(asked[3].contains("authorization: Bearer token-0123456789"), "{}", asked[3]);
}

#[test]
fn no_form_of_a_token_that_was_got_comes_back() {
    let api = Api::start();
    let folder = tool(&format!(
        "  url: \"http://{0}/mirror\"\n  auth:\n    type: oauth2_client_credentials\n    token_url: \"http://{0}/keys\"\n    \
         client_id: me\n    client_secret: \"{{{{secrets.API_KEY}}}}\"\n",
        api.address
    ));
    let host = api.address.to_string();
    let more = ["--allow-host", &host, "--trace", "t.json", "--events", "jsonl"];
    let ran = run(&folder, &more, &[("TREFOIL_SECRET_API_KEY", SECRET)]);
    ran.exits(0);
    assert!(api.asked()[1].contains(TOKEN), "the server was sent it");
    let left = format!("{}{}{}", ran.out, ran.err, std::fs::read_to_string(folder.path().join("t.json")).unwrap());
    assert!(left.contains("plain ***") && left.contains("url ***") && left.contains("json ***"), "{left}");
    for form in ["tok/en", "tok%2Fen", "tok\\/en", "dG9rL2VuKz"] {
        assert!(!left.contains(form), "{form}: {left}");
    }
}

#[test]
fn a_body_is_sent_as_its_type_says() {
    let api = Api::start();
    let host = api.address.to_string();
    let values = "  body: { a: \"{{q}} &\", b: two }\n";
    for (kind, path, sent, header) in [
        ("json", "/x", "{\"a\":\"a b/c?d &\",\"b\":\"two\"}", "content-type: application/json\r\n"),
        ("form", "/x", "a=a+b%2Fc%3Fd+%26&b=two", "content-type: application/x-www-form-urlencoded\r\n"),
        ("query", "/x?a=a+b%2Fc%3Fd+%26&b=two", "", "accept: "),
    ] {
        let folder = tool(&format!("  method: POST\n  url: \"http://{host}/x\"\n  body_type: {kind}\n{values}"));
        run(&folder, &["--allow-host", &host], &[]).exits(0);
        let asked = api.asked().pop().unwrap();
        assert!(asked.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{kind}: {asked}");
        assert!(asked.ends_with(&format!("\r\n\r\n{sent}")) && asked.contains(header), "{kind}: {asked}");
    }
}

#[test]
fn a_token_that_was_exchanged_is_kept_for_the_calls_that_need_it() {
    let api = Api::start();
    let host = api.address.to_string();
    let folder = Folder::new();
    let call = format!(
        "{{ kind: http, name: x, url: \"http://{host}/a\", auth: {{ type: token_exchange, request: {{ url: \"http://{host}/token\", \
         body: {{ key: \"{{{{secrets.CLIENT}}}}\" }} }}, extract: {{ token_path: $.access_token }}, apply: {{ location: query, name: key, format: \"{{token}}\" }} }} }}"
    );
    folder.write(
        "find.yaml",
        format!(
            "id: find\nkind: sequential\ninputSchema: {{ q: string }}\nsteps:\n  - agent: {{ id: one, kind: tool, tool: {call} }}\n  \
             - agent: {{ id: two, kind: tool, tool: {call} }}\n"
        ),
    );
    let ran = run(&folder, &["--allow-host", &host], &[("TREFOIL_SECRET_CLIENT", SECRET)]);
    ran.exits(0);
    let asked = api.asked();
    let firsts: Vec<_> = asked.iter().map(|one| one.split(' ').nth(1).unwrap()).collect();
    assert_eq!(firsts, ["/token", "/a?key=token-0123456789", "/a?key=token-0123456789"]);
    assert!(!ran.out.contains("0123456789") && !ran.err.contains("0123456789"), "{}", ran.out);
}

#[test]
fn a_node_of_sirenspec_is_tried_again_and_skipped_as_it_says() {
    let api = Api::start();
    let host = api.address.to_string();
    let folder = Folder::new();
    folder.write(
        "s.yaml",
        format!(
            "version: \"0.1\"\nnodes:\n  bad: {{ type: tool, tool: http, config: {{ url: \"http://{host}/gone\", method: POST }}, retry: 2, on_failure: skip }}\n  \
             next: {{ type: tool, tool: http, config: {{ url: \"http://{host}/x?bad={{{{ bad.output }}}}\" }}, output_key: r.deep }}\ninput: {{ message: hi }}\n"
        ),
    );
    folder.trefoil(&["run", "s.yaml", "--allow-host", &host]).exits(0);
    let asked = api.asked();
    let firsts: Vec<_> = asked.iter().map(|one| one.split(" HTTP").next().unwrap()).collect();
    assert_eq!(firsts, ["POST /gone", "POST /gone", "POST /gone", "GET /x?bad=null"]);
}

#[test]
fn a_node_of_sirenspec_calls_a_tool_and_others_read_its_result() {
    let api = Api::start();
    let folder = Folder::new();
    folder.write(
        "s.yaml",
        format!(
            "version: \"0.1\"\nnodes:\n  one:\n    type: tool\n    tool: http\n    config: {{ url: \"http://{0}/text\" }}\n    output_key: data\n  \
             two:\n    type: tool\n    tool: http\n    config:\n      url: \"http://{0}/x?said={{{{ one.data }}}}\"\n      method: POST\n      body: '{{\"a\": 1}}'\n\
             edges:\n  - {{ from: one, to: two }}\ninput: {{ message: hi }}\n",
            api.address
        ),
    );
    let ran = folder.trefoil(&["run", "s.yaml", "--allow-host", &api.address.to_string()]);
    ran.exits(0);
    let asked = api.asked();
    assert!(asked[1].starts_with("POST /x?said=plain HTTP/1.1\r\n") && asked[1].ends_with("{\"a\": 1}"), "{asked:?}");
    assert!(asked[1].contains("content-type: application/json"), "{asked:?}");
}

#[test]
fn where_answers_are_made_up_only_allowed_hosts_are_called() {
    let api = Api::start();
    let folder = tool(&format!("  url: \"http://{}/text\"\n", api.address));
    run(&folder, &["--model", "embedded"], &[]).exits(2).says(&["host-not-allowed"]);
    assert_eq!(api.asked(), Vec::<String>::new());
    let host = api.address.to_string();
    assert_eq!(run(&folder, &["--allow-host", &host, "--model", "embedded"], &[]).exits(0).json(), "plain");
}

#[test]
fn a_secret_comes_from_the_first_source_that_has_it_or_the_run_does_not_start() {
    let api = Api::start();
    let folder =
        tool(&format!("  url: \"http://{}/x\"\n  headers: {{ X-Key: \"{{{{secrets.API_KEY}}}}\" }}\n", api.address));
    let host = api.address.to_string();
    let config = folder.path().join("config").display().to_string();
    let own = ("TREFOIL_CONFIG_DIR", &*config);
    let go = |env: &[(&str, &str)]| run(&folder, &["--allow-host", &host], &[&[own], env].concat());
    go(&[]).exits(2).says(&["missing-secret", "find.yaml:8", "trefoil secrets set API_KEY"]);

    let secrets = |args: &[&str], stdin: &str| {
        let mut command = folder.command(&[&["secrets"], args].concat());
        command.env(own.0, own.1).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        crate::world::wait(child)
    };
    secrets(&["set", "API_KEY"], "from the file\n").exits(0);
    assert_eq!(secrets(&["list"], "").exits(0).out, "API_KEY\n");
    go(&[]).exits(0);
    folder.write("config/config.toml", "[secrets]\ncommand = [\"echo\", \"from a command for {name}\"]\n");
    go(&[]).exits(0);
    folder.write("mounted/API_KEY", "from a folder\n");
    let mounted = folder.path().join("mounted").display().to_string();
    go(&[("TREFOIL_SECRETS_DIR", &mounted)]).exits(0);
    go(&[("TREFOIL_SECRETS_DIR", &mounted), ("TREFOIL_SECRET_API_KEY", "from a variable")]).exits(0);
    let sent = api.asked();
    let sent: Vec<_> = sent.iter().filter_map(|one| one.lines().find_map(|l| l.strip_prefix("x-key: "))).collect();
    assert_eq!(sent, ["from the file", "from a command for API_KEY", "from a folder", "from a variable"]);

    secrets(&["remove", "API_KEY"], "").exits(0);
    secrets(&["remove", "API_KEY"], "").exits(1);
    secrets(&["set", "no name"], "x").exits(2).says(&["is not a valid name"]);
    secrets(&["set", "X"], "").exits(2).says(&["the value is empty"]);
}

#[test]
fn no_form_of_a_secret_is_in_anything_that_a_run_leaves_behind() {
    let api = Api::start();
    let folder = tool(&format!(
        "  method: POST\n  url: \"http://{}/x?key={{{{secrets.API_KEY}}}}\"\n  headers: {{ X-Key: \"{{{{secrets.API_KEY}}}}\" }}\n  \
         body: {{ a: \"{{{{secrets.API_KEY}}}}\" }}\n",
        api.address
    ));
    let host = api.address.to_string();
    let store = folder.path().join("runs.db").display().to_string();
    let mut command = folder.command(&[
        "run",
        "find.yaml",
        "--input",
        "q=x",
        "--allow-host",
        &host,
        "--store",
        &store,
        "--trace",
        "t.json",
        "--events",
        "jsonl",
    ]);
    command.env_remove("TREFOIL_EPHEMERAL").env("TREFOIL_SECRET_API_KEY", SECRET);
    let ran = crate::world::finish(command);
    ran.exits(0);
    let id = ran.lines()[0]["run"].as_str().unwrap_or_default().to_owned();
    let mut left = format!("{}\n{}", ran.out, ran.err).into_bytes();
    for args in [
        &["runs", "export", &id, "--store", &store][..],
        &["runs", "show", &id, "--store", &store],
        &["runs", "events", &id, "--store", &store],
        &["trace", "t.json", "--html", "page.html"],
    ] {
        let mut command = folder.command(args);
        command.env_remove("TREFOIL_EPHEMERAL");
        left.extend(format!("{:?}", crate::world::finish(command)).into_bytes());
    }
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        left.extend(std::fs::read(entry.unwrap().path()).unwrap_or_default());
    }
    assert!(api.asked()[0].contains(SECRET), "the server was sent it");
    let left = String::from_utf8_lossy(&left).into_owned();
    for form in [SECRET.to_owned(), "canary-Zx81".to_owned(), "Y2FuYXJ5LVp4ODEt".to_owned(), json!(SECRET).to_string()]
    {
        let at = left.find(&form);
        assert!(
            at.is_none(),
            "{form}: {}",
            at.map_or("", |at| &left[at.saturating_sub(200)..(at + 60).min(left.len())])
        );
    }
}
