//! The requirements for every tool host, tested with the hosts of this crate.

use std::sync::Arc;

use trefoil_ir::ToolKind;
use trefoil_machine::ToolRequest;
use trefoil_runtime::conformance::{ToolSample, check_tools};
use trefoil_template::Value;
use trefoil_tools::HttpTools;
use trefoil_tools::guard::{GuardRules, GuardedClient};

use crate::server::{Reply, Server};

fn request(kind: ToolKind, url: String) -> ToolRequest {
    ToolRequest { name: "fetch".into(), kind, arguments: [("url", Value::from(url))].into_iter().collect() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_tools_conform() {
    let answer = |status: &str, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    let server = Server::new(move |_, asked| match asked.starts_with("GET /good ") {
        true => Reply::Bytes(answer("200 OK", "application/json", r#"{"said": "tea"}"#).into_bytes()),
        false => Reply::Bytes(answer("500 No Tea", "text/plain", "").into_bytes()),
    })
    .await;
    let rules = GuardRules { allow: vec![server.address.to_string().parse().unwrap()], ..GuardRules::default() };
    let sample = ToolSample {
        works: Some((
            request(ToolKind::Http, server.url("/good")),
            [("said", Value::from("tea"))].into_iter().collect(),
        )),
        fails: Some(request(ToolKind::Http, server.url("/bad"))),
        unknown: request(ToolKind::Python, server.url("/bad")),
        lists: Vec::new(),
    };
    check_tools(Arc::new(HttpTools::new(GuardedClient::new(rules))), &sample).await.unwrap();
}
