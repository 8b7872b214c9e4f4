//! Connections: accepted up to a number, with TLS or without, each with time limits for its handshake and its headers, so that
//! slow and silent clients cost little and keep nobody out.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::serving_phase::{PhaseWatch, ServingPhase};

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

/// How long a client may take for its handshake, and for the headers of a request. Also how long an idle connection stays.
const HEADERS: Duration = Duration::from_secs(30);
/// The most connections at a time. Further clients wait until one is closed.
const CONNECTIONS: usize = 20_000;
/// Files that stay for the store, models and commands, however many connections there are.
const OTHER_FILES: usize = 512;
/// How long a client may leave what was sent to it unconfirmed: a machine that is gone, or a client that reads nothing.
#[cfg(target_os = "linux")]
const SILENCE: Duration = Duration::from_secs(60);
/// How long connections in progress may take to end when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// Serves until it is told to stop; then requests in progress may end.
///
/// # Errors
///
/// The socket cannot be used.
pub async fn serve_connections(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    phase: PhaseWatch,
) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(most_connections()));
    let mut open = JoinSet::new();
    loop {
        let permit = tokio::select! {
            permit = permits.clone().acquire_owned() => permit,
            () = phase.wait_phase(ServingPhase::Closing) => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = phase.wait_phase(ServingPhase::Closing) => break,
            Some(_) = open.join_next(), if !open.is_empty() => continue,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_connection(&error) => continue,
            // Too many open files: others will be closed.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        limit_silence(&stream);
        let (router, tls, phase) = (router.clone(), tls.clone(), phase.clone());
        open.spawn(async move {
            let _permit = permit;
            match tls {
                None => serve_stream(stream, from, router, phase).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(HEADERS, tls.accept(stream)).await {
                        serve_stream(stream, from, router, phase).await;
                    }
                }
            }
        });
    }
    let all = async { while open.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, all).await;
    Ok(())
}

/// Serves the requests of one connection.
async fn serve_stream<S>(stream: S, from: SocketAddr, router: Router, phase: PhaseWatch)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let begun = Arc::new(AtomicBool::new(false));
    let has_request = begun.clone();
    let service = tower::service_fn(move |request: http::Request<Incoming>| {
        begun.store(true, Ordering::Relaxed);
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(ConnectInfo(from));
        router.clone().call(http::Request::from_parts(parts, axum::body::Body::new(body)))
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(HEADERS).max_concurrent_streams(128);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    // The timer of the headers starts with the first byte, and that of HTTP/2 never ends for a client that confirms pings.
    let silent = async {
        tokio::time::sleep(HEADERS).await;
        if has_request.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        _ = connection.as_mut() => {}
        () = silent => {}
        () = phase.wait_phase(ServingPhase::Closing) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// How many connections fit into the open files that this process may have.
fn most_connections() -> usize {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        if let Some(files) = limit.current {
            let files = usize::try_from(files).unwrap_or(usize::MAX);
            return files.saturating_sub(OTHER_FILES).clamp(64, CONNECTIONS);
        }
    }
    CONNECTIONS
}

/// Ends a connection of which the other end confirms nothing: a machine that is gone says so to nobody.
fn limit_silence(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    {
        let most = u32::try_from(SILENCE.as_millis()).unwrap_or(u32::MAX);
        let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, most);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

/// Whether an error concerns only the connection that was to be accepted.
fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}
