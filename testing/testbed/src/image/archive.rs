//! Turns files into a tar archive that depends on nothing else: no time, no user and no order of the machine is in it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use tar::{Builder, EntryType, Header};

/// Permissions of folders that are there only because of a file in them.
const FOLDER_MODE: u32 = 0o755;

/// The content of an archive, by path. Paths have no leading slash.
#[derive(Debug, Clone, Default)]
pub struct Archive {
    entries: BTreeMap<String, TarEntry>,
}

#[derive(Debug, Clone)]
struct TarEntry {
    mode: u32,
    /// The id of the user and of the group.
    owner: u32,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Folder,
    File(Vec<u8>),
    Symlink(String),
}

impl Archive {
    /// Adds a folder of this owner.
    #[must_use]
    pub fn folder(mut self, path: &str, mode: u32, owner: u32) -> Self {
        self.put(path, TarEntry { mode, owner, content: Content::Folder });
        self
    }

    /// Adds a file of root, and the folders above it.
    #[must_use]
    pub fn file(mut self, path: &str, mode: u32, content: Vec<u8>) -> Self {
        self.put(path, TarEntry { mode, owner: 0, content: Content::File(content) });
        self
    }

    /// Adds a symbolic link of root, and the folders above it.
    #[must_use]
    pub fn symlink(mut self, path: &str, target: &str) -> Self {
        self.put(path, TarEntry { mode: 0o777, owner: 0, content: Content::Symlink(target.to_owned()) });
        self
    }

    /// The archive: entries sorted by path, times at the beginning of 1970.
    ///
    /// # Errors
    /// When a path is longer than the format allows.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut builder = Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_mode(entry.mode);
            header.set_uid(entry.owner.into());
            header.set_gid(entry.owner.into());
            header.set_mtime(0);
            let content: &[u8] = match &entry.content {
                Content::Folder => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_path(format!("{path}/"))?;
                    &[]
                }
                Content::File(content) => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_path(path)?;
                    content
                }
                Content::Symlink(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_path(path)?;
                    header.set_link_name(target)?;
                    &[]
                }
            };
            header.set_size(u64::try_from(content.len())?);
            header.set_cksum();
            builder.append(&header, content).with_context(|| format!("cannot put {path} into an archive"))?;
        }
        Ok(builder.into_inner()?)
    }

    fn put(&mut self, path: &str, entry: TarEntry) {
        for above in Path::new(path).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            let folder = TarEntry { mode: FOLDER_MODE, owner: 0, content: Content::Folder };
            self.entries.entry(above.display().to_string()).or_insert(folder);
        }
        self.entries.insert(path.to_owned(), entry);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::Archive;

    #[test]
    fn the_order_of_calls_does_not_matter_and_folders_come_before_what_is_in_them() {
        let one = Archive::default().file("a/b/c", 0o755, b"words".to_vec()).folder("a/tmp", 0o1777, 7);
        let other = Archive::default().folder("a/tmp", 0o1777, 7).file("a/b/c", 0o755, b"words".to_vec());
        let bytes = one.bytes().unwrap();
        assert_eq!(bytes, other.bytes().unwrap());

        let mut archive = tar::Archive::new(bytes.as_slice());
        let rows: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut content = String::new();
                entry.read_to_string(&mut content).unwrap();
                let header = entry.header();
                let (mode, owner, time) = (header.mode().unwrap(), header.uid().unwrap(), header.mtime().unwrap());
                (entry.path().unwrap().display().to_string(), mode, owner, time, content)
            })
            .collect();
        let row = |path: &str, mode, owner, content: &str| (path.to_owned(), mode, owner, 0, content.to_owned());
        let expected = [
            row("a/", 0o755, 0, ""),
            row("a/b/", 0o755, 0, ""),
            row("a/b/c", 0o755, 0, "words"),
            row("a/tmp/", 0o1777, 7, ""),
        ];
        assert_eq!(rows, expected);
    }
}
