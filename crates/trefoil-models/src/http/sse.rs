//! Server-sent events, decoded as they arrive: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.
//!
//! Supports only the fields that model providers send, `event` and `data`; ids, retries and comments are skipped. A line
//! that is no field is an error of the server, such as the text of its failure.

use trefoil_template::{limits, read_piece};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; `message` if it has none.
    pub name: String,
    /// Its data lines, joined by line breaks.
    pub data: String,
}

impl SseEvent {
    /// Whether it is the mark that OpenAI and others send after the last event.
    pub fn is_done(&self) -> bool {
        self.data.trim() == "[DONE]"
    }

    /// Parses its data, for protocols whose events are JSON. Its texts are pieces: see [`read_piece`].
    pub fn parse_json(&self) -> serde_json::Result<serde_json::Value> {
        read_piece(&self.data)
    }
}

/// This many bytes are enough for [`looks_like_events`].
pub const ENOUGH: usize = 16;

/// Whether a response that starts with these bytes is a stream of events, whatever its content type says.
pub fn looks_like_events(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes).trim_ascii_start();
    FIELDS.iter().any(|field| bytes.starts_with(field.as_bytes()))
}

/// The name of an event that is an error, and of the line that some servers send instead.
pub const ERROR: &str = "error";

/// Whether a line is text between events. Fields that the standard does not know have a name, too.
fn is_stray(line: &str) -> bool {
    let (field, _) = line.split_once(':').unwrap_or((line, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    // The start of a field that was cut is none.
    let is_start = || FIELDS.iter().any(|known| known.starts_with(line));
    !line.trim().is_empty() && (!field.chars().all(is_name) || (!line.contains(':') && !is_start()))
}

/// How lines start.
const FIELDS: [&str; 5] = ["data:", "event:", "id:", "retry:", ":"];

/// The byte order mark in UTF-8.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Decodes bytes into events.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    after_cr: bool,
    /// Whether the first line was read. Only that line may start with a byte order mark.
    begun: bool,
    name: String,
    data: Option<String>,
    /// A line of an event has been read, and the blank line that ends it has not.
    open: bool,
    /// Whether each line is an event.
    lines: bool,
}

impl SseDecoder {
    /// Decodes JSON lines, as Ollama streams them: each line is the data of an event.
    pub fn of_lines() -> Self {
        Self { lines: true, ..Self::default() }
    }

    /// Adds bytes and returns the events that they complete. The caller must stop after an error.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<SseEvent, String>> {
        let mut out = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    let first = !std::mem::replace(&mut self.begun, true);
                    let mark = if first && line.starts_with(BOM) { BOM.len() } else { 0 };
                    match String::from_utf8(line.get(mark..).unwrap_or_default().to_vec()) {
                        Ok(line) => {
                            if let Some(event) = self.line(&line) {
                                out.push(Ok(event));
                            }
                        }
                        Err(_) => out.push(Err("sent an event that is not UTF-8".to_owned())),
                    }
                }
                _ if self.line.len() >= limits::EVENT_BYTES => {
                    self.line.clear();
                    out.push(Err("sent an event that is too long".to_owned()));
                }
                _ => self.line.push(byte),
            }
        }
        out
    }

    /// Whether a part of an event has arrived. Comments are none.
    pub fn is_open(&self) -> bool {
        let line = self.line.trim_ascii();
        self.open || !line.is_empty() && (self.lines || !line.starts_with(b":"))
    }

    /// The event that the end of the body completes. The standard discards it; but some servers leave out the last line
    /// break, and what is whole JSON was not cut. If it was cut, the decoder stays [open](Self::is_open).
    pub fn finish_stream(&mut self) -> Option<SseEvent> {
        if !self.is_open() {
            return None;
        }
        let mut events = self.push(b"\n");
        if !self.lines {
            events.extend(self.push(b"\n"));
        }
        let event = match events.into_iter().find_map(Result::ok) {
            Some(event) if event.name == ERROR || event.is_done() || event.parse_json().is_ok() => Some(event),
            _ => None,
        };
        self.open = event.is_none();
        event
    }

    fn line(&mut self, line: &str) -> Option<SseEvent> {
        if self.lines {
            let data = line.trim();
            if data.is_empty() {
                return None;
            }
            return Some(SseEvent { name: "message".to_owned(), data: data.to_owned() });
        }
        if line.is_empty() {
            self.open = false;
            let name = std::mem::take(&mut self.name);
            let data = self.data.take()?;
            return Some(SseEvent { name: if name.is_empty() { "message".to_owned() } else { name }, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        if field == ERROR || is_stray(line) {
            let data = if field == ERROR { value } else { line };
            return Some(SseEvent { name: ERROR.to_owned(), data: data.trim().to_owned() });
        }
        self.open |= !field.is_empty() && !field.trim().is_empty();
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::default();
        chunks.iter().flat_map(|c| decoder.push(c)).map(|e| e.map(|e| (e.name, e.data)).unwrap()).collect()
    }

    #[test]
    fn events_survive_any_cut() {
        let text = "event: a\ndata: {\"x\":\ndata: 1}\n\n: ping\r\n\r\ndata:é\r\rid: 7\ndata:  two\n\n".as_bytes();
        let whole = decode(&[text]);
        assert_eq!(
            whole,
            [("a".into(), "{\"x\":\n1}".into()), ("message".into(), "é".into()), ("message".into(), " two".into())]
        );
        for cut in 0..text.len() {
            assert_eq!(decode(&[&text[..cut], &text[cut..]]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_byte_order_mark_at_the_start_is_no_part_of_the_first_field() {
        let text = "\u{feff}data: 1\n\n\u{feff}data: 2\n\n".as_bytes();
        for cut in 0..text.len() {
            let events = decode(&[&text[..cut], &text[cut..]]);
            let later = ("error".to_owned(), "\u{feff}data: 2".to_owned());
            assert_eq!(events, [("message".into(), "1".into()), later], "cut at {cut}");
        }
    }

    #[test]
    fn the_end_of_a_body_completes_what_is_whole_and_leaves_open_what_is_not() {
        let table: [(&str, Option<&str>, bool); 17] = [
            ("", None, false),
            (": ping", None, false),
            ("\r\n  ", None, false),
            ("data: 1\n\n", None, false),
            ("data: 1\n\nid: 7\n\n", None, false),
            ("data: {}", Some("{}"), false),
            ("data: {}\n", Some("{}"), false),
            ("data: {}\r", Some("{}"), false),
            ("data:[DONE]", Some("[DONE]"), false),
            ("data: {", None, true),
            ("data: {\ndata: \"a\":", None, true),
            ("dat", None, true),
            ("data", None, true),
            ("event: message_stop", None, true),
            ("event: message_stop\n", None, true),
            ("id: 7\n", None, true),
            ("Internal Server Error", Some("Internal Server Error"), false),
        ];
        for (text, last, is_open) in table {
            let mut decoder = SseDecoder::default();
            decoder.push(text.as_bytes());
            assert_eq!(decoder.finish_stream().map(|event| event.data).as_deref(), last, "{text}");
            assert_eq!(decoder.is_open(), is_open, "{text}");
        }
        let mut decoder = SseDecoder::of_lines();
        decoder.push(b"{}\n{\"a\":");
        assert_eq!((decoder.finish_stream(), decoder.is_open()), (None, true));
    }

    #[test]
    fn text_between_events_is_an_error() {
        for line in
            ["Internal Server Error", "{\"error\":1}", "<html>", "Traceback (most recent call last):", "error: {}"]
        {
            let events = decode(&[b"data: 1\n\n", line.as_bytes(), b"\n\n"]);
            let said = line.strip_prefix("error: ").unwrap_or(line);
            assert_eq!(events[1..], [("error".to_owned(), said.to_owned())], "{line}");
        }
        for line in [": Internal Server Error", "retry: 3", "x-note: hi", "id", "  "] {
            assert_eq!(decode(&[b"data: 1\n\n", line.as_bytes(), b"\n\n"]).len(), 1, "{line}");
        }
    }

    #[test]
    fn what_is_not_text_is_an_error() {
        let mut decoder = SseDecoder::default();
        assert!(decoder.push(b"data: \xff\n\n")[0].is_err());
    }
}
