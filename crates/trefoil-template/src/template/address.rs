//! Web addresses: a placeholder's value is data and cannot change the structure of the address.
//!
//! Before `://`, a value may be the address itself (a base URL from the environment). In the host, only characters that
//! hosts consist of are kept, so a value cannot end the host. After the host, the whole value is percent-encoded (RFC
//! 3986, 2.3: letters, digits and `-._~` are kept), so a value with `/`, `?`, `#` or `&` is one path segment or one
//! query value.
//!
//! Holes (the environment, secrets) are the operator's, so the driver inserts them unchanged.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::PartOrigin;
use super::renderer::RenderSink;
use crate::value::{Hole, MaskedBuilder, TextTarget, Value};

/// All characters except the unreserved ones of RFC 3986.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same without the characters that hosts and ports consist of.
const HOST: &AsciiSet = &VALUE.remove(b':').remove(b'[').remove(b']');

/// The current part of an address.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum UrlSection {
    #[default]
    Scheme,
    Host,
    Rest,
}

/// An address under construction.
#[derive(Debug, Default)]
pub(crate) struct UrlBuilder {
    done: MaskedBuilder,
    len: usize,
    /// The text since the end of the last part.
    open: String,
    at: UrlSection,
    /// The last bytes written, enough to recognise `://`.
    tail: String,
}

impl UrlBuilder {
    pub fn into_value(mut self) -> Value {
        self.close(false);
        self.done.into_value()
    }

    /// Writes the text so far, percent-encoded if it is a value.
    fn close(&mut self, value: bool) {
        let text = std::mem::take(&mut self.open);
        let written = match (value, self.at) {
            (true, UrlSection::Host) => utf8_percent_encode(&text, HOST).to_string(),
            (true, UrlSection::Rest) => utf8_percent_encode(&text, VALUE).to_string(),
            _ => text,
        };
        self.advance(&written);
        self.done.write_text(&written);
    }

    fn advance(&mut self, written: &str) {
        self.tail.push_str(written);
        if self.at == UrlSection::Scheme
            && let Some((_, rest)) = self.tail.split_once("://")
        {
            self.at = UrlSection::Host;
            self.tail = rest.to_owned();
        }
        if self.at == UrlSection::Host && self.tail.contains(['/', '?', '#', '\\']) {
            self.at = UrlSection::Rest;
        }
    }
}

impl TextTarget for UrlBuilder {
    fn write_text(&mut self, text: &str) {
        self.len += text.len();
        self.open.push_str(text);
    }
    fn write_hole(&mut self, hole: &Hole) {
        self.len += crate::value::HIDDEN.len();
        self.close(true);
        self.done.write_hole(hole);
        if self.at == UrlSection::Scheme {
            // Whatever it contains, it is the start of an address whose host the operator controls.
            self.at = UrlSection::Host;
        }
    }
}

impl RenderSink for UrlBuilder {
    const TRACES: bool = true;
    const PARTS: bool = true;
    fn len(&self) -> usize {
        self.len
    }
    fn record_part(&mut self, from: PartOrigin) {
        self.close(!matches!(from, PartOrigin::Literal(_)));
    }
}
