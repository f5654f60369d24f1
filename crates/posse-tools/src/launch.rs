//! What every tool that starts a process shares: the supervisor, the place, the environment.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use posse_runtime::leases::Running;
use posse_runtime::ports::ToolContext;

use crate::sandbox::{Sandbox, Scene};
use crate::supervisor::{Directory, Job, Pulse, Supervisor};

/// Given once by the program that builds the tools.
#[derive(Clone)]
pub struct Launch {
    pub supervisor: Supervisor,
    /// The workspace: where commands run.
    pub directory: Directory,
    pub environment: Environment,
    pub sandbox: Arc<Sandbox>,
}

impl Launch {
    /// Holds a process of a task to what that task may do. The error, for a model, is why it must not be started.
    /// What comes back lasts as long as the process.
    pub(crate) async fn confine(
        &self,
        job: &mut Job,
        context: &ToolContext,
    ) -> Result<Option<Running>, String> {
        let running = match &context.fence {
            Some(fence) => Some(fence.run(&context.grant).await?),
            None => None,
        };
        let workspace = job.directory.place().map_err(|cause| format!("refused: no workspace: {cause}"))?;
        let mut scene = Scene::of(context, job, &workspace, &self.supervisor);
        scene.leased = running.iter().flat_map(|running| &running.closed).map(PathBuf::from).collect();
        let (confinement, variables) = self.sandbox.confine(&scene).map_err(|why| {
            format!("refused: {why}. Nothing was run, and trying again does not help: only the person who set this up can \
                     change it")
        })?;
        job.confinement = confinement;
        job.environment.extend(variables);
        job.pulse = running.as_ref().map(|running| Pulse::of(running.fence().clone()));
        Ok(running)
    }
}

/// Variables that commands need to work and that hold no secrets.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "TMPDIR",
    "TZ",
    "CARGO_HOME",
    "RUSTUP_HOME",
];

/// Variables that name where a toolchain is. Whether commands get them is another matter.
const TOOLCHAINS: &[&str] = &[
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOROOT",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
];

/// What commands may see of the runtime's environment: an allow-list, never "everything but".
#[derive(Clone, Default)]
pub struct Environment {
    all: Vec<(OsString, OsString)>,
    allowed: Vec<String>,
    withheld: Vec<String>,
}

impl Environment {
    /// `all` is what the process was started with. `allowed` are names that configuration adds to the usual ones.
    /// `withheld` are names that no tool ever gets, also when its manifest asks for them: the providers' keys.
    pub fn new(
        all: impl IntoIterator<Item = (OsString, OsString)>,
        allowed: Vec<String>,
        withheld: Vec<String>,
    ) -> Self {
        Self { all: all.into_iter().collect(), allowed, withheld }
    }

    pub fn is_withheld(&self, name: &str) -> bool {
        self.withheld.iter().any(|withheld| withheld == name)
    }

    /// The variables for one command, with those that it may have in addition.
    pub fn select(&self, also: &[String]) -> Vec<(OsString, OsString)> {
        self.all.iter().filter(|(name, _)| self.allows(name, also)).cloned().collect()
    }

    /// Where the toolchains are that every command is told about.
    pub fn toolchains(&self) -> Vec<PathBuf> {
        let told = self.select(&[]).into_iter();
        let named = told.filter(|(name, _)| TOOLCHAINS.iter().any(|toolchain| name == toolchain));
        let places = named.flat_map(|(_, value)| std::env::split_paths(&value).collect::<Vec<_>>());
        places.filter(|place| place.is_absolute()).collect()
    }

    fn allows(&self, name: &OsStr, also: &[String]) -> bool {
        let Some(name) = name.to_str() else { return false };
        let asked = || self.allowed.iter().chain(also).any(|allowed| allowed == name);
        !self.is_withheld(name) && (ALLOWED.contains(&name) || name.starts_with("LC_") || asked())
    }
}

/// Values may be secrets, so only the names are shown.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.all.iter().map(|(name, _)| name).collect();
        f.debug_struct("Environment")
            .field("names", &names)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_pass_and_a_withheld_one_never_does() {
        let all = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("API_KEY", "s3cret"),
            ("CI", "1"),
            ("NPM", "x"),
            ("LD_X", "y"),
        ];
        let all = all.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(all, vec!["CI".into(), "API_KEY".into()], vec!["API_KEY".into()]);
        let names = |also: &[String]| -> Vec<String> {
            environment.select(also).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
        };
        assert_eq!(names(&[]), ["PATH", "LC_ALL", "CI"]);
        assert_eq!(names(&["NPM".into(), "API_KEY".into()]), ["PATH", "LC_ALL", "CI", "NPM"]);
        assert!(!format!("{environment:?}").contains("s3cret"));
    }

    #[test]
    fn the_toolchains_are_those_that_commands_are_told_about() {
        let all = [("CARGO_HOME", "/a"), ("GOPATH", "/b:c:/d"), ("JAVA_HOME", "/e"), ("LANG", "/f")];
        let all = all.map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(all, vec!["GOPATH".into()], vec![]);
        assert_eq!(environment.toolchains(), ["/a", "/b", "/d"].map(PathBuf::from));
    }
}
