//! Calls that are allowed.

use std::time::Duration;

use reqwest::Method;
use trefoil_tools::guard::{GuardRules, GuardedClient, GuardedRequest, HttpFault, RequestLimits};

use crate::server::{Reply, Server};

fn client(server: &Server) -> GuardedClient {
    let limits = RequestLimits { time: Duration::from_secs(30), ..RequestLimits::default() };
    GuardedClient::new(GuardRules {
        allow: vec![server.address.to_string().parse().unwrap()],
        limits,
        ..GuardRules::default()
    })
}

#[tokio::test]
async fn what_is_sent_arrives_and_what_comes_back_is_whole() {
    let server = Server::answering("418 I'm a teapot", "X-Kind: tea\r\n", "short and stout").await;
    let call = GuardedRequest {
        method: Method::PUT,
        headers: vec![("X-One".to_owned(), "1".to_owned()), ("X-One".to_owned(), "2".to_owned())],
        body: Some(b"in".to_vec()),
        ..GuardedRequest::for_get(server.url("/pot?a=b%20c"))
    };
    let answer = client(&server).send(call).await.unwrap();
    assert_eq!((answer.status.as_u16(), &*answer.body), (418, &b"short and stout"[..]));
    assert_eq!(answer.headers["x-kind"], "tea");
    let asked = server.asked().join("");
    assert!(asked.starts_with("PUT /pot?a=b%20c HTTP/1.1\r\n") && asked.ends_with("\r\n\r\nin"), "{asked}");
    assert!(asked.contains("x-one: 1\r\nx-one: 2\r\n") && asked.contains("accept-encoding: identity\r\n"), "{asked}");
}

#[tokio::test]
async fn redirects_to_the_same_origin_are_followed_as_the_standard_says() {
    for (status, method, then) in [
        ("301 Moved", Method::POST, "GET"),
        ("302 Found", Method::POST, "GET"),
        ("302 Found", Method::PUT, "PUT"),
        ("303 See Other", Method::PUT, "GET"),
        ("307 Temporary Redirect", Method::POST, "POST"),
        ("308 Permanent Redirect", Method::POST, "POST"),
    ] {
        let server = Server::new(move |n, _| {
            let answer = match n {
                0 => format!("HTTP/1.1 {status}\r\nLocation: /next\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
                _ => "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_owned(),
            };
            Reply::Bytes(answer.into_bytes())
        })
        .await;
        let headers = vec![("Authorization".to_owned(), "key".to_owned())];
        let call = GuardedRequest {
            method: method.clone(),
            headers,
            body: Some(b"in".to_vec()),
            ..GuardedRequest::for_get(server.url("/"))
        };
        let answer = client(&server).send(call).await.unwrap();
        assert_eq!(&*answer.body, b"ok");
        let second = &server.asked()[1];
        assert!(second.starts_with(&format!("{then} /next ")) && second.contains("authorization: key"), "{second}");
        assert_eq!(second.ends_with("\r\n\r\nin"), then != "GET", "{status}: {second}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable_and_was_sent_nothing() {
    let server = Server::new(|_, _| Reply::Silence).await;
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let rules = GuardRules { allow: vec![gone.to_string().parse().unwrap()], ..GuardRules::default() };
    let told = GuardedClient::new(rules)
        .send(GuardedRequest::for_get(format!("http://{gone}/secret?key=1")))
        .await
        .unwrap_err();
    assert!(matches!(&told, HttpFault::Unreachable(what) if !what.contains("key")), "{told}");
    assert!(!told.may_have_arrived());
    let call = GuardedRequest { time: Some(Duration::from_millis(200)), ..GuardedRequest::for_get(server.url("/")) };
    assert_eq!(client(&server).send(call).await.unwrap_err(), HttpFault::Timeout(1));
}
