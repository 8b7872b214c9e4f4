//! Attacks through addresses, servers' responses and name servers: no forbidden host is ever reached.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use trefoil_tools::guard::{GuardRules, GuardedClient, GuardedRequest, HostNameLookup, HttpFault, RequestLimits};

use crate::server::{Reply, Server};

/// A public address without a server.
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 1, 1));
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Notations of private addresses.
const INSIDE: &[&str] = &[
    "http://127.0.0.1",
    "http://127.1",
    "http://127.0.1",
    "http://0x7f.1",
    "http://0x7f000001",
    "http://0177.0.0.1",
    "http://017700000001",
    "http://2130706433",
    "http://127.0.0.1.",
    "http://0",
    "http://0.0.0.0",
    "http://[::]",
    "http://[::1]",
    "http://[0:0:0:0:0:0:0:1]",
    "http://[::ffff:127.0.0.1]",
    "http://[::ffff:7f00:1]",
    "http://[::127.0.0.1]",
    "http://[64:ff9b::7f00:1]",
    "http://[2002:7f00:1::]",
    "http://[fe80::1]",
    "http://[fc00::1]",
    "http://[fd00:ec2::254]",
    "http://①②⑦.⓪.⓪.①",
    "http://127。0。0。1",
    "http://１２７.0.0.1",
    "http://localhost",
    "http://LOCALHOST",
    "http://localhost.",
    "http://a.localhost",
    "http://ⓛocalhost",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166",
    "http://0xA9FEA9FE",
    "http://[::ffff:a9fe:a9fe]",
    "http://metadata.google.internal",
    "http://metadata",
    "http://100.100.100.200",
    "http://168.63.129.16",
    "http://10.0.0.1",
    "http://172.16.0.1",
    "http://172.31.255.255",
    "http://192.168.0.1",
    "http://100.64.0.1",
    "http://198.18.0.1",
    "http://224.0.0.1",
    "http://255.255.255.255",
    "http://printer.local",
    "http://intranet",
    "http://db.internal",
];

/// Invalid addresses, and addresses that hide a private one.
const OTHERS: &[&str] = &[
    "file:///etc/passwd",
    "ftp://example.com",
    "gopher://example.com",
    "data:text/plain,x",
    "unix:/var/run/docker.sock",
    "http+unix://x",
    "http://user:password@example.com",
    "http://example.com@127.0.0.1",
    "http://example.com:22",
    "http://example.com:6379",
    "https://example.com:2375",
    "http://127.0.0.1%00.example.com",
    "http://[fe80::1%25eth0]",
    "http://",
    "//example.com",
    "example.com",
    "",
    "javascript:alert(1)",
    "http://exa mple.com",
];

#[test]
fn no_notation_gets_inside() {
    let client = GuardedClient::new(GuardRules::default());
    for url in INSIDE {
        assert!(
            matches!(client.check_url(url), Err(HttpFault::Refused(_) | HttpFault::Invalid(_))),
            "{url}: {:?}",
            client.check_url(url)
        );
    }
    for url in OTHERS {
        let told = client.check_url(url);
        assert!(matches!(told, Err(HttpFault::Refused(_) | HttpFault::Invalid(_))), "{url}: {told:?}");
    }
    for url in ["https://example.com", "http://example.com:443/a?b#c", "https://1.1.1.1", "https://[2606:4700::1111]"] {
        assert_eq!(client.check_url(url), Ok(()), "{url}");
    }
}

/// A name lookup with prepared answers, used in order.
struct Names {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

#[async_trait]
impl HostNameLookup for Names {
    async fn resolve_addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let n = self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.answers[n.min(self.answers.len() - 1)].clone())
    }
}

fn client(answers: &[&[IpAddr]], allow: &[&str]) -> GuardedClient {
    client_at(&[], answers, allow)
}

fn client_at(ports: &[u16], answers: &[&[IpAddr]], allow: &[&str]) -> GuardedClient {
    let lookup = Names { answers: answers.iter().map(|a| a.to_vec()).collect(), asked: AtomicUsize::new(0) };
    let limits =
        RequestLimits { time: Duration::from_secs(5), connect: Duration::from_millis(300), ..RequestLimits::default() };
    let allow = allow.iter().map(|host| host.parse().unwrap()).collect();
    GuardedClient::with_lookup(
        GuardRules { allow, ports: ports.to_vec(), limits, ..GuardRules::default() },
        Arc::new(lookup),
    )
}

#[tokio::test]
async fn a_name_that_means_this_machine_is_not_called() {
    let client = client(&[&[HERE]], &[]);
    let told = client.send(GuardedRequest::for_get("http://evil.example")).await.unwrap_err();
    assert_eq!(told, HttpFault::Refused("`evil.example`: 127.0.0.1 is a loopback address".to_owned()));
}

#[tokio::test]
async fn a_name_that_means_another_address_a_moment_later_gains_nothing() {
    // The operator allows the server's port, so that only its address can keep calls away.
    let server = Server::answering("200 OK", "", "secret").await;
    let port = server.address.port();
    for answers in [&[&[PUBLIC][..], &[HERE]][..], &[&[PUBLIC, HERE]], &[&[HERE, PUBLIC]], &[&[HERE]]] {
        let client = client_at(&[port], answers, &[]);
        for _ in 0..3 {
            let told = client.send(GuardedRequest::for_get(format!("http://evil.example:{port}"))).await;
            assert!(told.is_err(), "{told:?}");
        }
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_redirect_leads_nowhere_that_a_call_could_not_go() {
    let inner = Server::answering("200 OK", "", "secret").await;
    for to in INSIDE.iter().chain(OTHERS).map(|s| (*s).to_owned()).chain([inner.url("/")]) {
        if to.chars().any(char::is_control) {
            continue;
        }
        let outer = Server::answering("302 Found", &format!("Location: {to}\r\n"), "").await;
        let client = client(&[&[HERE]], &[&outer.address.to_string()]);
        // A target without a scheme is an address on the same server, which redirects again.
        let told = client.send(GuardedRequest::for_get(outer.url("/"))).await;
        assert!(told.is_err(), "{to}: {told:?}");
    }
    assert_eq!(inner.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let other = Server::answering("200 OK", "", "other").await;
    let first = Server::answering("307 Temporary Redirect", &format!("Location: {}\r\n", other.url("/x")), "").await;
    let client = client(&[&[HERE]], &[&first.address.to_string(), &other.address.to_string()]);
    let headers = ["Authorization", "Cookie", "X-Api-Key", "Accept"].map(|h| (h.to_owned(), format!("the-{h}")));
    let call = GuardedRequest { headers: headers.to_vec(), ..GuardedRequest::for_get(first.url("/")) };
    let told = client.send(call).await.unwrap_err();
    assert!(
        matches!(&told, HttpFault::Redirected { why, is_answered: false } if why.ends_with("which is another origin")),
        "{told}"
    );
    assert!(first.asked()[0].contains("the-Authorization"));
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_request_that_fails_after_a_redirect_was_sent() {
    let server = Server::new(|_, request| {
        let host = request.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        let to = format!("Location: http://me@{host}/x\r\nConnection: close\r\nContent-Length: 0");
        Reply::Bytes(format!("HTTP/1.1 307 Temporary Redirect\r\n{to}\r\n\r\n").into_bytes())
    })
    .await;
    let told = client(&[&[HERE]], &[&server.address.to_string()])
        .send(GuardedRequest::for_get(server.url("/")))
        .await
        .unwrap_err();
    assert!(told.may_have_arrived() && told.to_string().starts_with("it was redirected, and "), "{told:?}");
}

#[tokio::test]
async fn a_value_cannot_make_a_header_or_change_the_connection() {
    let server = Server::answering("200 OK", "", "").await;
    let client = client(&[&[HERE]], &[&server.address.to_string()]);
    for (name, value) in [
        ("X-A", "a\r\nX-B: b"),
        ("X-A\r\nX-B", "b"),
        ("X-A", "a\u{0}"),
        ("", "a"),
        ("Host", "internal"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("connection", "upgrade"),
        ("Proxy-Authorization", "x"),
    ] {
        let call = GuardedRequest {
            headers: vec![(name.to_owned(), value.to_owned())],
            ..GuardedRequest::for_get(server.url("/"))
        };
        assert!(matches!(client.send(call).await, Err(HttpFault::Invalid(_))), "{name:?}: {value:?}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn no_answer_takes_more_time_or_memory_than_it_may() {
    let limits = RequestLimits { time: Duration::from_millis(700), body: 1000, ..RequestLimits::default() };
    let try_with = async |reply: fn() -> Reply| {
        let server = Server::new(move |_, _| reply()).await;
        let rules =
            GuardRules { allow: vec![server.address.to_string().parse().unwrap()], limits, ..GuardRules::default() };
        let client = GuardedClient::new(rules);
        tokio::time::timeout(Duration::from_secs(20), client.send(GuardedRequest::for_get(server.url("/"))))
            .await
            .unwrap()
    };
    fn bytes(text: &str) -> Reply {
        Reply::Bytes(text.as_bytes().to_vec())
    }
    let told = try_with(|| Reply::Silence).await;
    assert_eq!(told.unwrap_err(), HttpFault::Timeout(1));
    let told = try_with(|| Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\nxxxxxxxxxxxx".to_vec())).await;
    assert_eq!(told.unwrap_err(), HttpFault::TooLarge(1000));
    let told = try_with(|| Reply::Endless(b"X: y\r\n".to_vec())).await;
    assert!(matches!(told.unwrap_err(), HttpFault::Broken(_)));
    let told =
        try_with(|| Reply::Bytes(format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(5000)).into_bytes())).await;
    assert!(matches!(told.unwrap_err(), HttpFault::Broken(_)));
    let told = try_with(|| bytes("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf")).await;
    assert!(matches!(told.unwrap_err(), HttpFault::Broken(_)));
    let told = try_with(|| bytes("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n")).await;
    assert!(matches!(told.unwrap_err(), HttpFault::Broken(_) | HttpFault::TooLarge(_)));
    // This body is small, but a compressed response could decompress to gigabytes.
    let told = try_with(|| bytes("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx")).await;
    assert!(matches!(told.unwrap_err(), HttpFault::Unusable(_)));
    let told =
        try_with(|| bytes("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")).await;
    assert_eq!(
        told.unwrap_err(),
        HttpFault::Redirected { why: "more than 5 redirects".to_owned(), is_answered: false }
    );
    let told = try_with(|| bytes("not http at all")).await;
    assert!(told.unwrap_err().may_have_arrived());
}
