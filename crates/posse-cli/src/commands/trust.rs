//! `posse trust`: a person has looked at what the agents of a project may do, and says yes to that.

use std::process::ExitCode;

use posse_core::definition::Scope;
use posse_core::text::visible;
use posse_core::{Error, ErrorCode, Result};
use posse_definitions::registry::{Candidate, Standing};
use serde_json::json;

use crate::agents::{load, trust_store};
use crate::args::{Global, TrustArgs};
use crate::setup::Setup;
use crate::terminal;

pub fn run(global: &Global, args: &TrustArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store = trust_store(&setup.state);
    if args.list {
        for (root, files) in store.list()? {
            let line = format!("{} · {files} files", root.display());
            let value = json!({ "project": root.display().to_string(), "files": files });
            say(global, &line, &value);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let places = setup.places();
    let Some(root) = places.root().map(|root| root.to_owned()) else {
        return Err(Error::new(ErrorCode::InvalidRequest, "there is no project here to trust")
            .hint("go to a project's directory"));
    };
    if args.revoke {
        let was_trusted = store.revoke(&root)?;
        let text = if was_trusted { "is not trusted any more" } else { "was not trusted" };
        let value = json!({ "project": root.display().to_string(), "was_trusted": was_trusted });
        say(global, &format!("{} {text}", root.display()), &value);
        return Ok(ExitCode::SUCCESS);
    }
    let registry = load(places, setup.trust(false));
    let snapshot = registry.snapshot();
    let all =
        snapshot.entries().iter().flat_map(|entry| std::iter::once(&entry.chosen).chain(&entry.shadowed));
    let files: Vec<&Candidate> =
        all.filter(|candidate| matches!(candidate.read.origin.scope, Scope::Project { .. })).collect();
    for candidate in &files {
        let origin = &candidate.read.origin;
        let state = match candidate.standing {
            Standing::Trusted => "trusted before",
            Standing::NotTrusted => "trusted now",
            Standing::NotOurs => "belongs to another user: not trusted",
        };
        let line = format!("{:<24} {} · {state}", visible(&candidate.read.name), visible(&origin.path));
        say(global, &line, &json!({ "agent": candidate.read.name, "path": origin.path, "state": state }));
    }
    let ours = files.iter().filter(|candidate| candidate.standing != Standing::NotOurs);
    store.trust(&root, ours.map(|candidate| candidate.read.origin.hash.as_str()))?;
    if files.is_empty() {
        terminal::note("this project has no agents");
    }
    Ok(ExitCode::SUCCESS)
}

fn say(global: &Global, line: &str, value: &serde_json::Value) {
    if global.json { terminal::out(&value.to_string()) } else { terminal::out_foreign(line) }
}
