//! Messages with media, in each provider's format. Media that a provider does not accept are an error before anything
//! is sent.

use serde_json::{Value as Json, json};
use trefoil_runtime::blocks::{self, ContentBlock, MediaBlock, MediaSource};
use trefoil_runtime::{ModelError, ModelErrorKind, ModelMessage};

use super::ProviderEndpoint;
use super::body::set_member;

/// The form that works with every provider.
const INLINE: &str = "pass the bytes as `base64`, with `mediaType`";

/// Converts a message with content blocks; `text` and `media` convert one block. `None` if the message is plain text.
/// `media` returns `None` for media that the provider does not accept.
pub(super) fn content_parts(
    endpoint: &ProviderEndpoint,
    message: &ModelMessage,
    text: impl Fn(&str) -> Json,
    media: impl Fn(&MediaBlock<'_>) -> Option<Json>,
) -> Result<Option<Vec<Json>>, ModelError> {
    let Some(blocks) = blocks::parse_blocks(&message.content) else { return Ok(None) };
    let mut parts = Vec::new();
    for block in &blocks {
        match block {
            ContentBlock::Text(said) => parts.push(text(said)),
            ContentBlock::Media(block) => {
                readable(endpoint, block)?;
                let Some(part) = media(block) else {
                    let inline = MediaBlock { source: MediaSource::Base64(""), ..*block };
                    return Err(not_accepted(endpoint, block, media(&inline).is_some()));
                };
                parts.push(part);
            }
        }
    }
    Ok(Some(parts))
}

/// The content of a message: its text, or a list of blocks with types, in which that of a text is `text_type`.
pub(super) fn typed_content(
    endpoint: &ProviderEndpoint,
    message: &ModelMessage,
    text_type: &str,
    media: impl Fn(&MediaBlock<'_>) -> Option<Json>,
) -> Result<Json, ModelError> {
    let blocks = content_parts(endpoint, message, |text| json!({"type": text_type, "text": text}), media)?;
    Ok(match blocks {
        Some(blocks) => Json::from(blocks),
        None => Json::from(&*message.content.to_text()),
    })
}

/// An image in the form of chat completions, which other providers also use.
pub(super) fn image_url(media: &MediaBlock<'_>) -> Json {
    let mut image = json!({"url": media_url(media)});
    if let Some(detail) = media.detail {
        set_member(&mut image, "detail", detail);
    }
    json!({"type": "image_url", "image_url": image})
}

/// A data URL such as `data:image/png;base64,...`, or the address.
pub(super) fn media_url(media: &MediaBlock<'_>) -> String {
    match media.source {
        MediaSource::Base64(bytes) => format!("data:{};base64,{bytes}", media.media_type.unwrap_or_default()),
        MediaSource::Url(url) => url.to_owned(),
        MediaSource::Guarded | MediaSource::Artifact => String::new(),
    }
}

/// The short name of an audio format: `mp3` for `audio/mpeg`.
pub(super) fn audio_format(media: &MediaBlock<'_>) -> String {
    let subtype = media.media_type.unwrap_or_default().rsplit('/').next().unwrap_or_default();
    match subtype {
        "mpeg" => "mp3",
        "x-wav" | "wave" | "vnd.wave" => "wav",
        other => other,
    }
    .to_owned()
}

fn readable(endpoint: &ProviderEndpoint, media: &MediaBlock<'_>) -> Result<(), ModelError> {
    let kind = media.kind.plural_name();
    let (what, help) = match (media.source, media.media_type) {
        (MediaSource::Guarded, _) => (format!("fetches {kind} from URLs itself and cannot send `headers`"), INLINE),
        (MediaSource::Artifact, _) => {
            (format!("cannot read {kind} by `artifactId`, because artifacts belong to the hosted agntz"), INLINE)
        }
        (MediaSource::Base64(_), None) => {
            let help = "add `mediaType` to the block, such as `image/png`";
            (format!("needs the `mediaType` of {kind} passed as bytes"), help)
        }
        _ => return Ok(()),
    };
    Err(refused_media_error(endpoint, &what, help))
}

/// `inline`: whether the provider would accept the media as bytes.
fn not_accepted(endpoint: &ProviderEndpoint, media: &MediaBlock<'_>, inline: bool) -> ModelError {
    let what = media.kind.plural_name();
    if inline {
        return refused_media_error(endpoint, &format!("does not read {what} from a URL"), INLINE);
    }
    let help = "choose a model of another provider for this step";
    refused_media_error(endpoint, &format!("does not accept {what} through this API"), help)
}

fn refused_media_error(endpoint: &ProviderEndpoint, what: &str, help: &str) -> ModelError {
    ModelError { help: Some(help.to_owned()), ..endpoint.provider_error(ModelErrorKind::Setup, what) }
}
