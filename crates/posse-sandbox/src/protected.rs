//! Protected files: no tool writes them and no command is allowed to, because whoever changes a hook, a configuration or a
//! key can do more than its task may. There is one table, for the file tools and for the sandbox.
//!
//! A file is in the table if a program runs or obeys it unasked: when it starts, when a folder is opened or entered, on a
//! commit, after a push. Build files that somebody runs by a command (`package.json`, `Makefile`, `build.rs`) and
//! `node_modules` are not: agents edit them for a living.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::workspace::show;

/// Why a file is protected: what a program does with it unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectionReason {
    /// The program loads it when it starts.
    Start,
    /// Prose that an agent follows when it starts. It runs nothing by itself, so the kernel holds it at the top of a workspace
    /// only: a directory that holds a guarded file is closed for new files, and monorepos have such prose everywhere.
    Instructions,
    /// An editor or a hosted workspace loads it when the folder is opened.
    Open,
    /// A shell hook loads it when somebody changes into the folder.
    Enter,
    /// The version control system runs or obeys it on commit, checkout, merge or push.
    Commit,
    /// A build server or a bot runs or obeys it after a push.
    Push,
    /// It holds keys or credentials.
    Secret,
}

impl ProtectionReason {
    /// Says what the program does with the file, as the rest of a sentence that begins with its name.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Start => "obeys it when it starts",
            Reason::Instructions => "follows its instructions when it starts",
            Reason::Open => "obeys it when the folder is opened",
            Reason::Enter => "runs it when somebody enters the folder",
            Reason::Commit => "runs or obeys it on commit, checkout or push",
            Reason::Push => "runs or obeys it after a push",
            Reason::Secret => "keeps keys or credentials in it",
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectedName {
    /// One name or several below each other, with everything below the last. One `*` in a name stands for any characters.
    /// Letter case does not count: there are file systems where `.GIT` is `.git`.
    pub pattern: &'static str,
    pub program: &'static str,
    pub reason: ProtectionReason,
}

use ProtectionReason as Reason;

type Row = (&'static str, ProtectionReason, &'static [&'static str]);

/// Program, reason, patterns.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    // Agents: configuration, definitions, servers, hooks.
    ("posse", Reason::Start, &[".posse", "posse.toml", ".config/posse"]),
    ("Acai", Reason::Start, &[".acai"]),
    ("Aider", Reason::Start, &[".aider.conf.*", ".aider.model.*"]),
    ("Amazon Q", Reason::Start, &[".amazonq"]),
    ("Amp", Reason::Start, &[".amp", ".config/amp"]),
    ("Augment", Reason::Start, &[".augment", ".augment-guidelines"]),
    ("Claude Code", Reason::Start, &[".claude", ".claude.json", ".mcp.json"]),
    ("Cline", Reason::Start, &[".cline", ".clinerules*"]),
    ("CodeBuddy", Reason::Start, &[".codebuddy"]),
    ("Codebuff", Reason::Start, &["codebuff.json"]),
    ("Codex", Reason::Start, &[".codex"]),
    ("Cody", Reason::Start, &[".cody", ".sourcegraph"]),
    ("Continue", Reason::Start, &[".continue", ".continuerc.json", ".continuerules"]),
    ("Copilot", Reason::Start, &[".copilot", ".github/agents", ".github/chatmodes", ".github/copilot-instructions.md", ".github/hooks", ".github/instructions",
        ".github/mcp.json", ".github/prompts", ".github/skills"]),
    ("Crush", Reason::Start, &["crush.json", ".crush.json", ".crush", ".config/crush"]),
    ("Cursor", Reason::Start, &[".cursor", ".cursorrules"]),
    ("Factory", Reason::Start, &[".factory"]),
    ("Firebender", Reason::Start, &["firebender.json", ".firebender"]),
    ("Forge", Reason::Start, &[".forge", "forge.yaml"]),
    ("Gemini CLI", Reason::Start, &[".gemini"]),
    ("goose", Reason::Start, &[".goose", ".goosehints", ".config/goose"]),
    ("gptme", Reason::Start, &["gptme.toml", "gptme.local.toml"]),
    ("Grok CLI", Reason::Start, &[".grok"]),
    ("iFlow", Reason::Start, &[".iflow"]),
    ("Junie", Reason::Start, &[".junie"]),
    ("Kilo Code", Reason::Start, &[".kilo", ".kilocode", ".kilocodemodes", "kilo.json", "kilo.jsonc", ".config/kilo"]),
    ("Kimi", Reason::Start, &[".kimi"]),
    ("Kiro", Reason::Start, &[".kiro"]),
    ("Lingma", Reason::Start, &[".lingma"]),
    ("opencode", Reason::Start, &["opencode.json", "opencode.jsonc", ".opencode", ".config/opencode"]),
    ("OpenHands", Reason::Start, &[".openhands", ".openhands_instructions", ".agents"]),
    ("Pi", Reason::Start, &[".pi"]),
    ("Qwen Code", Reason::Start, &[".qwen"]),
    ("Roo Code", Reason::Start, &[".roo", ".roomodes", ".roorules*"]),
    ("Rovo Dev", Reason::Start, &[".rovodev"]),
    ("Serena", Reason::Start, &[".serena"]),
    ("Tabnine", Reason::Start, &[".tabnine"]),
    ("Trae", Reason::Start, &[".trae"]),
    ("Vibe", Reason::Start, &[".vibe"]),
    ("Warp", Reason::Start, &[".warp"]),
    ("Windsurf", Reason::Start, &[".windsurf", ".windsurfrules", ".codeium"]),
    ("Zencoder", Reason::Start, &[".zencoder"]),
    ("every agent", Reason::Instructions, &["AGENTS.md", "AGENTS.*.md", "AGENT.md"]),
    ("Claude Code", Reason::Instructions, &["CLAUDE.md", "CLAUDE.*.md"]),
    ("CodeBuddy", Reason::Instructions, &["CODEBUDDY.md"]),
    ("Crush", Reason::Instructions, &["CRUSH.md", "CRUSH.*.md"]),
    ("Gemini CLI", Reason::Instructions, &["GEMINI.md"]),
    ("iFlow", Reason::Instructions, &["IFLOW.md"]),
    ("Qwen Code", Reason::Instructions, &["QWEN.md"]),
    ("Warp", Reason::Instructions, &["WARP.md"]),
    ("Zed", Reason::Instructions, &[".rules"]),
    // Version control and what its hooks run.
    ("git", Reason::Commit, &[".git", ".gitmodules", ".githooks", ".gitconfig", ".config/git", ".lfsconfig"]),
    ("Mercurial", Reason::Commit, &[".hg", ".hgrc", ".hgsub"]),
    ("Jujutsu", Reason::Commit, &[".jj", ".jjconfig.toml", ".config/jj"]),
    ("Subversion", Reason::Commit, &[".svn"]),
    ("Sapling", Reason::Commit, &[".sl"]),
    ("Bazaar", Reason::Commit, &[".bzr"]),
    ("Fossil", Reason::Commit, &[".fossil-settings"]),
    ("Husky", Reason::Commit, &[".husky", ".huskyrc*"]),
    ("pre-commit", Reason::Commit, &[".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", "prek.toml"]),
    ("Lefthook", Reason::Commit, &["lefthook.*", "lefthook-local.*", ".lefthook.*", ".lefthook-local.*", ".lefthook", ".lefthook-local",
        ".config/lefthook*"]),
    ("Overcommit", Reason::Commit, &[".overcommit.yml", ".git-hooks"]),
    ("simple-git-hooks", Reason::Commit, &[".simple-git-hooks.*", "simple-git-hooks.*"]),
    ("rusty-hook", Reason::Commit, &[".rusty-hook.toml"]),
    ("CaptainHook", Reason::Commit, &["captainhook.json"]),
    ("GrumPHP", Reason::Commit, &["grumphp.y*ml"]),
    ("lint-staged", Reason::Commit, &[".lintstagedrc*", "lint-staged.config.*"]),
    ("commitlint", Reason::Commit, &[".commitlintrc*", "commitlint.config.*"]),
    // Editors and hosted workspaces.
    ("VS Code", Reason::Open, &[".vscode", "*.code-workspace"]),
    ("Visual Studio", Reason::Open, &[".vs"]),
    ("a JetBrains IDE", Reason::Open, &[".idea", ".fleet"]),
    ("Zed", Reason::Open, &[".zed", ".config/zed"]),
    ("a dev container", Reason::Open, &[".devcontainer", ".devcontainer.json"]),
    ("a devfile workspace", Reason::Open, &[".devfile.yaml", "devfile.yaml"]),
    ("Gitpod", Reason::Open, &[".gitpod.yml", ".gitpod.Dockerfile", ".gitpod"]),
    ("Replit", Reason::Open, &[".replit", "replit.nix"]),
    ("Firebase Studio", Reason::Open, &[".idx"]),
    ("StackBlitz", Reason::Open, &[".stackblitzrc"]),
    ("CodeSandbox", Reason::Open, &[".codesandbox"]),
    ("Vim", Reason::Open, &[".exrc", ".vimrc", ".gvimrc", ".lvimrc", ".local.vimrc", ".vim"]),
    ("Neovim", Reason::Open, &[".nvim.lua", ".nvimrc", ".neoconf.json", ".config/nvim"]),
    ("Emacs", Reason::Open, &[".dir-locals.el", ".dir-locals-2.el", ".emacs", ".emacs.d"]),
    ("Helix", Reason::Open, &[".helix", ".config/helix"]),
    ("Kakoune", Reason::Open, &["kakrc", ".kakrc"]),
    ("Nova", Reason::Open, &[".nova"]),
    ("Sublime Text", Reason::Open, &["*.sublime-project"]),
    ("Metals", Reason::Open, &[".bsp"]),
    ("Lua language server", Reason::Open, &[".luarc.json", ".luarc.jsonc"]),
    ("cargo", Reason::Open, &[".cargo/config", ".cargo/config.toml"]),
    // Shells and interpreters.
    ("direnv", Reason::Enter, &[".envrc", ".direnvrc", ".config/direnv"]),
    ("mise", Reason::Enter, &["mise.toml", "mise.*.toml", ".mise.toml", ".mise.*.toml", "mise/config.toml", ".mise", ".rtx.toml", ".config/mise*"]),
    ("autoenv", Reason::Enter, &[".autoenv*"]),
    ("bash", Reason::Start, &[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"]),
    ("zsh", Reason::Start, &[".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zsh"]),
    ("ksh", Reason::Start, &[".kshrc", ".mkshrc"]),
    ("csh", Reason::Start, &[".cshrc", ".tcshrc", ".login", ".logout"]),
    ("fish", Reason::Start, &["config.fish", ".config/fish"]),
    ("Nushell", Reason::Start, &[".config/nushell"]),
    ("tmux", Reason::Start, &[".tmux.conf", ".config/tmux"]),
    ("screen", Reason::Start, &[".screenrc"]),
    ("the desktop", Reason::Start, &[".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".pam_environment", ".config/autostart",
        ".config/environment.d"]),
    ("systemd", Reason::Start, &[".config/systemd", ".local/share/systemd"]),
    ("launchd", Reason::Start, &["Library/LaunchAgents", "Library/LaunchDaemons"]),
    ("R", Reason::Start, &[".Rprofile", ".Renviron"]),
    ("Ruby", Reason::Start, &[".irbrc", ".pryrc"]),
    ("GHCi", Reason::Start, &[".ghci"]),
    ("IEx", Reason::Start, &[".iex.exs"]),
    ("OCaml", Reason::Start, &[".ocamlinit"]),
    ("Octave", Reason::Start, &[".octaverc"]),
    ("Python's debugger", Reason::Start, &[".pdbrc"]),
    ("gdb", Reason::Start, &[".gdbinit", ".gdbearlyinit"]),
    ("lldb", Reason::Start, &[".lldbinit"]),
    ("psql", Reason::Start, &[".psqlrc"]),
    ("sqlite3", Reason::Start, &[".sqliterc"]),
    // Build servers and bots.
    ("GitHub", Reason::Push, &[".github/workflows", ".github/actions", ".github/dependabot.y*ml", ".github/CODEOWNERS", "CODEOWNERS"]),
    ("Gitea", Reason::Push, &[".gitea/workflows", ".gitea/actions"]),
    ("Forgejo", Reason::Push, &[".forgejo/workflows", ".forgejo/actions"]),
    ("GitLab", Reason::Push, &[".gitlab-ci.y*ml", ".gitlab-ci", ".gitlab/ci", ".gitlab/agents", ".gitlab/duo"]),
    ("Bitbucket", Reason::Push, &["bitbucket-pipelines.y*ml"]),
    ("Azure DevOps", Reason::Push, &["azure-pipelines*", ".azure-pipelines", ".azuredevops"]),
    ("CircleCI", Reason::Push, &[".circleci", "circle.yml"]),
    ("Travis CI", Reason::Push, &[".travis.y*ml"]),
    ("Drone", Reason::Push, &[".drone.*"]),
    ("Woodpecker", Reason::Push, &[".woodpecker", ".woodpecker.y*ml"]),
    ("Buildkite", Reason::Push, &[".buildkite"]),
    ("Jenkins", Reason::Push, &["Jenkinsfile", "Jenkinsfile.*", ".jenkins"]),
    ("AppVeyor", Reason::Push, &["appveyor.y*ml", ".appveyor.y*ml", ".appveyor"]),
    ("Cirrus CI", Reason::Push, &[".cirrus.*"]),
    ("Semaphore", Reason::Push, &[".semaphore"]),
    ("TeamCity", Reason::Push, &[".teamcity"]),
    ("Tekton", Reason::Push, &[".tekton"]),
    ("Prow", Reason::Push, &[".prow.yaml", ".prow"]),
    ("Zuul", Reason::Push, &[".zuul.yaml", ".zuul.d", "zuul.yaml", "zuul.d"]),
    ("Taskcluster", Reason::Push, &[".taskcluster.yml"]),
    ("SourceHut", Reason::Push, &[".build.yml", ".builds"]),
    ("Vela", Reason::Push, &[".vela.y*ml"]),
    ("Harness", Reason::Push, &[".harness"]),
    ("Bazel CI", Reason::Push, &[".bazelci"]),
    ("Codefresh", Reason::Push, &["codefresh.y*ml", ".codefresh"]),
    ("Codemagic", Reason::Push, &["codemagic.yaml"]),
    ("Bitrise", Reason::Push, &["bitrise.yml"]),
    ("Wercker", Reason::Push, &["wercker.yml"]),
    ("Google Cloud Build", Reason::Push, &["cloudbuild.y*ml", "cloudbuild.json"]),
    ("AWS CodeBuild", Reason::Push, &["buildspec.y*ml"]),
    ("AWS Amplify", Reason::Push, &["amplify.yml"]),
    ("Netlify", Reason::Push, &["netlify.toml"]),
    ("Vercel", Reason::Push, &["vercel.json"]),
    ("Render", Reason::Push, &["render.yaml"]),
    ("Upsun", Reason::Push, &[".upsun", ".platform", ".platform.app.yaml"]),
    ("Read the Docs", Reason::Push, &[".readthedocs.y*ml", "readthedocs.y*ml"]),
    ("Xcode Cloud", Reason::Push, &["ci_scripts"]),
    ("Renovate", Reason::Push, &["renovate.json", "renovate.json5", ".renovaterc*", ".github/renovate.*"]),
    ("Mergify", Reason::Push, &[".mergify.yml", ".mergify"]),
    ("CodeRabbit", Reason::Push, &[".coderabbit.y*ml"]),
    ("PR-Agent", Reason::Push, &[".pr_agent.toml"]),
    // Keys, and what proves who somebody is.
    ("dotenv", Reason::Secret, &[".env*"]),
    ("ssh", Reason::Secret, &[".ssh", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.ppk"]),
    ("a TLS server", Reason::Secret, &["*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore"]),
    ("GnuPG", Reason::Secret, &[".gnupg"]),
    ("AWS", Reason::Secret, &[".aws"]),
    ("Azure", Reason::Secret, &[".azure"]),
    ("kubectl", Reason::Secret, &[".kube"]),
    ("Docker", Reason::Secret, &[".docker", ".dockercfg"]),
    ("curl", Reason::Secret, &[".netrc", ".curlrc"]),
    ("npm", Reason::Secret, &[".npmrc"]),
    ("Yarn", Reason::Secret, &[".yarnrc", ".yarnrc.yml"]),
    ("PyPI", Reason::Secret, &[".pypirc"]),
    ("PostgreSQL", Reason::Secret, &[".pgpass"]),
    ("MySQL", Reason::Secret, &[".my.cnf"]),
    ("a web server", Reason::Secret, &[".htpasswd"]),
    ("Vault", Reason::Secret, &[".vault-token"]),
    ("git", Reason::Secret, &[".git-credentials"]),
    ("cargo", Reason::Secret, &[".cargo/credentials", ".cargo/credentials.toml"]),
];

/// Every protected name, in the order of the table.
pub fn names() -> impl Iterator<Item = ProtectedName> {
    let of_row = |&(program, reason, patterns): &Row| {
        patterns.iter().map(move |&pattern| ProtectedName { pattern, program, reason })
    };
    TABLE.iter().flat_map(of_row)
}

/// The table without the names that the operator opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileProtection {
    /// Patterns of the table.
    opened: Vec<String>,
    /// The names above the workspace, innermost last: `workflows` is protected in a workspace that is called `.github`.
    above: Vec<String>,
}

impl FileProtection {
    /// Protects everything but what the operator names. The error is a name that is not in the table.
    pub fn without(opened: &[String]) -> Result<Self, String> {
        let known = |name: &String| names().any(|known| known.pattern.eq_ignore_ascii_case(name));
        match opened.iter().find(|name| !known(name)) {
            Some(unknown) => Err(unknown.clone()),
            None => Ok(Self { opened: opened.to_vec(), above: Vec::new() }),
        }
    }

    /// The same for paths that begin in this directory.
    pub fn within(&self, workspace: &Path) -> Self {
        let names: Vec<String> = workspace.iter().rev().take(INDEX.longest - 1).map(lowercase).collect();
        Self { opened: self.opened.clone(), above: names.into_iter().rev().collect() }
    }

    /// The patterns that the operator opened.
    pub fn opened(&self) -> &[String] {
        &self.opened
    }

    /// The first name in a path, relative to the workspace, that is protected.
    pub fn find(&self, path: &Path) -> Option<ProtectedName> {
        let mut names = self.above.clone();
        path.iter().find_map(|name| {
            names.push(lowercase(name));
            self.ends_in(&names)
        })
    }

    /// The protected name that the last name of a path is, or ends.
    pub(crate) fn find_last(&self, path: &Path) -> Option<ProtectedName> {
        let names: Vec<String> = self.above.iter().cloned().chain(path.iter().map(lowercase)).collect();
        self.ends_in(&names)
    }

    /// Checks if the kernel keeps a path, relative to the workspace, from commands.
    pub(crate) fn guards(&self, path: &Path) -> bool {
        let is_at_top = path.iter().nth(1).is_none();
        self.find(path).is_some_and(|found| found.reason != Reason::Instructions || is_at_top)
    }

    /// Checks if a pattern of several names begins with this path, so that something below it may be protected.
    pub(crate) fn begins(&self, path: &Path) -> bool {
        let names: Vec<String> = self.above.iter().cloned().chain(path.iter().map(lowercase)).collect();
        INDEX.longer.iter().any(|(parts, found)| {
            let is_begun =
                |count| names.len() >= count && fit(&parts[..count], &names[names.len() - count..]);
            !self.opens(found) && (1..parts.len()).any(is_begun)
        })
    }

    /// Refuses a path, relative to the workspace, that has a protected name anywhere. The refusal is for the model.
    pub fn refuse(&self, path: &Path) -> Result<(), String> {
        let Some(ProtectedName { pattern, program, reason }) = self.find(path) else { return Ok(()) };
        let reason = reason.text();
        Err(format!(
            "`{}` is protected: {program} {reason}, so no tool writes it. Nothing was written. Say in \
             your answer what should be changed there, so that a person can do it. The operator can \
             open it with `unprotected = [\"{pattern}\"]` under `[sandbox]` in the user's configuration",
            show(path)
        ))
    }

    /// The pattern that fits the last of these names and the ones before it.
    fn ends_in(&self, names: &[String]) -> Option<ProtectedName> {
        let last = std::slice::from_ref(names.last()?);
        let exact = INDEX.exact.get(last[0].as_str()).into_iter();
        let with_star = INDEX.with_star.iter().filter(|(parts, _)| fit(parts, last)).map(|(_, found)| found);
        let is_below =
            |parts: &[&str]| names.len() >= parts.len() && fit(parts, &names[names.len() - parts.len()..]);
        let longer = INDEX.longer.iter().filter(|(parts, _)| is_below(parts)).map(|(_, found)| found);
        exact.chain(with_star).chain(longer).find(|found| !self.opens(found)).copied()
    }

    fn opens(&self, found: &ProtectedName) -> bool {
        self.opened.iter().any(|opened| opened.eq_ignore_ascii_case(found.pattern))
    }
}

/// The table prepared for looking up: every entry of a workspace is compared with it.
struct ProtectionIndex {
    /// Single names without a star, in lower case.
    exact: HashMap<String, ProtectedName>,
    /// Single names with a star.
    with_star: Vec<(Vec<&'static str>, ProtectedName)>,
    /// Names below each other.
    longer: Vec<(Vec<&'static str>, ProtectedName)>,
    /// Names in the longest pattern.
    longest: usize,
}

static INDEX: LazyLock<ProtectionIndex> = LazyLock::new(|| {
    let mut index =
        ProtectionIndex { exact: HashMap::new(), with_star: Vec::new(), longer: Vec::new(), longest: 1 };
    for name in names() {
        let parts: Vec<&str> = name.pattern.split('/').collect();
        index.longest = index.longest.max(parts.len());
        match parts.as_slice() {
            [part] if !part.contains('*') => drop(index.exact.insert(part.to_ascii_lowercase(), name)),
            [_] => index.with_star.push((parts, name)),
            _ => index.longer.push((parts, name)),
        }
    }
    index
});

/// Compares names in lower case with the parts of a pattern, one by one.
fn fit(parts: &[&str], names: &[String]) -> bool {
    parts.len() == names.len() && parts.iter().zip(names).all(|(part, name)| fits(part, name))
}

fn fits(part: &str, name: &str) -> bool {
    let Some((before, after)) = part.split_once('*') else { return part.eq_ignore_ascii_case(name) };
    let (name, before, after) = (name.as_bytes(), before.as_bytes(), after.as_bytes());
    name.len() >= before.len() + after.len()
        && name[..before.len()].eq_ignore_ascii_case(before)
        && name[name.len() - after.len()..].eq_ignore_ascii_case(after)
}

fn lowercase(name: &OsStr) -> String {
    name.to_string_lossy().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(path: &str) -> Option<&'static str> {
        FileProtection::default().find(Path::new(path)).map(|found| found.pattern)
    }

    #[test]
    fn a_name_is_found_anywhere_in_a_path_in_any_case() {
        for (path, expected) in [
            ("opencode.json", Some("opencode.json")),
            ("a/b/OpenCode.JSON", Some("opencode.json")),
            (".GitHub/Workflows/ci.yml", Some(".github/workflows")),
            ("a/.github/ISSUE_TEMPLATE.md", None),
            ("workflows/ci.yml", None),
            ("lefthook.yaml", Some("lefthook.*")),
            ("lefthook.md/x", Some("lefthook.*")),
            ("src/lefthook/mod.rs", None),
            (".env.local", Some(".env*")),
            ("certs/Server.PEM", Some("*.pem")),
            ("environment", None),
            (".config/mise/config.toml", Some(".config/mise*")),
            (".hg/hgrc", Some(".hg")),
        ] {
            assert_eq!(pattern(path), expected, "{path}");
        }
    }

    // The kernel of the rule: what somebody runs by a command is for agents to edit.
    #[test]
    fn build_files_and_dependencies_are_not_protected() {
        for path in [
            "package.json",
            "Makefile",
            "build.rs",
            "Cargo.toml",
            "pyproject.toml",
            "CMakeLists.txt",
            "Dockerfile",
            "docker-compose.yml",
            "flake.nix",
            "node_modules/x/index.js",
            ".gitignore",
            ".gitattributes",
            ".editorconfig",
            "README.md",
            ".github/ISSUE_TEMPLATE/bug.md",
            "src/mcp.json",
        ] {
            assert_eq!(pattern(path), None, "{path}");
        }
    }

    #[test]
    fn an_operator_opens_a_name_of_the_table_and_no_other() {
        let opened =
            FileProtection::without(&["agents.MD".to_owned(), ".github/workflows".to_owned()]).unwrap();
        for path in ["AGENTS.md", "a/AGENTS.md", ".github/workflows/ci.yml"] {
            assert_eq!(opened.find(Path::new(path)), None, "{path}");
        }
        for path in [".claude/AGENTS.md", ".github/actions/x", "CLAUDE.md"] {
            assert!(opened.find(Path::new(path)).is_some(), "{path}");
        }
        assert_eq!(FileProtection::without(&["AGENT.md".into(), "agent".into()]), Err("agent".to_owned()));
    }

    #[test]
    fn names_above_the_workspace_count_for_what_is_in_it() {
        let inside = FileProtection::default().within(Path::new("/home/u/.github"));
        assert!(inside.find(Path::new("workflows/ci.yml")).is_some());
        assert_eq!(inside.find(Path::new("README.md")), None);
        let config = FileProtection::default().within(Path::new("/home/u/.config"));
        assert!(config.find(Path::new("opencode/agents/x.md")).is_some());
        // A workspace inside of a protected directory was chosen by its user.
        let meant = FileProtection::default().within(Path::new("/home/u/.claude"));
        assert_eq!(meant.find(Path::new("skills/x/SKILL.md")), None);
    }

    #[test]
    fn instructions_are_guarded_at_the_top_only_and_the_rest_everywhere() {
        let protection = FileProtection::default();
        for (path, guarded) in [
            ("AGENTS.md", true),
            ("packages/a/AGENTS.md", false),
            ("packages/a/.env", true),
            ("packages/a/.claude/CLAUDE.md", true),
        ] {
            assert_eq!(protection.guards(Path::new(path)), guarded, "{path}");
            assert!(protection.find(Path::new(path)).is_some(), "{path}");
        }
        assert!(protection.begins(Path::new(".github")) && protection.begins(Path::new("a/.config")));
        assert!(!protection.begins(Path::new("src")));
    }

    #[test]
    fn patterns_are_written_once_and_have_one_star_at_most() {
        let mut all: Vec<String> = names().map(|name| name.pattern.to_ascii_lowercase()).collect();
        for pattern in &all {
            assert!(
                pattern.split('/').all(|part| !part.is_empty() && part.matches('*').count() <= 1),
                "{pattern}"
            );
        }
        all.sort();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
