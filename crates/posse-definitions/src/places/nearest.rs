//! Nearest file of a project.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Finds the nearest file of this name from `here` up to the repository root; outside a repository only here. Never above
/// the home directory, and never a file owned by another user: those that were passed over are returned beside it.
pub fn nearest_file(
    name: &str,
    here: &Path,
    home: Option<&Path>,
    user: u32,
) -> (Option<PathBuf>, Vec<PathBuf>) {
    let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    let below_home = match &home {
        Some(home) if here.starts_with(home) => {
            here.ancestors().take_while(|dir| dir.starts_with(home)).count()
        }
        _ => usize::MAX,
    };
    let dirs: Vec<&Path> = here.ancestors().take(below_home).collect();
    let root = dirs.iter().position(|dir| dir.join(".git").exists()).unwrap_or(0);
    let mut foreign = Vec::new();
    for file in dirs.iter().take(root + 1).map(|dir| dir.join(name)).filter(|file| file.exists()) {
        if is_owned_by(&file, user) {
            return (Some(file), foreign);
        }
        foreign.push(file);
    }
    (None, foreign)
}

/// Checks the owner of a file and, for a link, of its target.
fn is_owned_by(file: &Path, user: u32) -> bool {
    let both = [std::fs::symlink_metadata(file), std::fs::metadata(file)];
    both.into_iter().all(|found| found.is_ok_and(|metadata| metadata.uid() == user))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "posse.toml";

    #[test]
    fn a_project_file_is_looked_for_inside_the_repository_only() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let user = std::fs::metadata(&top).unwrap().uid();
        let (home, repository) = (top.join("home"), top.join("home/repository"));
        let here = repository.join("a/b");
        std::fs::create_dir_all(&here).unwrap();
        let found = || nearest_file(NAME, &here, Some(&home), user).0;
        for place in [&top, &home, &repository] {
            std::fs::write(place.join(NAME), "").unwrap();
        }
        assert_eq!(found(), None, "outside of a repository nothing above counts");
        std::fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(found(), None, "a repository around the home directory is none");
        assert_eq!(nearest_file(NAME, &here, None, user).0, Some(repository.join(NAME)));
        assert_eq!(nearest_file(NAME, &here, None, user + 1).0, None, "files of another user do not count");
        std::fs::create_dir(repository.join(".git")).unwrap();
        assert_eq!(found(), Some(repository.join(NAME)));
        std::fs::remove_file(repository.join(NAME)).unwrap();
        assert_eq!(found(), None, "nothing above the repository counts");
        std::fs::write(here.join(NAME), "").unwrap();
        assert_eq!(found(), Some(here.join(NAME)));
    }
}
