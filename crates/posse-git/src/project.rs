//! Projects: the repository that a directory belongs to.

use std::path::{Path, PathBuf};

/// Returns the repository root of a directory, or the directory itself. A repository that is or contains the home
/// directory is ignored: it holds configuration files, not one project.
pub fn project_of(directory: &Path, home: Option<&Path>) -> PathBuf {
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
        assert_eq!(project_of(&inside, Some(&home)), repository);
        assert_eq!(project_of(&beside, Some(&home)), beside);
        assert_eq!(project_of(&beside, None), home);
        assert_eq!(project_of(&top.join("gone"), Some(&home)), top.join("gone"));
    }
}
