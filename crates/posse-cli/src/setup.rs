//! The setup of this process: its environment, its flags, and where remarks go.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::say;
use posse_setup::config::Config;
use posse_setup::process::ProcessContext;
use posse_setup::setup::{STORE, SetupSource};
use posse_store::SqliteStore;
use posse_telemetry::log::JsonLog;
use posse_telemetry::wiring::{Telemetry, TelemetryOptions, TelemetryOutlets, TelemetryWishes};

pub use posse_setup::project::{ProjectScope, in_project as in_project_of};
pub use posse_setup::setup::{Setup, name, trust_store};
pub use posse_setup::tools::ToolInventory;

use crate::args::GlobalArgs;
use crate::terminal;

/// This process.
pub const PROCESS: ProcessContext = ProcessContext {
    variable: |name| std::env::var_os(name),
    variables: || std::env::vars_os().collect(),
    directory,
    user,
    is_terminal: terminal::stderr_is_terminal,
    note: |text| terminal::remark(&terminal::symbols().adapt(text)),
    warn: terminal::warn,
};

fn directory() -> Result<PathBuf> {
    std::env::current_dir().map_err(|e| Error::new(ErrorCode::Io, say!("directory-unreadable")).caused_by(e))
}

impl SetupSource for GlobalArgs {
    fn process(&self) -> ProcessContext {
        PROCESS
    }

    fn config_file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    fn state_dir(&self) -> Result<PathBuf> {
        state_dir(self)
    }

    /// Resolves logs and traces: a flag wins over the environment, the environment over the configuration.
    fn telemetry(&self, config: &Config) -> Telemetry {
        let wishes = TelemetryWishes {
            log: self.log.clone().or_else(|| config.log.file.clone()),
            level: config.log.level.clone(),
            payloads: self.debug_payloads,
            otlp_endpoint: config.telemetry.otlp_endpoint.clone(),
            hooks: config.hooks.clone(),
        };
        // The subscriber is set once per process, only here.
        let install = |log: JsonLog| drop(tracing::subscriber::set_global_default(log));
        let outlets = TelemetryOutlets { note: terminal::note, install };
        Telemetry::new(TelemetryOptions::resolve(wishes, process_env), outlets)
    }

    fn is_attended(&self) -> bool {
        !self.json && terminal::is_attended()
    }
}

/// Reads an environment variable; an empty one counts as unset.
pub fn process_env(name: &str) -> Option<String> {
    PROCESS.text(name)
}

/// Returns the home directory of the user.
pub fn home() -> Option<PathBuf> {
    PROCESS.home()
}

/// Returns the user of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the directory of the user's configuration.
pub fn user_config_dir() -> Option<PathBuf> {
    PROCESS.config_dir()
}

/// Builds the search path for programs that we start ourselves, without directories that a task can write.
pub fn search(writable: &[&Path]) -> OsString {
    PROCESS.search(writable)
}

/// Tells if a workspace belongs to the project of `directory`.
pub fn in_project(directory: &Path) -> impl Fn(&Path) -> bool + use<> {
    in_project_of(&PROCESS, directory)
}

/// Opens the store without loading a configuration.
pub fn store(global: &GlobalArgs) -> Result<Arc<SqliteStore>> {
    Ok(Arc::new(SqliteStore::open(state_dir(global)?.join(STORE))?))
}

/// Opens the store to read from it. Where it cannot be written, for lack of space, that is said.
pub fn store_to_read(global: &GlobalArgs) -> Result<Arc<SqliteStore>> {
    let (store, refusal) = SqliteStore::open_to_read(state_dir(global)?.join(STORE))?;
    if let Some(refusal) = refusal {
        terminal::note(&say!("store-only-read", why = visible(refusal.message())));
    }
    Ok(Arc::new(store))
}

/// Opens the store if there is one, and creates none.
pub fn existing_store(global: &GlobalArgs) -> Option<SqliteStore> {
    let path = state_dir(global).ok()?.join(STORE);
    if path.exists() { SqliteStore::open(path).ok() } else { None }
}

/// Returns the directory of the store.
pub fn state_dir(global: &GlobalArgs) -> Result<PathBuf> {
    PROCESS.state_dir(global.state.as_deref())
}
