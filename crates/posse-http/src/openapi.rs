//! The OpenAPI document, generated from the routes and the types that they use, and the router that serves it.

use std::sync::OnceLock;

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Router, body::Body};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::state::ApiState;
use crate::{assets, door, routes};

/// The OpenAPI 3.1 document as JSON text.
pub fn document() -> &'static str {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let (_, document) = routes::api().split_for_parts();
        let document = serde_json::to_value(&document).unwrap_or_default();
        completed(document).to_string()
    })
}

/// Returns the router of all routes, with the document and the files of the dashboard.
pub fn router(api: ApiState) -> Router {
    let (router, _) = routes::api().split_for_parts();
    router
        .route("/v1/openapi.json", get(show))
        .merge(assets::router())
        .fallback(door::no_route)
        .method_not_allowed_fallback(door::no_method)
        .with_state(api)
}

async fn show(State(_): State<ApiState>) -> Response {
    let mut response = Response::new(Body::from(document()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Adds what is the same for every route: the problems, the tokens, and the description.
fn completed(mut document: Value) -> Value {
    document["openapi"] = json!("3.1.0");
    document["info"] = json!({
        "title": "Posse",
        "version": "1",
        "description": "Tasks of every process on the store: see, steer, approve. docs/http.md explains the conventions.",
        "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
    });
    document["servers"] = json!([{ "url": "/" }]);
    document["security"] = json!([{ "bearer": [] }, { "cookie": [] }]);
    document["components"]["securitySchemes"] = json!({
        "bearer": { "type": "http", "scheme": "bearer" },
        "cookie": { "type": "apiKey", "in": "cookie", "name": "posse" },
    });
    let problem = json!({
        "description": "Problem",
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/ProblemView" } } },
    });
    document["components"]["schemas"]["ProblemView"] = problem_schema();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.filter_map(|(_, path)| path.as_object_mut()).flatten();
    for (method, operation) in operations {
        let Some(responses) = operation["responses"].as_object_mut() else { continue };
        responses.insert("4XX".to_owned(), problem.clone());
        responses.insert("503".to_owned(), problem.clone());
        if method == "get" && responses.contains_key("200") {
            responses.insert("304".to_owned(), json!({ "description": "Unchanged since the entity tag" }));
        }
        responses.values_mut().for_each(|response| {
            if response["description"].as_str().is_none_or(str::is_empty) {
                response["description"] = json!("Done");
            }
        });
    }
    document
}

fn problem_schema() -> Value {
    let schema = <crate::wire::ProblemView as utoipa::PartialSchema>::schema();
    serde_json::to_value(&schema).unwrap_or_default()
}
