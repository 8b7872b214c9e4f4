//! `file:` URIs and paths. The only place that knows what a URI of a client means: a path of this machine, or one below a folder of
//! which the client does not know where it is.

use std::path::{Path, PathBuf};

use gen_lsp_types::Uri;
use trefoil_project::file_access::resolve_links;
use trefoil_project::folder_files::FolderFiles;

/// A folder that cannot exist, for texts without a file.
const NOWHERE: &str = "/dev/null/untitled";

/// What the URIs of a client mean.
#[derive(Debug, Default)]
pub enum UriSpace {
    /// Paths of this machine, on which the client runs as well.
    #[default]
    Machine,
    /// Paths below a folder: `file:///a/b.yaml` is `a/b.yaml` there, and nothing else has a URI.
    Folder(FolderFiles),
}

impl UriSpace {
    /// The file of a document, without links. `None`: it has no path here, or must not be opened.
    pub fn open_path(&self, uri: &Uri) -> Option<PathBuf> {
        match self {
            Self::Machine => Some(resolve_links(&document_path(uri)?)),
            Self::Folder(files) => {
                let path = to_path(uri)?;
                files.resolve_below(path.to_str()?.strip_prefix('/')?).ok()
            }
        }
    }

    /// The URI of a path without links. `None`: the client must not see it.
    pub fn path_uri(&self, path: &Path) -> Option<Uri> {
        match self {
            Self::Machine => Some(from_path(path)),
            Self::Folder(files) => Some(from_path(&Path::new("/").join(files.path_below(path)?))),
        }
    }

    /// Whether the client is not on this machine.
    pub fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }
}

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
fn document_path(uri: &Uri) -> Option<PathBuf> {
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
    use super::{UriSpace, from_path, to_path};
    use gen_lsp_types::Uri;
    use std::path::Path;
    use trefoil_project::folder_files::FolderFiles;

    #[test]
    fn a_client_elsewhere_sees_paths_below_its_folder_and_opens_no_others() {
        // The folder of this crate exists wherever it is built.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let space = UriSpace::Folder(FolderFiles::below_folder(&folder).unwrap());
        let open = |uri: &str| space.open_path(&Uri(uri.to_owned()));
        let real = trefoil_project::file_access::resolve_links(&folder);
        assert_eq!(open("file:///server/uri.rs"), Some(real.join("server/uri.rs")));
        assert_eq!(open("file:///new%20one.yaml"), Some(real.join("new one.yaml")));
        let whole = from_path(&real.join("lib.rs")).0;
        for outside in [
            "file:///../Cargo.toml",
            "file:///%2e%2e/Cargo.toml",
            "file:////etc/passwd",
            "file:///",
            "untitled:x",
            &whole,
        ] {
            assert!(open(outside).is_none_or(|path| path.starts_with(&real)), "{outside}: {:?}", open(outside));
        }
        for refused in ["file:///../Cargo.toml", "file:///%2e%2e/Cargo.toml", "file:////etc/passwd", "untitled:x"] {
            assert_eq!(open(refused), None, "{refused}");
        }
        let uri = |path: &Path| space.path_uri(path).map(|uri| uri.0);
        assert_eq!(uri(&real.join("server/uri.rs")).as_deref(), Some("file:///server/uri.rs"));
        assert_eq!(uri(&real.join("../Cargo.toml")), None);
        assert_eq!(uri(Path::new("/etc/passwd")), None);
    }

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
