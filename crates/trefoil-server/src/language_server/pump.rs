//! Brings the messages of a websocket to a language server and back. The server has a thread of its own, because analysing a folder
//! takes long; the thread ends with the session.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, interval_at, timeout, timeout_at};
use trefoil_lsp::server::{MessageSink, MessageSource, ProtocolMessage, serve_folder};
use trefoil_project::folder_files::FolderFiles;

use crate::access::Caller;
use crate::editor_slots::EditorSlot;
use crate::open_stream::OpenStream;
use crate::serving_phase::ServingPhase;
use crate::state::AppState;

/// Time between two pings.
const PING: Duration = Duration::from_secs(20);
/// A client that does not even answer pings for this time is gone.
const SILENCE: Duration = Duration::from_secs(70);
/// A session without a message of its client ends after this time.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// Time between two looks at whether the flows were loaded again.
const WATCH: Duration = Duration::from_millis(500);
/// What an editor sends when files have changed.
const FILES_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"workspace/didChangeWatchedFiles","params":{"changes":[]}}"#;
/// How long the last frame may take.
const GRACE: Duration = Duration::from_secs(5);
/// The most messages that wait for the server, or for the client.
const QUEUE: usize = 256;

/// A session that may begin.
pub struct SocketSession {
    pub state: AppState,
    pub caller: Caller,
    pub folder: FolderFiles,
    pub slot: EditorSlot,
}

/// Why a session ends.
enum SessionEnd {
    /// One of both sides has left.
    Left,
    /// What the client sends is no text.
    NoText,
    /// It is too long, or no frame.
    NotReadable,
    /// It sends nothing.
    Idle,
    /// The key was revoked.
    Revoked,
    /// The server stops.
    Stopping,
}

impl SessionEnd {
    fn close_frame(&self) -> CloseFrame {
        let (code, reason) = match self {
            Self::Left => (close_code::NORMAL, ""),
            Self::NoText => (close_code::UNSUPPORTED, "send one message of JSON-RPC in each text frame"),
            Self::NotReadable => (close_code::SIZE, "the message is too long, or is not a frame"),
            Self::Idle => (close_code::AWAY, "no message for 30 minutes"),
            Self::Revoked => (close_code::POLICY, "the key was revoked"),
            Self::Stopping => (close_code::RESTART, "the server is stopping"),
        };
        CloseFrame { code, reason: Utf8Bytes::from_static(reason) }
    }
}

/// A text that waits for the server.
struct QueuedText {
    text: Utf8Bytes,
    /// Its length counts until it is handled. `None`: it does not come from the client.
    room: Option<OwnedSemaphorePermit>,
}

struct QueuedTexts {
    texts: mpsc::Receiver<QueuedText>,
    /// The room that the messages of the batch that is handled take. So a batch is no longer than what may wait.
    rooms: Vec<OwnedSemaphorePermit>,
}

impl MessageSource for QueuedTexts {
    fn wait_batch(&mut self) -> Vec<ProtocolMessage> {
        let mut batch = Vec::new();
        self.rooms.clear();
        let mut next = self.texts.blocking_recv();
        while let Some(QueuedText { text, room }) = next {
            batch.push(ProtocolMessage::from_json(text.as_bytes()));
            self.rooms.extend(room);
            next = self.texts.try_recv().ok();
        }
        batch
    }
}

struct ClientTexts(mpsc::Sender<String>);

impl MessageSink for ClientTexts {
    fn send_message(&mut self, json: &str) -> bool {
        self.0.blocking_send(json.to_owned()).is_ok()
    }
}

impl SocketSession {
    /// Serves the client until one of both leaves, its key is revoked, or the server stops.
    pub async fn serve_socket(self, socket: WebSocket) {
        let Self { state, caller, folder, slot } = self;
        let mut open = OpenStream::new(&state, &caller);
        let (to_server, texts) = mpsc::channel(QUEUE);
        let (answers, mut for_client) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new().name("language-server".to_owned());
        let started = thread.spawn(move || {
            serve_folder(folder, &mut QueuedTexts { texts, rooms: Vec::new() }, &mut ClientTexts(answers));
            // As long as the thread lives, it takes the room of a session.
            drop(slot);
        });
        let (mut writer, mut reader) = socket.split();
        let end = tokio::select! {
            end = read_texts(&mut reader, &to_server, state.options.body_limit) => end,
            () = report_edits(&state, &to_server) => SessionEnd::Left,
            end = write_texts(&mut writer, &mut for_client), if started.is_ok() => end,
            () = poll_fn(|context| open.poll_revoked(context)) => SessionEnd::Revoked,
            () = state.phase.wait_phase(ServingPhase::Draining) => SessionEnd::Stopping,
        };
        let last = async {
            // The client may have closed the connection.
            let _ = writer.send(Message::Close(Some(end.close_frame()))).await;
            let _ = writer.close().await;
        };
        let _ = timeout(GRACE, last).await;
    }
}

async fn read_texts(
    reader: &mut SplitStream<WebSocket>,
    to_server: &mpsc::Sender<QueuedText>,
    limit: usize,
) -> SessionEnd {
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let room = Arc::new(Semaphore::new(limit as usize));
    let mut last_text = Instant::now();
    loop {
        let until = (Instant::now() + SILENCE).min(last_text + IDLE);
        let text = match timeout_at(until, reader.next()).await {
            Err(_) if last_text.elapsed() >= IDLE => return SessionEnd::Idle,
            Err(_) | Ok(None) => return SessionEnd::Left,
            Ok(Some(Ok(Message::Text(text)))) => text,
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue,
            Ok(Some(Ok(Message::Close(_)))) => return SessionEnd::Left,
            Ok(Some(Ok(Message::Binary(_)))) => return SessionEnd::NoText,
            Ok(Some(Err(_))) => return SessionEnd::NotReadable,
        };
        last_text = Instant::now();
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX).clamp(1, limit);
        let Ok(room) = room.clone().acquire_many_owned(bytes).await else { return SessionEnd::Left };
        if to_server.send(QueuedText { text, room: Some(room) }).await.is_err() {
            return SessionEnd::Left;
        }
    }
}

/// Tells the server when files of the folder have changed, as an editor does that watches them. A browser cannot. Returns when the server
/// has ended.
async fn report_edits(state: &AppState, to_server: &mpsc::Sender<QueuedText>) {
    let mut known = state.flows();
    loop {
        tokio::time::sleep(WATCH).await;
        let now = state.flows();
        if Arc::ptr_eq(&known, &now) {
            continue;
        }
        known = now;
        let text = Utf8Bytes::from_static(FILES_CHANGED);
        if to_server.send(QueuedText { text, room: None }).await.is_err() {
            return;
        }
    }
}

async fn write_texts(
    writer: &mut SplitSink<WebSocket, Message>,
    for_client: &mut mpsc::Receiver<String>,
) -> SessionEnd {
    let mut pings = interval_at(Instant::now() + PING, PING);
    loop {
        let message = tokio::select! {
            text = for_client.recv() => match text {
                Some(text) => Message::text(text),
                None => return SessionEnd::Left,
            },
            _ = pings.tick() => Message::Ping(bytes::Bytes::new()),
        };
        if writer.send(message).await.is_err() {
            return SessionEnd::Left;
        }
    }
}
