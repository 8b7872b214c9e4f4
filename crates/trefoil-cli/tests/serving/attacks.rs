//! Clients that are slow, silent, gone or hostile. Others are served meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::http::{Frames, Request};
use crate::scene::{Scene, chain, eventually};

/// What is short, on a machine with other work.
const SOON: Duration = Duration::from_secs(10);

/// Requires that a request is answered soon.
fn answers_soon(address: SocketAddr) {
    let began = Instant::now();
    Request::get("/api/v1/flows").send(address).unwrap().is(200);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

/// Reads until the other end closes the connection. Returns what came.
fn read_to_close(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let scene = Scene::new();
    let server = scene.serve(&["--max-body", "1"]);
    let at = |size: usize| {
        let body = serde_json::json!({ "flow": "main", "input": { "n": "x".repeat(size) } });
        Request::post("/api/v1/runs", &body)
    };
    at(2 << 20).send(server.address).unwrap().fails(413, "BODY_TOO_LARGE");
    at(1 << 19).send(server.address).unwrap().is(201);
    // One that only claims to be large is refused before it is sent.
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head =
        "POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    assert!(read_to_close(&mut stream).starts_with("HTTP/1.1 413"));
    // One without a length is counted.
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head =
        "POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
    for _ in 0..20 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break;
        }
    }
    let _ = stream.write_all(b"0\r\n\r\n");
    assert!(read_to_close(&mut stream).starts_with("HTTP/1.1 413"));
    // Very deep JSON is no reason to die.
    let deep = Request { body: "[".repeat(500_000), ..Request::new("POST", "/api/v1/runs") };
    deep.send(server.address).unwrap().fails(400, "BAD_REQUEST");
    answers_soon(server.address);
}

#[test]
fn a_client_that_has_left_has_no_open_stream() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let run = server.start(&chain("hang"));
    let path = format!("/api/v1/runs/{run}/events");
    let open = || {
        let response = Request::get(&path).with("Accept", "text/event-stream").open(server.address).unwrap();
        assert_eq!(response.status, 200);
        let mut frames = Frames::new(response.body);
        assert!(frames.next_frame().unwrap().is_some());
        frames
    };
    let streams: Vec<Frames> = (0..5).map(|_| open()).collect();
    assert_eq!(server.figure("trefoil_open_streams"), 5);
    drop(streams);
    // No event comes, only comments.
    eventually("streams of clients that have left are open", || server.figure("trefoil_open_streams") == 0);
    server.post(&format!("/api/v1/runs/{run}/cancel"), &serde_json::json!({}));
}

#[test]
fn ids_that_are_paths_lead_nowhere() {
    let scene = Scene::new();
    let server = scene.serve(&[]);
    for id in
        ["..%2f..%2fetc%2fpasswd", "%2e%2e", "..%5c..", "%00", "a%0d%0ab", "%ff", "'%20OR%201=1--", &"a".repeat(5_000)]
    {
        for (method, path) in [
            ("GET", format!("/api/v1/runs/{id}")),
            ("GET", format!("/api/v1/runs/{id}/events")),
            ("GET", format!("/api/v1/runs/{id}/trace")),
            ("POST", format!("/api/v1/runs/{id}/cancel")),
            ("DELETE", format!("/api/v1/runs/{id}")),
            ("GET", format!("/api/v1/flows/{id}")),
            ("GET", format!("/api/v1/flows/{id}/graph")),
        ] {
            let reply = Request::new(method, &path).send(server.address).unwrap();
            assert!([400, 404].contains(&reply.status), "{method} {path}: {reply:?}");
            assert!(!reply.body.contains("root:"), "{reply:?}");
            // A line of the log is a line.
            assert!(!reply.headers.contains_key("b"), "{reply:?}");
        }
    }
    for path in ["/../../etc/passwd", "/api/v1/../../../etc/passwd", "//etc/passwd", "/api/v1/runs/../../../metrics"] {
        let reply = Request::get(path).send(server.address).unwrap();
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
    }
    // A flow by the path of its file, and a fork with files elsewhere.
    for flow in ["flows/main.yaml", "./main.yaml", "../flows/main.yaml", "/etc/passwd", ""] {
        let body = serde_json::json!({ "flow": flow, "input": {} });
        server.post("/api/v1/runs", &body).fails(404, "FLOW_NOT_FOUND");
    }
    let run = server.start(&chain("fork"));
    server.until(&run, "completed");
    for file in ["../../secret.yaml", "/etc/passwd", "main.yaml/../../x"] {
        let body = serde_json::json!({ "files": { file: "id: x" }, "dry_run": true });
        let reply = server.post(&format!("/api/v1/runs/{run}/fork"), &body);
        assert!(reply.status >= 400 && reply.status < 500, "{file}: {reply:?}");
    }
    assert!(!scene.folder.path().join("secret.yaml").exists());
    assert!(!scene.log().contains("etc/passwd"), "{}", scene.log());
}

#[test]
fn pages_of_other_sites_and_other_names_are_refused() {
    let scene = Scene::new();
    let server = scene.serve(&["--allow-origin", "https://app.example.com"]);
    let flows = || Request::get("/api/v1/flows");
    let port = server.address.port();
    for origin in
        ["https://evil.example", "null", "http://localhost:1", &format!("https://localhost:{port}.evil.example")]
    {
        flows().with("Origin", origin).send(server.address).unwrap().fails(403, "ORIGIN_NOT_ALLOWED");
        let start = Request::post("/api/v1/runs", &chain("evil")).with("Origin", origin);
        start.send(server.address).unwrap().fails(403, "ORIGIN_NOT_ALLOWED");
    }
    let allowed = flows().with("Origin", "https://app.example.com").send(server.address).unwrap();
    assert_eq!(allowed.is(200).headers["access-control-allow-origin"], "https://app.example.com");
    // A browser asks first, without a key.
    let ask = |origin: &str| {
        let ask = Request::new("OPTIONS", "/api/v1/runs").with("Origin", origin);
        let ask = ask.with("Access-Control-Request-Method", "POST");
        ask.with("Access-Control-Request-Headers", "content-type,authorization,idempotency-key")
            .send(server.address)
            .unwrap()
    };
    let asked = ask("https://app.example.com");
    assert_eq!(asked.is(200).headers["access-control-allow-origin"], "https://app.example.com");
    assert!(asked.headers["access-control-allow-headers"].contains("idempotency-key"), "{asked:?}");
    assert!(!ask("https://evil.example").headers.contains_key("access-control-allow-origin"));
    flows().with("Origin", &format!("http://{}", server.address)).send(server.address).unwrap().is(200);
    for host in ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example", "localhost@evil.example"] {
        flows().with("Host", host).send(server.address).unwrap().fails(421, "HOST_NOT_ALLOWED");
        for path in ["/health", "/metrics"] {
            Request::get(path).with("Host", host).send(server.address).unwrap().is(421);
        }
    }
    flows().with("Host", &format!("localhost:{port}")).send(server.address).unwrap().is(200);
    assert_eq!(server.get("/api/v1/runs").json()["runs"], serde_json::json!([]), "nothing was started");
}

#[test]
fn two_thousand_idle_connections_keep_nobody_out() {
    // This process has the other ends.
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < 6_000) {
        return untested::skipped("fewer than 6,000 open files are allowed");
    }
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let scene = Scene::new();
    let server = scene.serve(&[]);
    let began = Instant::now();
    let mut idle = Vec::new();
    for _ in 0..2_000 {
        idle.push(TcpStream::connect(server.address).unwrap());
    }
    for n in 0..20 {
        answers_soon(server.address);
        let run = server.start(&chain(&format!("beside idle ones {n}")));
        server.until(&run, "completed");
    }
    eprintln!("2,000 idle connections were opened, and 20 runs completed beside them, in {:?}", began.elapsed());
    drop(idle);
}

/// What takes long.
mod hunt {
    use std::process::{Command, Stdio};

    use super::*;

    /// How long a client may take for the headers of a request, and stay without one.
    const HEADERS: Duration = Duration::from_secs(30);

    #[test]
    fn headers_that_come_byte_by_byte_are_cut_off_after_a_time() {
        let scene = Scene::new();
        let server = scene.serve(&[]);
        let began = Instant::now();
        let mut slow = Vec::new();
        // The last one begins like a request of HTTP/2, and sends nothing else.
        for begin in ["GET /api/v1/flows HTTP/1.1\r\nHost: localhost\r\nX: ", "G", "PRI * HT"] {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(begin.as_bytes()).unwrap();
            slow.push(stream);
        }
        let mut open = slow.len();
        while open > 0 {
            assert!(began.elapsed() < HEADERS * 2, "{open} connections are still open");
            std::thread::sleep(Duration::from_millis(500));
            open = 0;
            for (n, stream) in slow.iter_mut().enumerate() {
                // Byte by byte, as far as that is a part of a header.
                let byte: &[u8] = if n == 0 { b"x" } else { b"" };
                stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                let is_open = stream.write_all(byte).is_ok()
                    && matches!(stream.read(&mut [0; 256]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
                open += usize::from(is_open);
            }
            answers_soon(server.address);
        }
        assert!(began.elapsed() >= HEADERS - Duration::from_secs(2), "{:?}", began.elapsed());
    }

    #[test]
    fn connections_that_are_silent_are_closed_after_a_time() {
        let scene = Scene::new();
        let server = scene.serve(&[]);
        let began = Instant::now();
        let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(server.address).unwrap()).collect();
        // One that has been of use stays as long.
        let mut used = TcpStream::connect(server.address).unwrap();
        used.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        for mut stream in silent {
            assert_eq!(read_to_close(&mut stream), "");
        }
        assert!(read_to_close(&mut used).starts_with("HTTP/1.1 200"));
        assert!(began.elapsed() >= HEADERS - Duration::from_secs(2), "{:?}", began.elapsed());
        assert!(began.elapsed() < HEADERS * 3, "{:?}", began.elapsed());
    }

    #[test]
    fn a_body_that_comes_byte_by_byte_is_cut_off_after_a_time() {
        let scene = Scene::new();
        let server = scene.serve(&[]);
        let began = Instant::now();
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head =
            "POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut answer = [0; 16];
        loop {
            assert!(began.elapsed() < Duration::from_secs(120), "a slow body is never refused");
            let _ = stream.write_all(b" ");
            match stream.read(&mut answer) {
                Ok(n) => return assert!(answer[..n].starts_with(b"HTTP/1.1 408"), "{:?}", &answer[..n]),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}"),
            }
        }
    }

    /// A network of its own, which is removed at the end.
    struct Network(String);

    impl Network {
        /// `None` if this user may not make one.
        fn new() -> Option<Self> {
            let network = Self(format!("tref{}", std::process::id() % 100_000));
            let name = &network.0;
            let made = network.run(&format!(
                "ip netns add {name} && ip link add {name}a type veth peer name {name}b netns {name} \
                 && ip addr add 10.231.77.1/30 dev {name}a && ip link set {name}a up \
                 && ip netns exec {name} ip addr add 10.231.77.2/30 dev {name}b && ip netns exec {name} ip link set {name}b up"
            ));
            made.then_some(network)
        }
        fn run(&self, script: &str) -> bool {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
            shell.status().is_ok_and(|status| status.success())
        }
    }

    impl Drop for Network {
        fn drop(&mut self) {
            self.run(&format!("ip link del {0}a; ip netns del {0}", self.0));
        }
    }

    #[test]
    fn the_stream_of_a_machine_that_is_gone_is_closed_after_a_time() {
        let Some(network) = Network::new() else { return untested::skipped("this user may not make networks") };
        let scene = Scene::new();
        let server = scene.serve(&["--listen", "10.231.77.1"]);
        let key = scene.key("far", &["--all-runs"]);
        let start = Request::post("/api/v1/runs", &chain("hang")).with_key(&key).send(server.address).unwrap();
        let run = start.is(201).json()["run"].as_str().unwrap().to_owned();
        let figure = || {
            let text = Request::get("/metrics").with_key(&key).send(server.address).unwrap().body;
            let line = text.lines().find(|line| line.starts_with("trefoil_open_streams ")).unwrap();
            line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
        };
        let mut client = Command::new("ip");
        client.args(["netns", "exec", &network.0, "curl", "-sN", "-H", &format!("Authorization: Bearer {key}")]);
        client.args([
            "-H",
            "Accept: text/event-stream",
            &format!("http://{}/api/v1/runs/{run}/events", server.address),
        ]);
        let mut client = client.stdout(Stdio::null()).spawn().unwrap();
        eventually("the stream is not open", || figure() == 1);
        // Its cable is pulled: nothing says that it is gone.
        assert!(network.run(&format!("ip netns exec {0} ip link set {0}b down", network.0)));
        let began = Instant::now();
        eventually("the stream is open for ever", || figure() == 0);
        eprintln!("the stream of a machine that was gone was closed after {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(110), "{:?}", began.elapsed());
        let _ = client.kill();
        let _ = client.wait();
    }
}
