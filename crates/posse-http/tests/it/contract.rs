//! Responses are what the OpenAPI document says, and the document is complete.

use serde_json::{Value, json};

use crate::support::Place;

fn document() -> Value {
    serde_json::from_str(posse_http::document()).unwrap()
}

/// The schema of a response, with everything that it refers to.
fn schema(document: &Value, path: &str, method: &str, status: &str) -> Value {
    let response = &document["paths"][path][method]["responses"][status];
    let mut schema = response["content"]["application/json"]["schema"].clone();
    assert!(schema.is_object(), "{method} {path} {status} has a schema: {response}");
    schema["components"] = document["components"].clone();
    schema
}

#[tokio::test]
async fn responses_satisfy_their_schemas() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    place.task("s1.t_01", Some("s1")).await;
    let ended = place.task("s2", None).await;
    place.end(&ended, "done").await;
    place.ask("PUT", "/v1/sessions/s1/context/plan", Some(json!({ "value": "x" }))).await;
    let request = posse_core::approval::ApprovalRequest {
        deadline_ms: 4_000_000_000_000,
        ..posse_testkit::approval_suite::request(task.as_str(), 1)
    };
    posse_runtime::ports::ApprovalStore::park(&*place.store, request).await.unwrap();
    let document = document();
    for (path, asked) in [
        ("/v1/me", "/v1/me"),
        ("/v1/health", "/v1/health"),
        ("/v1/tasks", "/v1/tasks"),
        ("/v1/tasks/{id}", "/v1/tasks/s1"),
        ("/v1/tasks/{id}", "/v1/tasks/s2"),
        ("/v1/tasks/{id}/tree", "/v1/tasks/s1/tree"),
        ("/v1/tasks/{id}/events", "/v1/tasks/s2/events"),
        ("/v1/tasks/{id}/result", "/v1/tasks/s2/result"),
        ("/v1/tasks/{id}/transcript", "/v1/tasks/s2/transcript"),
        ("/v1/tasks/{id}/budget", "/v1/tasks/s1/budget"),
        ("/v1/tasks/{id}/diff", "/v1/tasks/s1/diff"),
        ("/v1/tasks/{id}/messages", "/v1/tasks/s1/messages"),
        ("/v1/approvals", "/v1/approvals"),
        ("/v1/approvals/{id}", "/v1/approvals/a1"),
        ("/v1/questions", "/v1/questions"),
        ("/v1/leases", "/v1/leases"),
        ("/v1/sessions", "/v1/sessions"),
        ("/v1/sessions/{id}", "/v1/sessions/s1"),
        ("/v1/sessions/{id}/context", "/v1/sessions/s1/context"),
        ("/v1/sessions/{id}/context/{key}", "/v1/sessions/s1/context/plan"),
        ("/v1/sessions/{id}/context/{key}/history", "/v1/sessions/s1/context/plan/history"),
        ("/v1/agents", "/v1/agents"),
        ("/v1/agents/{name}", "/v1/agents/cook"),
        ("/v1/usage", "/v1/usage"),
    ] {
        let answered = place.get(asked).await;
        assert_eq!(answered.status, 200, "{asked}: {answered:?}");
        let validator = jsonschema::validator_for(&schema(&document, path, "get", "200")).unwrap();
        let value = answered.json();
        let wrong: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert_eq!(wrong, [""; 0], "{asked}: {value:#}");
    }
    let problem = place.get("/v1/tasks/none").await;
    let mut schema = document["components"]["schemas"]["ProblemView"].clone();
    schema["components"] = document["components"].clone();
    assert!(jsonschema::is_valid(&schema, &problem.json()), "{problem:?}");
}

#[test]
fn every_operation_says_what_it_does_and_which_problems_it_has() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            operations += 1;
            assert!(operation["summary"].is_string(), "{method} {path}");
            assert!(operation["operationId"].is_string() && operation["tags"].is_array(), "{method} {path}");
            assert!(operation["responses"]["4XX"].is_object(), "{method} {path}");
            // Every parameter of the path is declared.
            let declared = operation["parameters"].as_array().cloned().unwrap_or_default();
            for name in path.split(['{', '}']).skip(1).step_by(2) {
                assert!(
                    declared.iter().any(|one| one["name"] == name && one["in"] == "path"),
                    "{method} {path}"
                );
            }
        }
    }
    assert!(operations > 35, "{operations} operations");
    // No reference leads nowhere.
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name: String = reference.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        assert!(document["components"]["schemas"][&name].is_object(), "{name}");
    }
}

/// The document for people names the same routes as the one for programs.
#[test]
fn the_documentation_has_every_route() {
    let text = include_str!("../../../../docs/http.md");
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let route = format!("`{} {path}", method.to_uppercase());
            assert!(text.contains(&route), "docs/http.md lacks {route}");
        }
    }
}
