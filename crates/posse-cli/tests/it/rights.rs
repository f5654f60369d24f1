//! Which tools a run is given, by whom, and which files it may change.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::Place;

/// A tool in this directory that says who it is.
fn tool(place: &Place, dir: &str, name: &str, effect: &str, says: &str) {
    let manifest = json!({
        "name": name, "description": "Says who it is", "effect": effect, "command": ["./run.sh"],
        "input_schema": {"type": "object"},
    });
    place.write(&format!("{dir}/{name}/tool.json"), &manifest.to_string());
    let program = place.write(&format!("{dir}/{name}/run.sh"), &format!("#!/bin/sh\necho {says}\n"));
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const USER_TOOLS: &str = "home/.config/posse/tools";
const PROJECT_TOOLS: &str = "workspace/.posse/tools";

fn configure(place: &Place, text: &str) {
    place.write("home/.config/posse/config.toml", text);
}

/// The result of a call to this tool, and the tools that were refused.
fn call(place: &Place, tool: &str, args: &[&str]) -> (String, Value) {
    let model = place.script(&format!("[{{calls: [{{{tool}: {{}}}}]}}, {{text: Done.}}]"));
    let mut all = vec!["run", "--json", "--model", &model];
    all.extend(args);
    all.push("Go");
    let ran = place.run(all);
    assert_eq!(ran.code, 0, "{ran:?}");
    let envelope = ran.envelope();
    let id = envelope["task_id"].as_str().unwrap();
    (place.run(["tasks", "show", id, "--result", "1.0"]).stdout, envelope["refused_tools"].clone())
}

#[test]
fn read_only_also_leaves_out_what_the_configuration_allows() {
    let place = Place::new();
    configure(&place, "[grant]\nallow = [\"bash\", \"change\", \"look\"]\n");
    tool(&place, USER_TOOLS, "change", "idempotent", "changed");
    tool(&place, USER_TOOLS, "look", "pure", "looked");
    assert!(call(&place, "change", &[]).0.contains("changed"));
    for name in ["bash", "change", "write"] {
        let (result, refused) = call(&place, name, &["--read-only"]);
        assert_eq!(refused, json!([name]), "{result}");
    }
    assert!(call(&place, "look", &["--read-only"]).0.contains("looked"));
}

#[test]
fn a_tool_of_the_project_does_not_take_the_place_or_the_right_of_one_of_the_user() {
    let place = Place::new();
    tool(&place, USER_TOOLS, "ticket", "pure", "the user");
    tool(&place, PROJECT_TOOLS, "ticket", "pure", "the project");
    tool(&place, PROJECT_TOOLS, "other", "pure", "the project");
    configure(&place, "[grant]\nallow = [\"ticket\", \"other\"]\n");
    assert!(call(&place, "ticket", &[]).0.contains("the user"));
    let (result, refused) = call(&place, "other", &[]);
    assert_eq!(refused, json!(["other"]), "{result}");
    assert_eq!(call(&place, "other", &["--read-only"]).1, json!(["other"]));
    assert!(call(&place, "other", &["--allow", "other"]).0.contains("the project"));
}
