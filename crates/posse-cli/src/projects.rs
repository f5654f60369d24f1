//! Projects: the repository that a directory belongs to.

use std::path::{Path, PathBuf};

use crate::models::process_env;

/// Returns the repository root of a directory, or the directory itself. A repository that is or contains the home
/// directory is ignored: it holds configuration files, not one project.
pub fn project_of(directory: &Path) -> PathBuf {
    let home = process_env("HOME").map(PathBuf::from);
    root(directory, home.as_deref())
}

fn root(directory: &Path, home: Option<&Path>) -> PathBuf {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (directory, home) = (real(directory), home.map(real));
    let joins = |place: &&Path| home.as_ref().is_none_or(|home| !home.starts_with(place));
    let found = directory.ancestors().take_while(joins).find(|place| place.join(".git").exists());
    found.map_or(directory.clone(), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_one_repository_are_one_project_and_home_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (home, repository) = (top.join("home"), top.join("home/repository"));
        let (inside, beside) = (repository.join("a/b"), home.join("beside"));
        for place in [&inside, &beside] {
            std::fs::create_dir_all(place).unwrap();
        }
        for place in [&top, &home, &repository] {
            std::fs::create_dir(place.join(".git")).unwrap();
        }
        assert_eq!(root(&inside, Some(&home)), repository);
        assert_eq!(root(&beside, Some(&home)), beside);
        assert_eq!(root(&beside, None), home);
        assert_eq!(root(&top.join("gone"), Some(&home)), top.join("gone"));
    }
}
