//! Resolves a path, following links, and checks that it is inside the allowed folders.
//!
//! Pure except for [`PathSteps`], which looks up one name in one folder at a time. Names in folders outside are never
//! looked up: `..` is resolved in the text of a path, and the target of a link is checked before it is followed.

use std::ffi::OsStr;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{AccessRefusal, MemoryFiles, clean_path};

/// The maximum number of links in one path.
const LINKS: usize = 40;

/// Folders of the system, which never contain a project's files, even if allowed.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Folders in which programs store keys. They never contain a workflow's files.
const KEYS: [&str; 5] = [".ssh", ".gnupg", ".aws", ".kube", ".docker"];

/// The real folders that a path may lead into.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct AllowedFolders {
    folders: Vec<PathBuf>,
    /// The files, if they are in memory.
    pub(super) memory: Option<Arc<MemoryFiles>>,
}

/// How to take one step of a path: through handles of folders, or through paths.
pub trait PathSteps {
    /// A folder on the path.
    type Folder;
    /// Opens the first folder, by its real path.
    fn open_root(&mut self, room: &Path) -> Result<Self::Folder, Error>;
    /// The target of a name in the folder, if it is a link.
    fn link_target(&mut self, folder: &Self::Folder, name: &OsStr) -> Result<Option<PathBuf>, Error>;
    /// A folder in the folder, if it is one and not a link.
    fn open_folder(&mut self, folder: &Self::Folder, name: &OsStr) -> Result<Self::Folder, Error>;
}

/// The end of a path. It may not exist: the last name was only looked up.
#[derive(Debug)]
pub struct ResolvedEntry<F> {
    /// The folder that contains it.
    pub folder: F,
    /// Its name there.
    pub name: std::ffi::OsString,
    /// Its path with links resolved.
    pub real: PathBuf,
}

impl AllowedFolders {
    /// These folders, which must not contain links. The root of a file system is ignored, because it cannot be a
    /// project.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut absolute: Vec<PathBuf> =
            folders.into_iter().filter(|f| f.is_absolute() && f.parent().is_some()).collect();
        absolute.sort();
        absolute.dedup();
        Self { folders: absolute, memory: None }
    }
    /// The folder of files in memory.
    pub fn in_memory(memory: Arc<MemoryFiles>) -> Self {
        Self { folders: vec![MemoryFiles::root_folder().to_owned()], memory: Some(memory) }
    }
    /// The folders.
    pub fn folder_paths(&self) -> &[PathBuf] {
        &self.folders
    }
    /// The allowed folder that contains an absolute path without `..`.
    fn containing_folder(&self, path: &Path) -> Option<&Path> {
        Some(self.folders.iter().find(|room| path.starts_with(room))?)
    }
    /// Whether a path without links is inside.
    pub fn contains_path(&self, real: &Path) -> bool {
        self.containing_folder(&clean_path(real)).is_some()
    }
    /// Resolves an absolute path.
    pub fn follow_path<S: PathSteps>(
        &self,
        path: &Path,
        steps: &mut S,
    ) -> Result<ResolvedEntry<S::Folder>, AccessRefusal> {
        let mut path = clean_path(path);
        let mut link = None;
        for _ in 0..LINKS {
            let Some(room) = self.containing_folder(&path) else {
                return Err(AccessRefusal::Outside { to: path, link });
            };
            if SYSTEM.iter().any(|system| path.starts_with(system)) {
                return Err(AccessRefusal::NotAFile("it is a system file"));
            }
            let names: Vec<&OsStr> = path.strip_prefix(room).unwrap_or(&path).iter().collect();
            if names.iter().any(|name| name.eq_ignore_ascii_case(".git")) {
                return Err(AccessRefusal::NotAFile("it is part of a Git repository's data"));
            }
            if names.iter().any(|name| is_folder_for_keys(name)) {
                return Err(AccessRefusal::NotAFile("it is in a folder for keys"));
            }
            let Some((last, folders)) = names.split_last() else {
                return Err(AccessRefusal::Room(path));
            };
            let mut real = room.to_owned();
            let mut folder = steps.open_root(room).map_err(AccessRefusal::from_io)?;
            let mut target = None;
            for (at, name) in folders.iter().enumerate() {
                // Nearly every name is a folder; only one that cannot be entered may be a link.
                match steps.open_folder(&folder, name) {
                    Ok(next) => folder = next,
                    Err(closed) => match steps.link_target(&folder, name).map_err(AccessRefusal::from_io)? {
                        Some(to) => {
                            let rest: PathBuf = names.iter().skip(at + 1).collect();
                            target = Some((real.join(name), real.join(to).join(rest)));
                            break;
                        }
                        None => return Err(AccessRefusal::from_io(closed)),
                    },
                }
                real.push(name);
            }
            if target.is_none() {
                match steps.link_target(&folder, last) {
                    Ok(Some(to)) => target = Some((real.join(last), real.join(to))),
                    Ok(None) => return Ok(ResolvedEntry { folder, name: (*last).to_owned(), real: real.join(last) }),
                    Err(e) if e.kind() == ErrorKind::NotFound => {
                        return Ok(ResolvedEntry { folder, name: (*last).to_owned(), real: real.join(last) });
                    }
                    Err(e) => return Err(AccessRefusal::from_io(e)),
                }
            }
            let Some((from, to)) = target else { continue };
            (link, path) = (Some(from), clean_path(&to));
        }
        Err(AccessRefusal::NotAFile("its links form a loop"))
    }
}

fn is_folder_for_keys(name: &OsStr) -> bool {
    KEYS.iter().any(|keys| name.eq_ignore_ascii_case(keys))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use std::collections::BTreeMap;
    use std::ffi::OsStr;
    use std::io::{Error, ErrorKind};
    use std::path::{Path, PathBuf};

    use super::{AccessRefusal, AllowedFolders, PathSteps, clean_path};

    /// Links by path; every other path is a folder. Records the lookups.
    struct Disk(BTreeMap<PathBuf, PathBuf>, Vec<PathBuf>);

    impl PathSteps for Disk {
        type Folder = PathBuf;
        fn open_root(&mut self, room: &Path) -> Result<PathBuf, Error> {
            Ok(room.to_owned())
        }
        fn link_target(&mut self, folder: &PathBuf, name: &OsStr) -> Result<Option<PathBuf>, Error> {
            self.1.push(folder.join(name));
            Ok(self.0.get(&folder.join(name)).cloned())
        }
        fn open_folder(&mut self, folder: &PathBuf, name: &OsStr) -> Result<PathBuf, Error> {
            let path = folder.join(name);
            if self.0.contains_key(&path) { Err(ErrorKind::NotADirectory.into()) } else { Ok(path) }
        }
    }

    fn follow(path: &str, links: &[(&str, &str)]) -> Result<String, String> {
        let allowed = AllowedFolders::new(["/p/flows".into(), "/allowed".into()]);
        let links = links.iter().map(|(from, to)| (from.into(), to.into())).collect();
        let mut disk = Disk(links, Vec::new());
        let found = allowed.follow_path(Path::new(path), &mut disk);
        for asked in disk.1 {
            assert!(allowed.contains_path(&asked), "{} was looked at", asked.display());
        }
        match found {
            Ok(found) => Ok(found.real.display().to_string()),
            Err(AccessRefusal::Outside { to, link }) => {
                Err(format!("{}{}", link.map(|l| format!("{} -> ", l.display())).unwrap_or_default(), to.display()))
            }
            Err(other) => Err(other.reason_text()),
        }
    }

    #[test]
    fn what_is_inside_is_found_and_nothing_else() {
        assert_eq!(follow("/p/flows/a/./b/../c.yaml", &[]), Ok("/p/flows/a/c.yaml".into()));
        assert_eq!(follow("/p/flows/../flows/c.yaml", &[]), Ok("/p/flows/c.yaml".into()));
        assert_eq!(follow("/allowed/x", &[]), Ok("/allowed/x".into()));
        assert_eq!(follow("/p/flows/../c.yaml", &[]), Err("/p/c.yaml".into()));
        assert_eq!(follow("/p/flowsish/c.yaml", &[]), Err("/p/flowsish/c.yaml".into()));
        assert_eq!(follow("/etc/shadow", &[]), Err("/etc/shadow".into()));
        expect!["it is part of a Git repository's data"].assert_eq(&follow("/p/flows/.GIT/config", &[]).unwrap_err());
        expect!["it is a folder"].assert_eq(&follow("/p/flows", &[]).unwrap_err());
    }

    #[test]
    fn links_are_followed_inside_only() {
        let link = |from, to| follow("/p/flows/l/c.yaml", &[(from, to)]);
        assert_eq!(link("/p/flows/l", "k"), Ok("/p/flows/k/c.yaml".into()));
        assert_eq!(link("/p/flows/l", "../flows/k"), Ok("/p/flows/k/c.yaml".into()));
        assert_eq!(link("/p/flows/l", "/allowed"), Ok("/allowed/c.yaml".into()));
        assert_eq!(link("/p/flows/l", "/etc"), Err("/p/flows/l -> /etc/c.yaml".into()));
        assert_eq!(link("/p/flows/l/c.yaml", "../../../secret"), Err("/p/flows/l/c.yaml -> /secret".into()));
        expect!["its links form a loop"].assert_eq(&link("/p/flows/l", "l").unwrap_err());
    }

    #[test]
    fn the_system_is_nobodys_project() {
        let allowed = AllowedFolders::new(["/proc/self".into(), "/".into()]);
        assert!(matches!(
            allowed.follow_path(Path::new("/proc/self/environ"), &mut Disk(BTreeMap::new(), Vec::new())),
            Err(AccessRefusal::NotAFile(_))
        ));
        assert!(!allowed.contains_path(Path::new("/etc/shadow")), "a whole file system is no room");
        assert_eq!(clean_path(Path::new("/../../a/./b/..")), Path::new("/a"));
    }
}
