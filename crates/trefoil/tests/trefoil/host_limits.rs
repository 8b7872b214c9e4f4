//! Host limits, tested with a server that counts concurrent calls.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use trefoil::models::Registry;
use trefoil::ports::{HostLimits, ProviderLimits};
use trefoil::{Engine, Flow};

const AGENT: &str = "id: a\nkind: llm\nmodel: { provider: openai, name: m }\ninstruction: I.\nprompt: '{{word}}'\n\
                     inputSchema: { word: string }\n";

/// Calls in progress, their maximum, and their total.
#[derive(Default)]
struct Counts {
    now: AtomicUsize,
    most: AtomicUsize,
    all: AtomicUsize,
    /// Whether responses are held back.
    held: AtomicBool,
}

fn serve(counts: &Counts, mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(n) = line.to_lowercase().strip_prefix("content-length:") {
            length = n.trim().parse().unwrap();
        }
        line.clear();
    }
    reader.read_exact(&mut vec![0; length])?;
    counts.all.fetch_add(1, Ordering::SeqCst);
    counts.most.fetch_max(counts.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(30));
    while counts.held.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    counts.now.fetch_sub(1, Ordering::SeqCst);
    let body = r#"{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn server() -> (Arc<Counts>, Engine) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let counts = Arc::new(Counts::default());
    let own = counts.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let own = own.clone();
            std::thread::spawn(move || serve(&own, stream));
        }
    });
    let environment = [("OPENAI_API_KEY".to_owned(), "k".to_owned()), ("OPENAI_BASE_URL".to_owned(), address)];
    (counts, Engine::new().registry(Registry::new(environment)))
}

async fn most_of_twelve(counts: &Counts, engine: &Engine) -> usize {
    let flow = Flow::from_text("a.yaml", AGENT).unwrap();
    counts.most.store(0, Ordering::SeqCst);
    let runs: Vec<_> =
        (0..12).map(|n| engine.start_run(&flow, serde_json::json!({"word": n.to_string()})).unwrap()).collect();
    for run in runs {
        let text: String = run.wait_output().await.unwrap();
        assert_eq!(text, "x");
    }
    counts.most.load(Ordering::SeqCst)
}

#[tokio::test]
async fn no_more_calls_are_under_way_than_may_be() {
    let (counts, engine) = server();
    let limits = HostLimits { in_flight: Some(3), ..HostLimits::default() };
    assert_eq!(most_of_twelve(&counts, &engine.clone().host_limits(&limits)).await, 3);
    let one = ProviderLimits { in_flight: Some(2), ..ProviderLimits::default() };
    let providers = [("openai".to_owned(), one)].into_iter().collect();
    let limits = HostLimits { providers, ..HostLimits::default() };
    assert_eq!(most_of_twelve(&counts, &engine.clone().host_limits(&limits)).await, 2);
    assert!(most_of_twelve(&counts, &engine).await > 3, "else there are more");
}

#[tokio::test]
async fn a_run_that_is_stopped_leaves_the_queue_and_engines_made_of_one_share_it() {
    let (counts, engine) = server();
    let engine = engine.host_limits(&HostLimits { in_flight: Some(1), ..HostLimits::default() });
    let flow = Flow::from_text("a.yaml", AGENT).unwrap();
    let start = |engine: &Engine, word: &str| engine.start_run(&flow, serde_json::json!({ "word": word })).unwrap();
    counts.held.store(true, Ordering::SeqCst);
    let first = start(&engine, "first");
    while counts.all.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let second = start(&engine, "second");
    let third = start(&engine.clone().max_calls(7), "third");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(counts.all.load(Ordering::SeqCst), 1, "the others wait, whichever engine they are of");
    drop(second);
    counts.held.store(false, Ordering::SeqCst);
    let _: String = first.wait_output().await.unwrap();
    let _: String = third.wait_output().await.unwrap();
    assert_eq!(counts.all.load(Ordering::SeqCst), 2, "the second was not made");
}
