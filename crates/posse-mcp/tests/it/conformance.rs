use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The fixture server, running until it is dropped.
struct Fixture {
    child: Child,
    url: String,
}

impl Fixture {
    fn start() -> Self {
        let tests = std::env::current_exe().unwrap();
        let program = tests.ancestors().nth(2).unwrap().join("examples/fixture");
        let mut child = Command::new(program).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().trim_start_matches("listening on ").to_owned();
        Self { child, url }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the directory in which `cargo xtask test` installs npm programs; `None` if it could not.
fn programs() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/npm/node_modules/.bin");
    let found = root.join("conformance").exists().then_some(root);
    if found.is_none() {
        eprintln!("NOT TESTED: the conformance suite is not installed; `cargo xtask test` installs it");
    }
    found
}

/// Returns the command of the suite, with the interpreter installed for it.
fn suite(programs: &Path) -> Command {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut suite = Command::new(programs.join("conformance"));
    suite.env("PATH", path).current_dir(std::env::temp_dir());
    suite
}

/// Runs every server scenario of a protocol revision, including those not scored yet.
fn conforms(revision: &str, scenarios_min: usize) {
    let Some(programs) = programs() else { return };
    let fixture = Fixture::start();
    let ran = suite(&programs)
        .args(["server", "--url", &fixture.url, "--requirements", revision])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let summary: Vec<&str> = said.lines().skip_while(|line| !line.contains("SUMMARY")).collect();
    let failed: Vec<&&str> = summary.iter().filter(|line| line.starts_with('✗')).collect();
    let passed = summary.iter().filter(|line| line.starts_with('✓')).count();
    assert!(failed.is_empty() && passed >= scenarios_min, "{failed:#?} {passed} passed\n{said}");
}

#[test]
fn every_scenario_of_2025_11_25_passes() {
    conforms("2025-11-25", 33);
}

#[test]
fn every_scenario_of_2026_07_28_and_of_the_tasks_extension_passes() {
    conforms("2026-07-28", 50);
}

/// Client scenarios, each with the protocol revisions to run. docs/mcp.md explains the omissions.
const FOR_CLIENTS: &[(&str, &[&str])] = &[
    ("initialize", &["2025-06-18", "2025-11-25"]),
    ("tools_call", &["2025-06-18", "2025-11-25", "2026-07-28"]),
    ("sse-retry", &["2025-11-25"]),
    ("request-metadata", &["2026-07-28"]),
    ("http-standard-headers", &["2026-07-28"]),
    ("http-custom-headers", &["2026-07-28"]),
    ("http-invalid-tool-headers", &["2026-07-28"]),
    ("json-schema-ref-no-deref", &["2026-07-28"]),
    ("json-schema-2020-12-preservation", &["2025-11-25", "2026-07-28"]),
    ("sep-2322-client-request-state", &["2026-07-28"]),
    ("auth/metadata-default", &["2025-11-25", "2026-07-28"]),
    ("auth/metadata-var1", &["2025-11-25", "2026-07-28"]),
    ("auth/metadata-var2", &["2025-11-25", "2026-07-28"]),
    ("auth/metadata-var3", &["2025-11-25", "2026-07-28"]),
    ("auth/basic-cimd", &["2025-11-25", "2026-07-28"]),
    ("auth/scope-from-www-authenticate", &["2025-11-25", "2026-07-28"]),
    ("auth/scope-from-scopes-supported", &["2025-11-25", "2026-07-28"]),
    ("auth/scope-omitted-when-undefined", &["2025-11-25", "2026-07-28"]),
    ("auth/scope-step-up", &["2025-11-25", "2026-07-28"]),
    ("auth/scope-retry-limit", &["2025-11-25", "2026-07-28"]),
    ("auth/token-endpoint-auth-basic", &["2025-06-18", "2025-11-25", "2026-07-28"]),
    ("auth/token-endpoint-auth-post", &["2025-06-18", "2025-11-25", "2026-07-28"]),
    ("auth/token-endpoint-auth-none", &["2025-06-18", "2025-11-25", "2026-07-28"]),
    ("auth/pre-registration", &["2025-11-25", "2026-07-28"]),
    ("auth/2025-03-26-oauth-metadata-backcompat", &["2025-03-26"]),
    ("auth/2025-03-26-oauth-endpoint-fallback", &["2025-03-26"]),
    ("auth/resource-mismatch", &["2026-07-28"]),
    ("auth/offline-access-scope", &["2026-07-28"]),
    ("auth/offline-access-not-supported", &["2026-07-28"]),
    ("auth/authorization-server-migration", &["2026-07-28"]),
    ("auth/iss-supported", &["2026-07-28"]),
    ("auth/iss-not-advertised", &["2026-07-28"]),
    ("auth/iss-supported-missing", &["2026-07-28"]),
    ("auth/iss-wrong-issuer", &["2026-07-28"]),
    ("auth/iss-unexpected", &["2026-07-28"]),
    ("auth/iss-normalized", &["2026-07-28"]),
    ("auth/metadata-issuer-mismatch", &["2026-07-28"]),
    ("auth/client-credentials-jwt", &["extension"]),
    ("auth/client-credentials-basic", &["extension"]),
];

/// Name prefixes of the scenarios that are not run.
const NOT_FOR_OURS: &[&str] = &[
    "auth/dpop",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
    "elicitation-sep1034-client-defaults",
    "sep-2640-client-",
];

fn client() -> String {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/conformance_client").display().to_string()
}

/// Runs a client scenario; all its checks must pass.
fn checked(programs: &Path, scenario: &str, revision: &str) {
    let ran = suite(programs)
        .args(["client", "--command", &client()])
        .args(["--scenario", scenario, "--spec-version", revision])
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let passed = said.lines().find_map(|line| line.strip_prefix("Passed: ")?.split('/').next()?.parse().ok());
    assert!(ran.status.success() && passed > Some(0u32), "{scenario} of {revision}: {said}");
}

#[test]
fn our_client_passes_every_scenario_for_clients_that_use_tools() {
    let Some(programs) = programs() else { return };
    for (scenario, revisions) in FOR_CLIENTS.iter().filter(|(scenario, _)| !scenario.starts_with("auth/")) {
        for revision in *revisions {
            checked(&programs, scenario, revision);
        }
    }
}

/// Arguments that run all scenarios of a revision at once, because there are many.
const AT_ONCE: &[(&str, &[&str])] = &[
    ("2025-03-26", &["--suite", "all", "--spec-version", "2025-03-26"]),
    ("2025-06-18", &["--suite", "auth", "--spec-version", "2025-06-18"]),
    ("2025-11-25", &["--suite", "auth", "--spec-version", "2025-11-25"]),
    ("2026-07-28", &["--requirements", "2026-07-28"]),
    ("extension", &["--suite", "extensions"]),
];

#[test]
fn our_client_passes_every_scenario_about_signing_in() {
    let Some(programs) = programs() else { return };
    for (revision, args) in AT_ONCE {
        let client = client();
        let ran = suite(&programs).args(["client", "--command", &client]).args(*args).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        let marked = |mark: char| -> Vec<&str> {
            let lines = said.lines().filter_map(|line| line.strip_prefix(mark)?.split_once(':'));
            lines.map(|(scenario, _)| scenario.trim()).collect()
        };
        let is_ours = |scenario: &&str| !NOT_FOR_OURS.iter().any(|begin| scenario.starts_with(begin));
        let failed: Vec<&str> = marked('✗').into_iter().filter(is_ours).collect();
        assert!(failed.is_empty() && said.contains(" 0 warnings"), "{revision}: {failed:?} {said}");
        let wanted =
            FOR_CLIENTS.iter().filter(|(name, of)| name.starts_with("auth/") && of.contains(revision));
        let missing: Vec<_> = wanted.filter(|(name, _)| !marked('✓').contains(name)).collect();
        assert!(missing.is_empty(), "{revision}: {missing:?} {said}");
    }
}

// Seen to fail without one of the entries.
#[test]
fn every_scenario_for_clients_is_run_or_said_not_to_be() {
    let Some(programs) = programs() else { return };
    let docs = include_str!("../../../../docs/mcp.md");
    let listed = suite(&programs).args(["list", "--client"]).output().unwrap().stdout;
    let listed = String::from_utf8_lossy(&listed);
    let all: Vec<(&str, &str)> =
        listed.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_once(' ')).collect();
    assert!(all.len() > 40, "{listed}");
    for (scenario, revisions) in all {
        if let Some(begin) = NOT_FOR_OURS.iter().find(|begin| scenario.starts_with(**begin)) {
            assert!(docs.contains(&format!("`{begin}")), "docs/mcp.md does not say why `{begin}` is not run");
            continue;
        }
        let ran = FOR_CLIENTS.iter().find(|(name, _)| *name == scenario).map(|(_, revisions)| *revisions);
        let wanted: Vec<&str> = revisions.trim_matches(['[', ']']).split(',').collect();
        assert_eq!(ran, Some(&wanted[..]), "{scenario}");
        assert!(docs.contains(&format!("`{scenario}`")), "docs/mcp.md does not name `{scenario}`");
    }
}
