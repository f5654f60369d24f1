//! Configuration files: what a wrong one says, and what a project may set.

use serde_json::Value;

use crate::support::Place;

/// What `posse doctor` says about a topic, and whether that is fine.
fn finding(place: &Place, topic: &str) -> (bool, String) {
    let ran = place.run(["doctor", "--json"]);
    let found = ran.json().into_iter().find(|line| line["topic"] == topic);
    let found = found.unwrap_or_else(|| panic!("nothing about {topic}"));
    (found["ok"] == Value::Bool(true), found["text"].as_str().unwrap().to_owned())
}

/// The complaint about a project's file, from its name on.
#[track_caller]
fn complaint(text: &str) -> String {
    let place = Place::new();
    place.write("workspace/posse.toml", text);
    let (ok, said) = finding(&place, "configuration");
    assert!(!ok, "{said}");
    said[said.find("posse.toml").expect("the file is named")..].to_owned()
}

#[test]
fn a_wrong_value_is_named_with_its_place_and_what_is_allowed() {
    assert_eq!(
        complaint("model = \"a:b\"\n[limits]\nmax_turns = \"three\"\n"),
        "posse.toml:3:13: `max_turns`: invalid type: string \"three\", expected a whole number from 1 to 10000"
    );
    assert_eq!(
        complaint("[limits]\nmax_turns = 0\n"),
        "posse.toml:2:13: `max_turns`: invalid value: integer `0`, expected a whole number from 1 to 10000"
    );
    for price in ["-1.0", "nan", "inf"] {
        let text = complaint(&format!("[prices.\"a:b\"]\ninput = 1.0\noutput = 2.0\ncache_read = {price}\n"));
        assert!(
            text.starts_with("posse.toml: `prices.\"a:b\"`: ") && text.contains(" is not a price"),
            "{text}"
        );
    }
    let unknown = complaint("[limits]\nmax_turn = 3\n");
    assert!(
        unknown.starts_with("posse.toml:2:1: unknown field `max_turn`, expected one of `max_turns`"),
        "{unknown}"
    );
    let unknown = complaint("model = \"a:b\"\n[limit]\nmax_turns = 3\n");
    assert!(
        unknown
            .starts_with("posse.toml:2:2: unknown field `limit`, expected one of `model`, `fallback_models`"),
        "{unknown}"
    );
    assert_eq!(
        complaint("[model_settings]\ntemperature = 3.0\n"),
        "posse.toml:2:15: `temperature`: invalid value: floating point `3.0`, expected a number from 0 to 2"
    );
    let effort = complaint("[model_settings]\neffort = \"huge\"\n");
    assert!(effort.contains("expected one of `low`, `medium`, `high`, `max`"), "{effort}");
    let wire = complaint("[providers.x]\nwire = \"open-ai\"\n");
    assert!(wire.contains("unknown variant `open-ai`, expected one of `anthropic`, `openai`"), "{wire}");
    assert!(wire.starts_with("posse.toml:2:8: `wire`: "), "{wire}");
}

// G21, S10 Seen to fail without `forbid_rights`.
#[test]
fn a_project_cannot_redirect_keys_or_allow_itself_tools() {
    for text in [
        "[providers.openai]\nbase_url = \"http://evil\"\n",
        "[grant]\nallow = [\"bash\"]\n",
        "[bash]\nenv = [\"X\"]\n",
        "[sandbox]\ntier = \"off\"\n",
        "[sandbox]\nnetwork = \"full\"\n",
        "[log]\nfile = \"/tmp/x\"\n",
        "[telemetry]\notlp_endpoint = \"http://evil\"\n",
        "[session]\ntools = [\"subagent\"]\n",
        "[session]\nmax_depth = 2\n",
        "[session]\nmax_running = 64\n",
        "[session]\nmax_open_tasks = 5\n",
        "[session]\non_limit = \"queue\"\n",
        "[store]\nmax_age = \"1d\"\n",
        "[network]\nhosts = [\"evil.test\"]\n",
        "[network]\nallow_private = [\"127.0.0.1\"]\n",
        "[secrets]\nredact = false\n",
        "[mcp.servers.x]\ncommand = \"evil\"\n",
        "[mcp]\nwrite = [\"**\"]\n",
        "model = \"scripted:evil.yaml\"\n",
        "fallback_models = [\"a:b\", \" scripted:evil.yaml\"]\n",
        "[aliases]\nfast = \"scripted:evil.yaml\"\n",
    ] {
        let place = Place::new();
        let file = place.write("workspace/posse.toml", text);
        let (ok, said) = finding(&place, "configuration");
        assert!(!ok && said.contains("posse.toml"), "{text}{said}");
        let named = place.run(["doctor", "--json", "--config", file.to_str().unwrap()]).json();
        let configuration = named.iter().find(|line| line["topic"] == "configuration").unwrap();
        assert_eq!(configuration["ok"], true, "{text}{configuration}");
    }
}
