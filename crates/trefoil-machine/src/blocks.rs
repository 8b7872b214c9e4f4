//! Messages with more than text: a list of content blocks, as agntz passes them to a model.
//!
//! `{type: text, text}`, and `{type: image | audio}` with `url`, or with `base64` and `mediaType`. A `data:` URL counts
//! as base64.

use trefoil_template::Value;

/// A part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentBlock<'v> {
    /// Text.
    Text(&'v str),
    /// Media.
    Media(MediaBlock<'v>),
}

/// An image or audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaBlock<'v> {
    /// The kind.
    pub kind: MediaKind,
    /// The media type, if given: `image/png`.
    pub media_type: Option<&'v str>,
    /// The source of its bytes.
    pub source: MediaSource<'v>,
    /// The level of detail for the model: `low`, `high`, `auto`.
    pub detail: Option<&'v str>,
}

/// The kinds of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum MediaKind {
    Image,
    Audio,
}

impl MediaKind {
    /// The plural for use in a sentence.
    pub fn plural_name(self) -> &'static str {
        match self {
            Self::Image => "images",
            Self::Audio => "audio",
        }
    }
}

/// The source of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaSource<'v> {
    /// Inline, in base64.
    Base64(&'v str),
    /// At an address that the provider reads.
    Url(&'v str),
    /// At an address that requires headers, which no provider sends.
    Guarded,
    /// Stored in the hosted product.
    Artifact,
}

/// The blocks of a value. `None`: it is an ordinary value.
pub fn parse_blocks(value: &Value) -> Option<Vec<ContentBlock<'_>>> {
    let Value::List(items) = value else { return None };
    if items.is_empty() {
        return None;
    }
    items.iter().map(block).collect()
}

fn block(value: &Value) -> Option<ContentBlock<'_>> {
    let text = |name: &str| value.get(name)?.as_str();
    let kind = match text("type")? {
        "text" => return Some(ContentBlock::Text(text("text")?)),
        "image" => MediaKind::Image,
        "audio" => MediaKind::Audio,
        _ => return None,
    };
    let said = text("mediaType");
    let (media_type, source) = match (text("base64"), text("url"), text("artifactId")) {
        (Some(bytes), ..) => (said, MediaSource::Base64(bytes)),
        (_, Some(url), _) => match data(url) {
            Some((own, bytes)) => (said.or(own), MediaSource::Base64(bytes)),
            None if matches!(value.get("headers"), Some(headers) if headers.truth_value() != Some(false)) => {
                (said, MediaSource::Guarded)
            }
            None => (said, MediaSource::Url(url)),
        },
        (_, _, Some(_)) => (said, MediaSource::Artifact),
        _ => return None,
    };
    Some(ContentBlock::Media(MediaBlock { kind, media_type, source, detail: text("detail") }))
}

/// The type and the bytes of a `data:` URL in base64.
fn data(url: &str) -> Option<(Option<&str>, &str)> {
    let (head, bytes) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?.split(';').next().unwrap_or_default();
    Some((if media_type.is_empty() { None } else { Some(media_type) }, bytes))
}

/// The number of bytes of text that cost about as much as an image: 1,600 tokens.
const MEDIUM: usize = 6_000;

/// The size of a message for limits, in bytes of text.
pub fn content_size(content: &Value) -> Option<usize> {
    let bytes = |block: &ContentBlock<'_>| match block {
        ContentBlock::Text(text) => text.len(),
        ContentBlock::Media(_) => MEDIUM,
    };
    Some(parse_blocks(content)?.iter().map(bytes).sum())
}

/// The displayed form of a message: everything except the bytes of media.
pub fn render_content(content: &Value) -> Option<String> {
    let blocks = parse_blocks(content)?;
    let shown = blocks.iter().map(|block| match block {
        ContentBlock::Text(text) => (*text).to_owned(),
        ContentBlock::Media(media) => {
            let what = media.media_type.unwrap_or(match media.kind {
                MediaKind::Image => "image",
                MediaKind::Audio => "audio",
            });
            match media.source {
                MediaSource::Base64(bytes) => format!("[{what}, {} bytes]", bytes.trim_end_matches('=').len() * 3 / 4),
                MediaSource::Url(url) => format!("[{what} at {url}]"),
                MediaSource::Guarded | MediaSource::Artifact => format!("[{what}]"),
            }
        }
    });
    Some(shown.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_blocks_are_read_and_other_lists_are_not() {
        let blocks = json!([
            {"type": "text", "text": "What is this?"},
            {"type": "image", "base64": "aW1hZ2U=", "mediaType": "image/png"},
            {"type": "image", "url": "data:image/gif;base64,aW1hZ2U="},
            {"type": "audio", "url": "https://h/a.wav", "mediaType": "audio/wav"},
            {"type": "image", "url": "https://h/a.png", "headers": {"X": "y"}},
            {"type": "image", "artifactId": "art_1"},
        ]);
        let value = Value::from_json(blocks);
        let blocks = parse_blocks(&value).unwrap();
        let media =
            |kind, media_type, source| ContentBlock::Media(MediaBlock { kind, media_type, source, detail: None });
        assert_eq!(
            blocks,
            [
                ContentBlock::Text("What is this?"),
                media(MediaKind::Image, Some("image/png"), MediaSource::Base64("aW1hZ2U=")),
                media(MediaKind::Image, Some("image/gif"), MediaSource::Base64("aW1hZ2U=")),
                media(MediaKind::Audio, Some("audio/wav"), MediaSource::Url("https://h/a.wav")),
                media(MediaKind::Image, None, MediaSource::Guarded),
                media(MediaKind::Image, None, MediaSource::Artifact),
            ]
        );
        assert_eq!(
            render_content(&value).unwrap(),
            "What is this?\n[image/png, 5 bytes]\n[image/gif, 5 bytes]\n[audio/wav at https://h/a.wav]\n[image]\n[image]"
        );
        for other in
            [json!([]), json!(["a"]), json!([{"type": "video"}]), json!([{"type": "image"}]), json!({"type": "text"})]
        {
            assert_eq!(parse_blocks(&Value::from_json(other.clone())), None, "{other}");
        }
    }
}
