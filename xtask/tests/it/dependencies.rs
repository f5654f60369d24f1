//! `messages ← core ← runtime ← { models, sandbox ← { tools, git ← review }, store, … } ← cli`, read from what cargo resolved. Dependencies of tests do not
//! count: a test may use anything.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

type Names = BTreeSet<String>;

/// Packages and what each uses directly when it is built, by name.
struct Graph {
    members: Names,
    uses: BTreeMap<String, Names>,
}

impl Graph {
    fn load() -> Self {
        let metadata = cargo_metadata();
        let names: BTreeMap<&str, &str> = list(&metadata["packages"])
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let mut uses: BTreeMap<String, Names> = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let normal = list(&node["deps"])
                .filter(|used| list(&used["dep_kinds"]).any(|kind| kind["kind"] != "dev"))
                .map(|used| names[text(&used["pkg"])].to_owned());
            uses.entry(names[text(&node["id"])].to_owned()).or_default().extend(normal);
        }
        let members = list(&metadata["workspace_members"]).map(|id| names[text(id)].to_owned()).collect();
        Self { members, uses }
    }

    fn members_used_by(&self, package: &str) -> Names {
        self.uses[package].intersection(&self.members).cloned().collect()
    }

    /// Everything a package needs, however far away.
    fn all_used_by(&self, package: &str) -> Names {
        let mut found = Names::new();
        let mut open = vec![package.to_owned()];
        while let Some(next) = open.pop() {
            for used in &self.uses[&next] {
                if found.insert(used.clone()) {
                    open.push(used.clone());
                }
            }
        }
        found
    }
}

/// What a member may use of the others.
fn allowed(member: &str, members: &Names) -> Names {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match member {
        "posse-messages" | "xtask" => set(&[]),
        "posse-core" => set(&["posse-messages"]),
        "posse-runtime" | "posse-net" | "posse-terminal" => set(&["posse-messages", "posse-core"]),
        "posse-tools" | "posse-mcp" => {
            set(&["posse-messages", "posse-core", "posse-net", "posse-runtime", "posse-sandbox"])
        }
        "posse-console" => set(&["posse-messages", "posse-core", "posse-runtime", "posse-terminal"]),
        "posse-git" => set(&["posse-messages", "posse-core", "posse-runtime", "posse-sandbox"]),
        "posse-review" => set(&["posse-messages", "posse-core", "posse-git"]),
        // Everything that a configuration composes.
        "posse-setup" => set(&[
            "posse-messages",
            "posse-core",
            "posse-definitions",
            "posse-git",
            "posse-mcp",
            "posse-models",
            "posse-net",
            "posse-runtime",
            "posse-sandbox",
            "posse-store",
            "posse-telemetry",
            "posse-tools",
        ]),
        // The binary and the library facade are where the others meet. What only tests need stays out of them.
        "posse-cli" | "posse" => members
            .iter()
            .filter(|name| !["posse-cli", "posse", "posse-testkit", "xtask"].contains(&name.as_str()))
            .cloned()
            .collect(),
        _ => set(&["posse-messages", "posse-core", "posse-net", "posse-runtime"]),
    }
}

#[test]
fn members_use_only_what_lies_before_them() {
    let graph = Graph::load();
    assert!(graph.members.contains("posse-core") && graph.members.contains("posse-cli"));
    let wrong: Vec<String> = graph
        .members
        .iter()
        .flat_map(|member| {
            let allowed = allowed(member, &graph.members);
            let used = graph.members_used_by(member);
            used.difference(&allowed).map(|used| format!("{member} uses {used}")).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn core_needs_no_runtime_no_network_and_no_database() {
    let needed = Graph::load().all_used_by("posse-core");
    assert!(needed.contains("serde_json"), "the graph was read: {needed:?}");
    let foreign = |name: &&String| {
        ["tokio", "hyper", "rusqlite", "libsqlite3-sys", "futures"].contains(&name.as_str())
            || ["async-", "tokio-", "hyper-", "futures-"].iter().any(|prefix| name.starts_with(prefix))
    };
    assert_eq!(needed.iter().filter(foreign).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_runtime_knows_no_provider_and_no_database() {
    let needed = Graph::load().all_used_by("posse-runtime");
    assert!(needed.contains("tokio"), "the graph was read: {needed:?}");
    let foreign =
        |name: &&String| ["posse-net", "hyper", "rusqlite", "libsqlite3-sys"].contains(&name.as_str());
    assert_eq!(needed.iter().filter(foreign).collect::<Vec<_>>(), [""; 0]);
}

/// For this machine's platform only: the packages of others may not be downloaded.
fn cargo_metadata() -> Value {
    let compiler = Command::new("rustc").arg("-vV").output().expect("rustc says what it is");
    let compiler = String::from_utf8(compiler.stdout).expect("rustc speaks UTF-8");
    let host = compiler.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", host])
        .current_dir(crate::root())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}
