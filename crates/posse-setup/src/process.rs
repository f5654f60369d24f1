//! The process that a setup is loaded in: its environment, its user, and where remarks go. The binary reads the
//! environment; everything below takes it as a value.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_sandbox::config::search_path;

/// Access to the environment of the process, its user, and its remarks to people.
#[derive(Clone, Copy)]
pub struct ProcessContext {
    /// Reads an environment variable.
    pub variable: fn(&str) -> Option<OsString>,
    /// Lists all environment variables.
    pub variables: fn() -> Vec<(OsString, OsString)>,
    /// Returns the current directory.
    pub directory: fn() -> Result<PathBuf>,
    /// Returns the effective user id.
    pub user: fn() -> u32,
    /// Tells whether remarks go to a terminal.
    pub is_terminal: fn() -> bool,
    /// Prints a remark.
    pub note: fn(&str),
    /// Prints a warning with its hint.
    pub warn: fn(&Error),
}

impl ProcessContext {
    /// Reads an environment variable; an empty one counts as unset.
    pub fn text(&self, name: &str) -> Option<String> {
        (self.variable)(name)?.into_string().ok().filter(|value| !value.trim().is_empty())
    }

    /// Returns a reader of environment variables.
    pub fn reader(&self) -> impl Fn(&str) -> Option<String> + Copy + Send + Sync + 'static {
        let process = *self;
        move |name| process.text(name)
    }

    /// Reads a number. Unparsable values count as 0: fail closed.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name).map(|text| text.trim().parse().unwrap_or(0))
    }

    /// Returns the home directory of the user.
    pub fn home(&self) -> Option<PathBuf> {
        self.text("HOME").map(PathBuf::from)
    }

    /// Returns a base directory of the XDG specification: the one that the variable names, or the usual one.
    pub fn xdg(&self, variable: &str, under_home: &str) -> Option<PathBuf> {
        let named = (self.variable)(variable).filter(|dir| dir.as_bytes().first() == Some(&b'/'));
        named.map(PathBuf::from).or_else(|| Some(self.home()?.join(under_home)))
    }

    /// Returns the directory of the user's configuration.
    pub fn config_dir(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config").map(|dir| dir.join("posse"))
    }

    /// Returns the directory of the store, unless a flag names one.
    pub fn state_dir(&self, named: Option<&Path>) -> Result<PathBuf> {
        let from_env = || self.text("POSSE_STATE").map(PathBuf::from);
        let usual = || self.xdg("XDG_STATE_HOME", ".local/state").map(|dir| dir.join("posse"));
        named.map(Path::to_owned).or_else(from_env).or_else(usual).ok_or_else(|| {
            Error::new(ErrorCode::StoreUnavailable, say!("no-place-for-tasks"))
                .hint(say!("no-place-for-tasks-hint"))
        })
    }

    /// Returns the directories below the user's configuration that hold tools, skills and the like.
    pub fn user_dirs(&self, kind: &str) -> Vec<PathBuf> {
        self.config_dir().map(|dir| dir.join(kind)).into_iter().collect()
    }

    /// Builds the search path for programs that we start ourselves, without directories that a task can write.
    pub fn search(&self, writable: &[&Path]) -> OsString {
        search_path(&(self.variable)("PATH").unwrap_or_default(), writable)
    }

    /// Shortens a path below the home directory to `~/…`.
    pub fn short_path(&self, path: &Path) -> String {
        let below_home = self.home().and_then(|home| Some(path.strip_prefix(home).ok()?.to_owned()));
        let shown = match below_home {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        };
        posse_core::text::visible(&shown).into_owned()
    }
}
