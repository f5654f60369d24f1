//! Package of a server's program: modules and data beside it that it reads at run time. Only for servers of the
//! operator; a project's server opens nothing.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::client::ServerProgram;

/// Marker files: one of them makes a directory a package.
const MARKS: &[&str] = &[
    "package.json",
    "deno.json",
    "pyproject.toml",
    "pyvenv.cfg",
    "requirements.txt",
    "setup.py",
    "go.mod",
    "Cargo.toml",
    "Gemfile",
    "composer.json",
];
const MODULES: &str = "node_modules";

/// Search path of programs, and the places that must not be opened.
pub struct ProgramSearch {
    search: OsString,
    home: Option<PathBuf>,
    /// Tasks write here, so links and markers in it do not count.
    workspace: PathBuf,
}

impl ProgramSearch {
    /// Creates a search along `search`, a value of `PATH`.
    pub fn new(search: OsString, home: Option<&Path>, workspace: &Path) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { search, home: home.map(real), workspace: real(workspace) }
    }

    /// Finds the packages of the program and of the script that an interpreter gets, as written and with links
    /// resolved.
    pub fn packages(&self, program: &ServerProgram) -> Vec<PathBuf> {
        let script = program.args.first().map(PathBuf::from).filter(|script| script.is_absolute());
        let mut all: Vec<PathBuf> = Vec::new();
        for file in self.find(&program.command).into_iter().chain(script).filter(|file| file.is_file()) {
            let Ok(real) = fs::canonicalize(&file) else { continue };
            if [&file, &real].iter().any(|path| path.starts_with(&self.workspace)) {
                continue;
            }
            let found = [&file, &real].into_iter().filter_map(|path| self.package(path));
            all.extend(found.filter_map(|package| fs::canonicalize(package).ok()));
        }
        all.sort();
        all.dedup();
        all
    }

    fn find(&self, command: &str) -> Option<PathBuf> {
        match command.contains('/') {
            true => Some(PathBuf::from(command)).filter(|path| path.is_absolute()),
            false => std::env::split_paths(&self.search)
                .map(|place| place.join(command))
                .find(|path| path.is_file()),
        }
    }

    /// Finds the outermost directory of installed modules, or else the nearest package directory above.
    fn package<'a>(&self, file: &'a Path) -> Option<&'a Path> {
        let above = || file.ancestors().skip(1).take_while(|place| self.is_own(place));
        let modules = above().filter(|place| place.file_name() == Some(OsStr::new(MODULES))).last();
        modules.or_else(|| above().find(|place| MARKS.iter().any(|mark| place.join(mark).is_file())))
    }

    /// Rules out the root, home, ancestors of home, and world-writable directories.
    fn is_own(&self, place: &Path) -> bool {
        let Ok(real) = fs::canonicalize(place) else { return false };
        let is_everybodys = fs::metadata(&real).map_or(true, |about| about.mode() & 0o002 != 0);
        let holds_home =
            self.home.as_ref().is_some_and(|home| home.starts_with(&real) || home.starts_with(place));
        real.parent().is_some() && !holds_home && !is_everybodys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Home(tempfile::TempDir);

    impl Home {
        fn with(files: &[&str]) -> Self {
            let home = Self(tempfile::tempdir().unwrap());
            for file in files {
                let path = home.path(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            home
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        /// Finds the packages of a command, as paths relative to home.
        #[track_caller]
        fn opens(&self, command: &str, args: &[&str], expected: &[&str]) {
            let at_home =
                |text: &&str| text.replace('~', self.path("").to_str().unwrap().trim_end_matches('/'));
            let program = ServerProgram {
                command: at_home(&command),
                args: args.iter().map(at_home).collect(),
                env: Vec::new(),
                directory: None,
            };
            let (search, home, workspace) = (self.path("bin"), self.path(""), self.path("project"));
            let ground = ProgramSearch::new(search.into_os_string(), Some(&home), &workspace);
            let expected: Vec<PathBuf> = expected.iter().map(|name| self.path(name)).collect();
            assert_eq!(ground.packages(&program), expected, "{command} {args:?}");
        }
    }

    #[test]
    fn a_program_opens_the_package_that_it_is_a_part_of() {
        let home = Home::with(&[
            "app/package.json",
            "app/node_modules/srv/package.json",
            "app/node_modules/.pnpm/x/node_modules/y/cli.js",
            "srv/package.json",
            "srv/build/index.js",
            "py/.venv/pyvenv.cfg",
            "py/.venv/bin/python",
            "bin/tool",
        ]);
        symlink(home.path("app/node_modules/.pnpm/x/node_modules/y/cli.js"), home.path("bin/y")).unwrap();
        home.opens("y", &[], &["app/node_modules"]);
        home.opens("/bin/sh", &["~/srv/build/index.js", "~/app/package.json"], &["srv"]);
        home.opens("~/py/.venv/bin/python", &["-m", "x"], &["py/.venv"]);
        home.opens("tool", &[], &[]);
        home.opens("absent", &["~/absent.js"], &[]);
    }

    // S13 Seen to fail without the look at home, without that at who can write, and without that at the workspace.
    #[test]
    fn neither_home_nor_what_tasks_or_others_can_write_is_opened_by_a_mark() {
        let home = Home::with(&[
            "package.json",
            "server.js",
            "docs/server.py",
            "project/package.json",
            "project/server.js",
            "other/package.json",
            "other/server.js",
            "shared/package.json",
            "shared/server.js",
        ]);
        home.opens("~/server.js", &[], &[]);
        home.opens("~/docs/server.py", &[], &[]);
        home.opens("~/project/server.js", &[], &[]);
        symlink(home.path("other/server.js"), home.path("project/link.js")).unwrap();
        home.opens("~/project/link.js", &[], &[]);
        fs::set_permissions(home.path("shared"), fs::Permissions::from_mode(0o777)).unwrap();
        home.opens("~/shared/server.js", &[], &[]);
        home.opens("~/other/server.js", &[], &["other"]);
    }
}
