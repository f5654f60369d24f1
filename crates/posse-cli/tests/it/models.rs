//! Which model a task gets: names without a provider, models that do not exist, agents that bring their own.

use posse_testkit::server::{Answer, Recorded, Server};
use posse_testkit::wire::{self, Say};
use serde_json::{Value, json};

use crate::support::{Place, Ran};

/// Two providers at one server: `big`, which knows `boss`, and `small`, which knows no model that is called `gone`.
async fn provider() -> Server {
    Server::handler(|request| match request.json()["model"].as_str() {
        Some("gone") => {
            Answer::json(404, &json!({"error": {"code": "model_not_found", "message": "no model `gone`"}}))
        }
        Some("boss") if is_child(request) => match wire::turn(request) {
            0 => Say::call("g", "glob", json!({"pattern": "*.txt"})).answer(request),
            _ => Say::text("Seen by the boss's model.").answer(request),
        },
        _ => delegate(request),
    })
    .await
}

fn is_child(request: &Recorded) -> bool {
    request.json().to_string().contains("You are the looker.")
}

fn delegate(request: &Recorded) -> Answer {
    let say = match wire::turn(request) {
        0 => Say::call("s", "subagent", json!({"action": "spawn", "agent": "looker", "task": "Look"})),
        1 => Say::call("w", "subagent", json!({"action": "wait"})),
        2 => Say::call("c", "subagent", json!({"action": "collect", "task_id": "t_01"})),
        _ => Say::text(&wire::results(request)[2]),
    };
    say.answer(request)
}

/// The configuration of both providers, and an agent file whose model does not exist.
fn furnish(place: &Place, server: &Server, more: &str) {
    let url = server.url();
    let config = format!(
        "{more}\n[providers.big]\nwire = \"openai\"\nbase_url = \"{url}\"\n\
         [providers.small]\nwire = \"openai\"\nbase_url = \"{url}\"\n\
         [prices]\n\"big:boss\" = {{ input = 10.0, output = 10.0 }}\n\"small:gone\" = {{ input = 1.0, output = 1.0 }}\n"
    );
    place.write("home/.config/posse/config.toml", &config);
    let agent =
        "---\nname: looker\ndescription: Looks\ntools: [glob]\nmodel: small:gone\n---\nYou are the looker.\n";
    place.write("home/.config/posse/agents/looker.md", agent);
}

/// Delegates to the looker and returns its envelope.
async fn delegated(place: &Place, args: &[&str]) -> (Value, Ran) {
    let all = ["run", "--json", "--model", "big:boss"];
    let ran = Ran::beside(place.posse(all.iter().chain(args).copied().chain(["Go"]))).await;
    let text = ran.envelope()["text"].as_str().unwrap_or_default().to_owned();
    let child = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    (child, ran)
}

fn models_asked(server: &Server) -> Vec<String> {
    let children = server.requests().into_iter().filter(is_child);
    children.map(|request| request.json()["model"].as_str().unwrap().to_owned()).collect()
}

// R048
#[tokio::test]
async fn the_default_model_takes_over_the_task_of_a_file_agent_whose_model_does_not_exist() {
    let (place, server) = (Place::new(), provider().await);
    furnish(&place, &server, "");
    let (child, ran) = delegated(&place, &[]).await;
    assert_eq!(
        (&child["status"], &child["result"]),
        (&json!("completed"), &json!("Seen by the boss's model."))
    );
    let warnings = child["warnings"].to_string();
    assert!(warnings.contains("small:gone does not exist, so big:boss is used"), "{warnings}");
    assert_eq!(models_asked(&server), ["gone", "boss", "boss"], "it is asked for once: {ran:?}");
}

// R048
#[tokio::test]
async fn a_default_model_is_authorized_at_its_own_price_before_it_takes_over() {
    let (place, server) = (Place::new(), provider().await);
    furnish(&place, &server, "");
    // Enough for a call of the cheap model and not for one of the dear model.
    let agent = "---\nname: looker\ndescription: Looks\ntools: [glob]\nmodel: small:gone\n\
                 budget: {max_cost_usd: 0.004}\n---\nYou are the looker.\n";
    place.write("home/.config/posse/agents/looker.md", agent);
    let (child, _) = delegated(&place, &["--max-cost", "10"]).await;
    assert_eq!(child["status"], "failed", "{child}");
    assert!(!models_asked(&server).contains(&"boss".to_owned()), "{child}");
    assert_eq!(child["reason"], "budget_exhausted", "{child}");
}

// R048
#[tokio::test]
async fn a_model_that_does_not_exist_is_an_error_if_the_configuration_says_so() {
    let (place, server) = (Place::new(), provider().await);
    furnish(&place, &server, "on_unknown_model = \"error\"");
    let (child, _) = delegated(&place, &[]).await;
    assert_eq!(child["status"], "failed", "{child}");
    assert!(child.to_string().contains("no model `gone`"), "{child}");
    assert_eq!(models_asked(&server), ["gone"]);
}

/// A model that has answered exists; what goes wrong with it later is told and hidden by no other model.
#[tokio::test]
async fn a_model_that_has_answered_is_replaced_by_no_default() {
    let place = Place::new();
    let server = Server::handler(|request| match request.json()["model"].as_str() {
        Some("gone") if wire::turn(request) == 0 => {
            Say::call("g", "glob", json!({"pattern": "*.txt"})).answer(request)
        }
        Some("gone") => {
            Answer::json(404, &json!({"error": {"code": "model_not_found", "message": "no model"}}))
        }
        _ => delegate(request),
    })
    .await;
    furnish(&place, &server, "");
    let (child, _) = delegated(&place, &[]).await;
    assert_ne!(child["status"], "completed", "{child}");
    assert_eq!(models_asked(&server), ["gone", "gone"]);
}

#[tokio::test]
async fn a_defined_agent_whose_model_does_not_exist_fails() {
    let place = Place::new();
    let server = Server::handler(|request| {
        let define = json!({"action": "define", "name": "looker", "description": "Looks", "model": "small:gone",
            "system_prompt": "You are the looker.", "tools": ["glob"]});
        match (request.json()["model"].as_str(), wire::turn(request)) {
            (Some("gone"), _) => {
                Answer::json(404, &json!({"error": {"code": "model_not_found", "message": "no model `gone`"}}))
            }
            (_, 0) => Say::call("d", "subagent", define).answer(request),
            (_, 1) => Say::call("s", "subagent", json!({"action": "spawn", "agent": "looker", "task": "Look"}))
                .answer(request),
            (_, 2) => Say::call("w", "subagent", json!({"action": "wait"})).answer(request),
            (_, 3) => {
                Say::call("c", "subagent", json!({"action": "collect", "task_id": "t_01"})).answer(request)
            }
            _ => Say::text(&wire::results(request)[3]).answer(request),
        }
    })
    .await;
    furnish(&place, &server, "");
    std::fs::remove_file(place.home().join(".config/posse/agents/looker.md")).unwrap();
    let (child, _) = delegated(&place, &[]).await;
    assert_eq!(child["status"], "failed", "{child}");
    assert!(child.to_string().contains("no model `gone`"), "{child}");
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|request| request.json()["model"] == "gone").count(), 1);
    assert_eq!(requests.len(), 6, "nobody else was asked in its place");
}

const NAME: &str = "claude-sonnet-4-20250514";

/// Runs with a model that is named without its provider.
async fn named(place: &Place, server: &Server, config: &str, variables: &[&str]) -> Ran {
    place.write("home/.config/posse/config.toml", &config.replace("URL", server.url()));
    let mut command = place.posse(["run", "--json", "--model", NAME, "Go"]);
    command.envs(variables.iter().map(|name| (*name, server.url())));
    Ran::beside(command).await
}

#[tokio::test]
async fn a_model_without_a_provider_is_found_at_the_only_configured_provider_that_serves_it() {
    let server = Server::handler(|request| Say::text("Here.").answer(request)).await;
    let work = "[providers.work]\nwire = \"anthropic\"\nbase_url = \"URL\"\n";
    let other = "[providers.other]\nwire = \"openai\"\nbase_url = \"URL\"\n";
    let proxy = "[aliases]\nmain = \"proxy:claude-sonnet-4-20250514\"\n\
                 [providers.proxy]\nwire = \"openai-compatible\"\nbase_url = \"URL\"\n";
    for (config, variables, provider) in [
        ("", &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"] as &[&str], "anthropic"),
        (work, &[], "work"),
        (other, &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"], "anthropic"),
        (proxy, &[], "proxy"),
    ] {
        let place = Place::new();
        let ran = named(&place, &server, config, variables).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        let started = place.journal(place.tasks()[0]["task_id"].as_str().unwrap()).remove(0);
        assert!(started.to_string().contains(&format!("\"{provider}:{NAME}\"")), "{started}");
    }
    let both = named(&Place::new(), &server, work, &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"]).await;
    assert_eq!(both.code, 1, "{both:?}");
    assert!(
        both.stderr.contains("`anthropic:claude-sonnet-4-20250514`, `work:claude-sonnet-4-20250514`"),
        "{both:?}"
    );
    let none = named(&Place::new(), &server, other, &[]).await;
    assert!(none.stderr.contains("ANTHROPIC_API_KEY is not set"), "{none:?}");
}

#[tokio::test]
async fn a_named_agent_uses_the_model_of_its_file_when_none_is_configured_elsewhere() {
    let (place, server) = (Place::new(), Server::handler(|request| Say::text("Mine.").answer(request)).await);
    let agent = |model: &str| {
        let text = format!("---\nname: looker\ndescription: Looks\n{model}---\nYou look.\n");
        place.write("home/.config/posse/agents/looker.md", &text);
    };
    let run = async || {
        let mut command = place.posse(["run", "--json", "--agent", "looker", "Go"]);
        command.env("OLLAMA_HOST", server.url());
        Ran::beside(command).await
    };
    agent("model: ollama:qwen3\n");
    let ran = run().await;
    assert_eq!((ran.code, &ran.envelope()["text"]), (0, &json!("Mine.")), "{ran:?}");
    assert_eq!(server.request().json()["model"], "qwen3");
    agent("");
    let ran = run().await;
    assert!(ran.code != 0 && ran.stderr.contains("MODEL_NOT_CONFIGURED"), "{ran:?}");
    agent("model: anthropic:claude-sonnet-4-5\n");
    let ran = run().await;
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY is not set"), "{ran:?}");
}

/// The second process passes the step that failed in the first one.
#[test]
fn a_script_that_failed_at_a_step_passes_it_when_the_task_is_resumed() {
    let place = Place::new();
    let model = place.script(
        "- calls: [{glob: {pattern: '*.txt'}}]\n\
         - fail: {kind: overloaded, message: try later}\n\
         - fail: {kind: overloaded, message: still not}\n\
         - text: Done.\n",
    );
    let first = place.run(["run", "--json", "--model", &model, "Go"]);
    let task = first.envelope()["task_id"].as_str().unwrap().to_owned();
    assert!(first.code == 1 && first.envelope()["detail"].to_string().contains("try later"), "{first:?}");
    let second = place.run(["tasks", "resume", &task, "--json"]);
    assert!(second.code == 1 && second.envelope()["detail"].to_string().contains("still not"), "{second:?}");
    let third = place.run(["tasks", "resume", &task, "--json"]);
    assert_eq!((third.code, &third.envelope()["text"]), (0, &json!("Done.")), "{third:?}");
}
