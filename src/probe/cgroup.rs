//! Where the control groups of this process are, in both versions.

use std::path::{Component, Path, PathBuf};

/// The folders of the groups that account for processors: the process's own
/// and those above it, as far as `groups` (`/proc/self/cgroup`) and `mount`
/// tell. Inside a container the group's path may name the host's tree; the
/// mounted root is then the container's own group, so every prefix is named.
pub(crate) fn cpu_folders(groups: &str, mount: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next().unwrap_or("");
        let path = fields.next().unwrap_or("/").trim_start_matches('/');
        let roots: Vec<PathBuf> = match controllers {
            "" => vec![mount.to_owned(), mount.join("unified")],
            list if list.split(',').any(|name| name == "cpu") => {
                vec![mount.join("cpu"), mount.join(list)]
            }
            _ => vec![],
        };
        let inside = |part: &&Path| !part.components().any(|name| name == Component::ParentDir);
        for root in roots {
            folders.extend(Path::new(path).ancestors().filter(inside).map(|part| root.join(part)));
        }
    }
    folders
}
