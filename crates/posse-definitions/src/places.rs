//! The locations of agent files. Directories are passed in; this module does not read the environment.

pub(crate) mod find;
mod nearest;

pub use nearest::nearest_file;

use std::path::{Path, PathBuf};

use posse_core::definition::{DefinitionScope, Format};

/// Maximum directories between the working directory and the repository root; more is a mistake.
const PROJECT_DIRECTORIES_MAX: usize = 64;

/// The directories to search for agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlaces {
    /// From the working directory up to the repository root, nearest first.
    project: Vec<PathBuf>,
    /// Further directories of the repository, from the home directory up.
    beyond: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// The configuration directory of all programs, usually `~/.config`.
    config: Option<PathBuf>,
    /// The current user; project files of other users are never trusted.
    user: u32,
}

/// One directory that may hold agent files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDirectory {
    pub path: PathBuf,
    pub format: Format,
    pub scope: DefinitionScope,
    /// Set if files in subdirectories count.
    pub nested: bool,
    /// The file name suffix.
    pub ending: &'static str,
    /// The given base directory; `path` is below it.
    pub(crate) base: PathBuf,
    /// Limit for a link in place of the directory; `None` allows any target, because the user made it.
    pub(crate) inside: Option<PathBuf>,
}

impl AgentPlaces {
    /// Determines the project: every directory from `here` up to the one with a `.git`, or only `here`
    /// outside a repository. The home directory and its parents are never part of a project, because their
    /// files belong to the user or to strangers.
    pub fn find(here: &Path, home: Option<&Path>, config: Option<&Path>, user: u32) -> Self {
        let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (here, home, config) = (resolved(here), home.map(resolved), config.map(resolved));
        let mut project: Vec<PathBuf> =
            here.ancestors().take(PROJECT_DIRECTORIES_MAX).map(Path::to_owned).collect();
        let root = project.iter().position(|dir| dir.join(".git").symlink_metadata().is_ok());
        project.truncate(root.unwrap_or(0) + 1);
        let is_beyond =
            |dir: &PathBuf| home.as_ref().is_some_and(|home| here.starts_with(home) && home.starts_with(dir));
        let beyond = project.iter().position(is_beyond).map_or_else(Vec::new, |at| project.split_off(at));
        Self { project, beyond, home, config, user }
    }

    /// Directories with agents of a project that do not count because the project would contain the home directory that we
    /// are in, and that are not the user's own either.
    pub fn skipped(&self) -> Vec<PathBuf> {
        let counted: Vec<PathBuf> = self.directories().into_iter().map(|directory| directory.path).collect();
        let below = self.beyond.iter().flat_map(|base| {
            TABLE.iter().flat_map(move |row| row.project.iter().map(move |name| base.join(name)))
        });
        below.filter(|path| !counted.contains(path) && path.is_dir()).collect()
    }

    /// Returns the directory that trust is bound to: the repository root, or the working directory. `None` in
    /// the home directory.
    pub fn root(&self) -> Option<&Path> {
        self.project.last().map(PathBuf::as_path)
    }

    /// Returns the current user's ID.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// Lists every directory that counts, existing or not, in order of precedence.
    pub fn directories(&self) -> Vec<AgentDirectory> {
        let mut all = Vec::new();
        for (base, distance) in self.project.iter().zip(0..) {
            let scope = DefinitionScope::Project { distance };
            for row in TABLE {
                all.extend(row.below(base, row.project, scope, self.root()));
            }
        }
        for row in TABLE {
            if let Some(home) = &self.home {
                all.extend(row.below(home, row.home, DefinitionScope::User, None));
            }
            if let Some(config) = &self.config {
                all.extend(row.below(config, row.config, DefinitionScope::User, None));
            }
        }
        all
    }
}

/// The directories of one format.
struct FormatPlaces {
    format: Format,
    /// Below each directory of the project.
    project: &'static [&'static str],
    home: &'static [&'static str],
    config: &'static [&'static str],
    nested: bool,
    ending: &'static str,
}

impl FormatPlaces {
    fn below<'a>(
        &'a self,
        base: &'a Path,
        names: &'static [&'static str],
        scope: DefinitionScope,
        inside: Option<&'a Path>,
    ) -> impl Iterator<Item = AgentDirectory> + 'a {
        names.iter().map(move |name| AgentDirectory {
            path: base.join(name),
            format: self.format,
            scope,
            nested: self.nested,
            ending: self.ending,
            base: base.to_owned(),
            inside: inside.map(Path::to_owned),
        })
    }
}

const fn flat(
    format: Format,
    project: &'static [&'static str],
    home: &'static [&'static str],
    config: &'static [&'static str],
) -> FormatPlaces {
    FormatPlaces { format, project, home, config, nested: false, ending: ".md" }
}

const fn nested(
    format: Format,
    project: &'static [&'static str],
    home: &'static [&'static str],
    config: &'static [&'static str],
) -> FormatPlaces {
    FormatPlaces { nested: true, ..flat(format, project, home, config) }
}

/// Format, then its directories: in a project, in the home directory, in the configuration directory.
#[rustfmt::skip]
const TABLE: &[FormatPlaces] = &[
    flat(Format::Native, &[".posse/agents"], &[".posse/agents"], &["posse/agents"]),
    flat(Format::Acai, &[".acai/subagents"], &[".acai/subagents"], &[]),
    nested(Format::Claude, &[".claude/agents"], &[".claude/agents"], &[]),
    nested(
        Format::Opencode,
        &[".opencode/agent", ".opencode/agents", ".kilo/agents"],
        &[],
        &["opencode/agent", "opencode/agents", "kilo/agents"],
    ),
    flat(Format::Gemini, &[".gemini/agents"], &[".gemini/agents"], &[]),
    flat(Format::Copilot, &[".github/agents"], &[".copilot/agents"], &[]),
    FormatPlaces { ending: ".toml", ..nested(Format::Codex, &[".codex/agents"], &[".codex/agents"], &[]) },
    flat(Format::Qwen, &[".qwen/agents"], &[".qwen/agents"], &[]),
    flat(Format::Cursor, &[".cursor/agents"], &[".cursor/agents"], &[]),
    flat(
        Format::OpenHands,
        &[".agents/agents", ".openhands/agents"],
        &[".agents/agents", ".openhands/agents"],
        &[],
    ),
    nested(Format::Pi, &[".pi/agents"], &[".pi/agent/agents"], &[]),
    flat(Format::Factory, &[".factory/droids"], &[".factory/droids"], &[]),
    flat(Format::Goose, &[".goose/agents"], &[], &["goose/agents"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn project(places: &AgentPlaces) -> Vec<&Path> {
        places.project.iter().map(PathBuf::as_path).collect()
    }

    #[test]
    fn every_format_has_one_row_in_the_order_of_precedence() {
        let formats: Vec<Format> = TABLE.iter().map(|row| row.format).collect();
        assert_eq!(formats, Format::ALL);
    }

    #[test]
    fn a_project_reaches_up_to_the_root_of_its_repository_and_no_further() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let here = top.join("repository/a/b");
        fs::create_dir_all(&here).unwrap();
        assert_eq!(project(&AgentPlaces::find(&here, None, None, 0)), [&*here]);
        // A worktree has a file in place of the directory.
        fs::write(top.join("repository/.git"), "gitdir: elsewhere").unwrap();
        let places = AgentPlaces::find(&here, None, None, 0);
        assert_eq!(project(&places), [&*here, &*top.join("repository/a"), &*top.join("repository")]);
        assert_eq!(places.root(), Some(&*top.join("repository")));
        fs::create_dir(top.join("repository/a/.git")).unwrap();
        assert_eq!(AgentPlaces::find(&here, None, None, 0).root(), Some(&*top.join("repository/a")));
    }

    #[test]
    fn the_home_directory_is_no_project_even_with_a_repository_in_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("work")).unwrap();
        fs::create_dir(home.join(".git")).unwrap();
        let find = |here: &Path| AgentPlaces::find(here, Some(&home), None, 0);
        assert_eq!(project(&find(&home.join("work"))), [&*home.join("work")]);
        assert_eq!(find(&home).root(), None);
        let link = home.join("link");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        assert_eq!(AgentPlaces::find(&home, Some(&link), None, 0).root(), None);
    }

    #[test]
    fn a_project_may_contain_the_home_directory() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let home = top.join("home/me");
        fs::create_dir_all(&home).unwrap();
        let find = |here: &Path| AgentPlaces::find(here, Some(&home), None, 0);
        assert_eq!(project(&find(&top)), [&*top]);
        assert_eq!(project(&find(Path::new("/"))), [Path::new("/")]);
        fs::create_dir(top.join(".git")).unwrap();
        fs::create_dir(top.join("sub")).unwrap();
        assert_eq!(project(&find(&top.join("sub"))), [&*top.join("sub"), &*top]);
        // From inside of the home directory, what is around it is left alone, and that can be told.
        let inside = home.join("work");
        fs::create_dir_all(home.join(".posse/agents")).unwrap();
        fs::create_dir_all(top.join(".posse/agents")).unwrap();
        fs::create_dir(&inside).unwrap();
        assert_eq!(project(&find(&inside)), [&*inside]);
        assert_eq!(find(&inside).skipped(), [top.join(".posse/agents")]);
    }

    #[test]
    fn the_order_is_nearest_project_first_then_the_user() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let here = top.join("p/sub");
        fs::create_dir_all(top.join("p/.git")).unwrap();
        fs::create_dir_all(&here).unwrap();
        let places = AgentPlaces::find(&here, Some(&top.join("home")), Some(&top.join("config")), 0);
        let all = places.directories();
        let native: Vec<&Path> =
            all.iter().filter(|d| d.format == Format::Native).map(|d| d.path.as_path()).collect();
        let expected =
            ["p/sub/.posse/agents", "p/.posse/agents", "home/.posse/agents", "config/posse/agents"];
        assert_eq!(native, expected.map(|path| top.join(path)));
        assert!(all.is_sorted_by_key(|d| (d.scope, d.format)));
    }
}
