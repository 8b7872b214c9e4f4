//! `file:` URIs and paths.

use std::path::{Path, PathBuf};

use gen_lsp_types::Uri;

/// A folder that cannot exist, for texts without a file.
const NOWHERE: &str = "/dev/null/untitled";

/// The path of a `file:` URI; `None` for other URIs.
pub fn to_path(uri: &Uri) -> Option<PathBuf> {
    let rest = strip_scheme(&uri.0)?;
    // The host is empty or this machine.
    let path = match rest.strip_prefix("//") {
        Some(authority) => authority.get(authority.find('/')?..)?,
        None => rest,
    };
    let decoded = decode(path)?;
    // `/C:/x` on Windows.
    let bytes = decoded.as_bytes();
    let drive = matches!(bytes, [b'/', letter, b':', ..] if letter.is_ascii_alphabetic()) && cfg!(windows);
    Some(PathBuf::from(if drive { decoded.get(1..)? } else { &decoded }))
}

fn strip_scheme(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_once(':')?;
    if scheme.eq_ignore_ascii_case("file") { Some(rest) } else { None }
}

/// The path of a document: that of its file, or one that cannot exist for a text without a file.
pub fn document_path(uri: &Uri) -> Option<PathBuf> {
    if let Some(path) = to_path(uri) {
        return Some(path);
    }
    let (scheme, name) = uri.0.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("untitled") {
        return None;
    }
    let name: String = name.bytes().map(|b| if b.is_ascii_alphanumeric() { b.into() } else { '-' }).collect();
    Some(Path::new(NOWHERE).join(name).with_extension("yaml"))
}

/// Whether a path belongs to a text without a file.
pub fn is_nowhere(path: &Path) -> bool {
    path.starts_with(NOWHERE)
}

/// The `file:` URI of a path.
pub fn from_path(path: &Path) -> Uri {
    let text = path.to_string_lossy();
    let text = if cfg!(windows) { text.trim_start_matches(r"\\?\").replace('\\', "/") } else { text.into_owned() };
    let mut uri = String::from(if text.starts_with('/') { "file://" } else { "file:///" });
    for byte in text.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri(uri)
}

fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::{from_path, to_path};
    use gen_lsp_types::Uri;
    use std::path::Path;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for path in ["/a/b.yaml", "/with space/ä#1?.yaml", "/50%/x+y.yml"] {
            assert_eq!(to_path(&from_path(Path::new(path))).as_deref(), Some(Path::new(path)));
        }
        assert_eq!(from_path(Path::new("/a b")).0, "file:///a%20b");
    }

    #[test]
    fn what_is_no_file_has_no_path() {
        for uri in ["untitled:Untitled-1", "https://x/y", "file", "file:///%zz"] {
            assert_eq!(to_path(&Uri(uri.to_owned())), None, "{uri}");
        }
    }
}
