//! Server-sent events, decoded as they arrive, each with its id: <https://html.spec.whatwg.org/multipage/server-sent-events.html>.
//!
//! Own code and no library, because a server that never ends a line must not fill the memory.

use trefoil_template::limits;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseFrame {
    /// Its name.
    pub name: String,
    /// Its data lines, joined by line breaks.
    pub data: String,
    /// The id by which the stream is taken up again after it, if it has one.
    pub id: Option<String>,
}

/// Decodes bytes into frames.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    line: Vec<u8>,
    after_cr: bool,
    open: SseFrame,
    has_data: bool,
}

impl FrameDecoder {
    /// Adds bytes, and returns the frames that they complete. A frame that the end of the stream cuts off is never returned.
    ///
    /// # Errors
    ///
    /// A frame is too long.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<Vec<SseFrame>, String> {
        let mut frames = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::take(&mut self.after_cr);
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    if let Some(frame) = self.end_line(&String::from_utf8_lossy(&line)) {
                        frames.push(frame);
                    }
                }
                _ if self.line.len() + self.open.data.len() >= limits::ANSWER_BYTES => {
                    return Err(format!("sent an event of more than {} MB", limits::ANSWER_BYTES >> 20));
                }
                _ => self.line.push(byte),
            }
        }
        Ok(frames)
    }

    fn end_line(&mut self, line: &str) -> Option<SseFrame> {
        if line.is_empty() {
            let frame = std::mem::take(&mut self.open);
            return if std::mem::take(&mut self.has_data) { Some(frame) } else { None };
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.open.data.push('\n');
                }
                self.open.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.open.name),
            "id" => self.open.id = Some(value.to_owned()),
            // Comments, and what other servers add.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&str]) -> Vec<SseFrame> {
        let mut decoder = FrameDecoder::default();
        pieces.iter().flat_map(|piece| decoder.push_bytes(piece.as_bytes()).unwrap()).collect()
    }

    #[test]
    fn frames_are_complete_wherever_their_bytes_are_cut() {
        let text = ": alive\n\nid: 7\nevent: warning\ndata: {\"a\":\r\ndata:1}\r\n\r\ndata: é\n\ndata: cut";
        let whole = decode(&[text]);
        assert_eq!(whole.len(), 2, "{whole:?}");
        assert_eq!(whole[0], SseFrame { name: "warning".into(), data: "{\"a\":\n1}".into(), id: Some("7".into()) });
        assert_eq!((whole[1].data.as_str(), &whole[1].id), ("é", &None), "streamed text has no id");
        let mut decoder = FrameDecoder::default();
        let pieces: Vec<SseFrame> = text.bytes().flat_map(|byte| decoder.push_bytes(&[byte]).unwrap()).collect();
        assert_eq!(pieces, whole);
    }

    #[test]
    fn a_line_that_never_ends_is_an_error() {
        let mut decoder = FrameDecoder::default();
        let chunk = vec![b'x'; 1 << 20];
        let ended = (0..64).find_map(|_| decoder.push_bytes(&chunk).err());
        assert_eq!(ended.as_deref(), Some("sent an event of more than 32 MB"));
    }
}
