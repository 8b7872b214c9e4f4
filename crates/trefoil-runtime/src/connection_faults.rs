//! Why a connection failed, in words that say what to do: the words of the libraries are for programmers. Only text; hosts connect.

use std::error::Error;

/// What a server with a certificate of its own needs.
const OWN_CA: &str = "for a certificate of your own, set `SSL_CERT_FILE` to the file (PEM) with that of its issuer";

/// What an answer in plain HTTP means where TLS was expected.
const NO_TLS: &str = "the server does not speak TLS on this port; use `http://`";
/// What an answer in TLS means where plain HTTP was expected.
const NO_PLAIN: &str = "the server does not speak plain HTTP on this port; use `https://`";

/// Parts of messages of TLS and HTTP libraries, each with what it means. The first one that fits counts.
const MEANINGS: &[(&str, &str)] = &[
    (
        "CaUsedAsEndEntity",
        "the certificate of the server is that of an issuer, as of a self-signed server; make an issuer (CA) and a certificate that it signs, \
         and set `SSL_CERT_FILE` to the file (PEM) with the issuer",
    ),
    ("certificate not valid for name", "the certificate of the server is for another name; use the name that is in it"),
    ("NotValidForName", "the certificate of the server is for another name; use the name that is in it"),
    ("certificate expired", "the certificate of the server has expired, or the clock of this machine is wrong"),
    (
        "certificate not valid yet",
        "the certificate of the server is not valid yet, or the clock of this machine is wrong",
    ),
    ("InvalidContentType", NO_TLS),
    ("invalid HTTP version parsed", NO_PLAIN),
];

/// The innermost cause of a failed request, which says what happened: the outer errors repeat the address.
pub fn innermost_cause(error: &(dyn Error + 'static)) -> String {
    let Some(mut cause) = error.source() else { return "no answer".to_owned() };
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    explain_cause(&cause.to_string())
}

/// Whether the server speaks another protocol on this port, so that it cannot have understood what was sent.
pub fn is_other_protocol(cause: &str) -> bool {
    cause.starts_with(NO_TLS) || cause.starts_with(NO_PLAIN)
}

/// A cause in words. One that is not known stays as it is.
fn explain_cause(cause: &str) -> String {
    for (part, meaning) in MEANINGS {
        if cause.contains(part) {
            return (*meaning).to_owned();
        }
    }
    if cause.contains("UnknownIssuer") {
        return format!("nobody whom this machine trusts has issued the certificate of the server; {OWN_CA}");
    }
    match cause.strip_prefix("invalid peer certificate: ") {
        Some(why) => format!("the certificate of the server is not accepted ({why}); {OWN_CA}"),
        None => cause.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_says_what_to_do() {
        for (cause, says) in [
            ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "self-signed"),
            ("invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE"),
            (
                "invalid peer certificate: certificate not valid for name \"a\"; certificate is only valid for b",
                "another name",
            ),
            ("invalid peer certificate: certificate expired: verification time 1", "expired"),
            ("invalid peer certificate: BadSignature", "not accepted (BadSignature)"),
            ("received corrupt message of type InvalidContentType", "use `http://`"),
            ("invalid HTTP version parsed", "`https://`"),
            ("Connection refused (os error 111)", "Connection refused (os error 111)"),
        ] {
            assert!(explain_cause(cause).contains(says), "{cause}: {}", explain_cause(cause));
        }
    }
}
