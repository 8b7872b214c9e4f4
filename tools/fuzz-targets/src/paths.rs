//! Paths in manifests, in every notation: they must never lead out of the allowed folders.
//!
//! An input consists of lines. The first is a path as written in a manifest; each other line, `NAME -> TARGET`, is a
//! link on a disk on which everything else is a folder or a file.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use trefoil_front::project::resolve_path;
use trefoil_project::file_access::{AccessRefusal, AllowedFolders, PathSteps, clean_path};

use crate::{Target, fixed};

/// The locations of the manifest, and of the other allowed folders.
const BASES: [&str; 3] = ["flow.yaml", "deep/er/flow.yaml", "../beside/flow.yaml"];
const PROJECT: &str = "/home/me/project";
const ALLOWED: &str = "/srv/shared";

pub(crate) const TARGET: Target = Target::of_text(
    "paths",
    "no path and no link leads out of the project, and nothing outside is looked at",
    || {
        fixed(&[
            "a.yaml",
            "/etc/shadow",
            "../../../etc/shadow",
            "./a/./b/../../../c.yaml",
            "/home/me/project/../secret",
            "/srv/shared/x",
            "/proc/self/environ",
            "l/x\nl -> ..",
            "l/x\nl -> /etc",
            "a/b/c\na -> b\nb -> /srv/shared\n/srv/shared/b -> ../../home",
            "l\nl -> l",
            "//etc//shadow",
            "file:///etc/shadow",
            "~/.ssh/id_rsa",
            "C:\\secret",
            "\\\\host\\share",
            ".git/config",
            "x\u{0}/../../y",
        ])
    },
    &["..", ".", "/", "//", "\n", " -> ", "l", "a", "/home/me/project", "/srv/shared", "/etc", "/proc/self", "~", "\\"],
    run,
);

/// A disk with links, which records accesses.
struct Disk {
    links: BTreeMap<PathBuf, PathBuf>,
    asked: Vec<PathBuf>,
}

impl PathSteps for Disk {
    type Folder = PathBuf;
    fn open_root(&mut self, room: &Path) -> Result<PathBuf, Error> {
        Ok(room.to_owned())
    }
    fn link_target(&mut self, folder: &PathBuf, name: &OsStr) -> Result<Option<PathBuf>, Error> {
        let path = folder.join(name);
        self.asked.push(path.clone());
        Ok(self.links.get(&path).cloned())
    }
    fn open_folder(&mut self, folder: &PathBuf, name: &OsStr) -> Result<PathBuf, Error> {
        let path = folder.join(name);
        if self.links.contains_key(&path) { Err(ErrorKind::NotADirectory.into()) } else { Ok(path) }
    }
}

fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let named = lines.next().unwrap_or_default();
    let links: BTreeMap<PathBuf, PathBuf> = lines
        .filter_map(|line| line.split_once(" -> "))
        .map(|(from, to)| (clean_path(&Path::new(PROJECT).join(from)), PathBuf::from(to)))
        // The folders themselves are real.
        .filter(|(from, _)| ![PROJECT, ALLOWED].iter().any(|room| Path::new(room).starts_with(from)))
        .collect();
    let rooms = AllowedFolders::new([PathBuf::from(PROJECT), PathBuf::from(ALLOWED)]);
    for base in BASES {
        let path = Path::new(PROJECT).join(resolve_path(base, named));
        let mut disk = Disk { links: links.clone(), asked: Vec::new() };
        let found = rooms.follow_path(&path, &mut disk);
        for asked in &disk.asked {
            assert!(is_inside(asked), "{named:?} in {base}: {} was looked at", asked.display());
        }
        match found {
            Ok(found) => {
                assert!(is_inside(&found.real), "{named:?} in {base} leads to {}", found.real.display());
                assert!(found.real == found.folder.join(&found.name));
                let link = found.real.ancestors().find(|part| disk.links.contains_key(*part));
                assert!(link.is_none(), "{named:?}: {} has a link in it", found.real.display());
                assert!(!found.real.iter().any(|part| part.eq_ignore_ascii_case(".git")));
            }
            Err(AccessRefusal::Outside { to, .. }) => assert!(!is_inside(&to), "{named:?}: {} is inside", to.display()),
            Err(_) => {}
        }
    }
}

/// A separate implementation for comparison: the path has no `..`, and starts with one of the folders.
fn is_inside(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let below = |room: &str| text.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    !path.iter().any(|part| part == "..") && (below(PROJECT) || below(ALLOWED))
}
