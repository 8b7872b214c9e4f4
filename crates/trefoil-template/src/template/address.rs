//! Text of a web address: what a placeholder brings is data, and opens no part of the address.
//!
//! Before `://`, a value may be the address itself (a base from the environment). In the host it keeps what hosts are made of, so
//! it cannot end the host. After the host all of it is percent-encoded (RFC 3986, 2.3: letters, digits and `-._~` stay), so a
//! value with `/`, `?`, `#` or `&` in it is one segment of a path or one value of a query.
//!
//! What only the driver fills in (the environment, secrets) is the operator's, and is put in as it is.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Produced;
use super::render::Sink;
use crate::value::{Hole, Pieces, Target, Value};

/// All but what RFC 3986 calls unreserved.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same with what hosts and ports are made of.
const HOST: &AsciiSet = &VALUE.remove(b':').remove(b'[').remove(b']');

/// How far an address is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AddressPart {
    #[default]
    Scheme,
    Host,
    Rest,
}

/// An address while it is written.
#[derive(Debug, Default)]
pub(crate) struct Address {
    done: Pieces,
    len: usize,
    /// What came since the last part ended.
    open: String,
    at: AddressPart,
    /// The last bytes that were written; enough to see `://`.
    tail: String,
}

impl Address {
    pub fn into_value(mut self) -> Value {
        self.close(false);
        self.done.into_value()
    }

    /// Writes what came, encoded where it is a value.
    fn close(&mut self, value: bool) {
        let text = std::mem::take(&mut self.open);
        let written = match (value, self.at) {
            (true, AddressPart::Host) => utf8_percent_encode(&text, HOST).to_string(),
            (true, AddressPart::Rest) => utf8_percent_encode(&text, VALUE).to_string(),
            _ => text,
        };
        self.advance(&written);
        self.done.text(&written);
    }

    fn advance(&mut self, written: &str) {
        self.tail.push_str(written);
        if self.at == AddressPart::Scheme
            && let Some((_, rest)) = self.tail.split_once("://")
        {
            self.at = AddressPart::Host;
            self.tail = rest.to_owned();
        }
        if self.at == AddressPart::Host && self.tail.contains(['/', '?', '#', '\\']) {
            self.at = AddressPart::Rest;
        }
    }
}

impl Target for Address {
    fn text(&mut self, text: &str) {
        self.len += text.len();
        self.open.push_str(text);
    }
    fn hole(&mut self, hole: &Hole) {
        self.len += crate::value::HIDDEN.len();
        self.close(true);
        self.done.hole(hole);
        if self.at == AddressPart::Scheme {
            // Whatever it is, it is the beginning of an address: its host is the operator's.
            self.at = AddressPart::Host;
        }
    }
}

impl Sink for Address {
    const TRACES: bool = true;
    const PARTS: bool = true;
    fn len(&self) -> usize {
        self.len
    }
    fn part(&mut self, from: Produced) {
        self.close(!matches!(from, Produced::Literal(_)));
    }
}
