//! Who gets in: every route, with everything that can be wrong about a request.

use posse_http::wire::TokenScope;
use serde_json::{Value, json};

use crate::support::Place;

/// Routes without a token. `docs/http.md` has the same list.
const PUBLIC: &[(&str, &str)] = &[
    ("GET", "/v1/health"),
    ("POST", "/v1/login"),
    ("GET", "/v1/docs"),
    ("GET", "/"),
    ("GET", "/assets/main.js"),
    ("GET", "/assets/vendor/preact.mjs"),
    ("GET", "/assets/reference/page.js"),
];

/// Routes that a token which only reads may post to: they change nothing.
const HARMLESS: &[&str] = &["/v1/tasks/wait", "/v1/logout"];

/// Every route of the document, with ids in place of parameters.
fn routes() -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(posse_http::document()).unwrap();
    let mut found = vec![("GET".to_owned(), "/v1/openapi.json".to_owned())];
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{id}", "s1").replace("{call}", "1.0").replace("{key}", "k");
        let path = path.replace("{task}", "s1").replace("{name}", "cook");
        for method in methods.as_object().unwrap().keys() {
            found.push((method.to_uppercase(), path.clone()));
        }
    }
    assert!(found.len() > 40, "{found:?}");
    found.extend(PUBLIC.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())));
    found.sort();
    found.dedup();
    found
}

fn is_public(method: &str, path: &str) -> bool {
    PUBLIC.contains(&(method, path))
}

// S16 G24 Seen to fail when `is_public` lets every path in.
#[tokio::test]
async fn no_route_answers_without_a_token_but_those_that_hold_no_data() {
    let place = Place::start().await;
    for (method, path) in routes() {
        for authorization in [None, Some("Bearer wrong"), Some("Basic YTpi"), Some("Bearer ")] {
            // Failed logins have a limit, which another test is about: every peer is this machine here.
            let headers: Vec<(&str, &str)> =
                authorization.map(|value| ("Authorization", value)).into_iter().collect();
            let answered = place.send(&method, &path, &headers, "").await;
            if is_public(&method, &path) {
                assert!(answered.status < 401 || path == "/v1/login", "{method} {path}: {answered:?}");
                continue;
            }
            assert!([401, 429].contains(&answered.status), "{method} {path}: {answered:?}");
            assert_eq!(answered.header("connection"), Some("close"), "{method} {path}");
            assert!(["UNAUTHENTICATED", "RATE_LIMITED"].contains(&answered.code().as_str()));
        }
    }
}

// S17 G24 Seen to fail without `check_host`, and without `check_origin`.
#[tokio::test]
async fn no_route_answers_for_another_host_or_a_foreign_page() {
    let place = Place::start().await;
    let bearer = format!("Bearer {}", place.all);
    let port = place.port;
    for (method, path) in routes() {
        for host in
            ["evil.example", "127.0.0.1", &format!("127.0.0.1:{}", port ^ 1), &format!("evil.example:{port}")]
        {
            let answered =
                place.send(&method, &path, &[("Host", host), ("Authorization", &bearer)], "").await;
            assert_eq!(answered.status, 403, "{method} {path} for {host}: {answered:?}");
        }
        for origin in [
            "http://evil.example",
            "null",
            &format!("http://127.0.0.1:{}", port ^ 1),
            &format!("https://127.0.0.1:{port}"),
        ] {
            let answered =
                place.send(&method, &path, &[("Origin", origin), ("Authorization", &bearer)], "").await;
            assert_eq!(answered.status, 403, "{method} {path} from {origin}: {answered:?}");
        }
    }
}

// S16 G24 Seen to fail when `scope_of` asks for nothing but `read`.
#[tokio::test]
async fn a_token_that_only_reads_changes_nothing() {
    let place = Place::start().await;
    let bearer = format!("Bearer {}", place.reader);
    for (method, path) in routes() {
        let answered = match path.ends_with("/stream") {
            // A stream has no end.
            true => continue,
            false => place.send(&method, &path, &[("Authorization", &bearer)], "").await,
        };
        let changes = !["GET", "HEAD"].contains(&method.as_str());
        if changes && !HARMLESS.contains(&path.as_str()) && !is_public(&method, &path) {
            assert_eq!((answered.status, answered.code().as_str()), (403, "FORBIDDEN"), "{method} {path}");
        } else {
            assert_ne!(answered.status, 403, "{method} {path}: {answered:?}");
        }
    }
}

#[tokio::test]
async fn each_scope_opens_its_own_routes() {
    let place = Place::start().await;
    let token = |name: &str, scope| place.tokens.add(name, &[scope], None).unwrap().secret;
    let approve = token("approver", TokenScope::Approve);
    let steer = token("driver", TokenScope::Steer);
    for (path, of) in [
        ("/v1/approvals/a1", "approve"),
        ("/v1/tasks/s1/messages", "steer"),
        ("/v1/tasks/s1/answer", "steer"),
        ("/v1/tasks/s1/cancel", "steer"),
        ("/v1/tasks/s1/resume", "write"),
        ("/v1/tasks", "write"),
        ("/v1/tasks/s1/x/cancel", "write"),
    ] {
        for (name, secret) in [("approve", &approve), ("steer", &steer)] {
            let answered =
                place.send("POST", path, &[("Authorization", &format!("Bearer {secret}"))], "").await;
            assert_eq!(answered.status == 403, name != of, "{name} at {path}: {answered:?}");
        }
    }
}

#[tokio::test]
async fn a_browser_logs_in_once_with_a_code_and_out_again() {
    let place = Place::start().await;
    let code = place.tokens.new_code(&TokenScope::ALL).unwrap().secret;
    let own = format!("http://127.0.0.1:{}", place.port);
    let login = |body: Value| {
        let headers = [("Content-Type", "application/json"), ("Origin", own.as_str())];
        let (place, body) = (&place, body.to_string());
        async move { place.send("POST", "/v1/login", &headers, &body).await }
    };
    assert_eq!(login(json!({ "code": "wrong" })).await.status, 401);
    let answered = login(json!({ "code": code })).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    let line = answered.header("set-cookie").unwrap().to_owned();
    assert!(line.contains("; HttpOnly; SameSite=Strict") && line.contains("; Path=/"), "{line}");
    assert_eq!(login(json!({ "code": code })).await.status, 401, "a code works once");
    let cookie = line.split(';').next().unwrap();
    let me = place.send("GET", "/v1/me", &[("Cookie", cookie)], "").await;
    assert_eq!(me.json()["name"], "browser-1");
    // A page of another port is the same site for cookies, and its origin gives it away.
    let post = |headers: Vec<(&'static str, String)>| {
        let place = &place;
        let cookie = cookie.to_owned();
        async move {
            let mut all: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            all.push(("Cookie", &cookie));
            place.send("POST", "/v1/tasks/s1/cancel", &all, "").await
        }
    };
    assert_eq!(post(Vec::new()).await.status, 403, "a change needs an origin");
    assert_eq!(post(vec![("Origin", format!("http://127.0.0.1:{}", place.port ^ 1))]).await.status, 403);
    assert_eq!(post(vec![("Origin", own.clone())]).await.status, 404, "let in: there is no such task");
    // The secret of a cookie is no bearer token, and the other way round.
    let secret = cookie.split_once('=').unwrap().1.to_owned();
    assert_eq!(
        place.send("GET", "/v1/me", &[("Authorization", &format!("Bearer {secret}"))], "").await.status,
        401
    );
    let name = cookie.split_once('=').unwrap().0;
    assert_eq!(
        place.send("GET", "/v1/me", &[("Cookie", &format!("{name}={}", place.all))], "").await.status,
        401
    );
    let left = place.send("POST", "/v1/logout", &[("Cookie", cookie), ("Origin", &own)], "").await;
    assert_eq!(left.status, 204);
    assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(place.send("GET", "/v1/me", &[("Cookie", cookie)], "").await.status, 401, "revoked");
}

#[tokio::test]
async fn a_revoked_token_is_out_at_once_and_a_token_in_the_address_is_none() {
    let place = Place::start().await;
    let by_query = place.send("GET", &format!("/v1/me?token={0}&access_token={0}", place.all), &[], "").await;
    assert_eq!(by_query.status, 401);
    assert_eq!(place.get("/v1/me").await.status, 200);
    place.tokens.revoke("all").unwrap();
    assert_eq!(place.get("/v1/me").await.status, 401);
}

// S20 G24 Seen to fail without the headers that `leave` adds.
#[tokio::test]
async fn every_response_keeps_browsers_from_misusing_it() {
    let place = Place::start().await;
    for path in
        ["/v1/health", "/v1/me", "/v1/nothing", "/", "/v1/docs", "/assets/main.js", "/v1/openapi.json"]
    {
        let answered = place.get(path).await;
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(answered.header(name), Some(value), "{path}");
        }
        let policy = answered.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{path}: {policy}");
        assert_eq!(answered.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn many_failed_logins_are_refused_and_lock_nobody_out() {
    let place = Place::start().await;
    let mut last = 0;
    for _ in 0..12 {
        last = place.send("GET", "/v1/me", &[("Authorization", "Bearer wrong")], "").await.status;
    }
    assert_eq!(last, 429);
    assert_eq!(place.get("/v1/me").await.status, 200);
}

#[tokio::test]
async fn bodies_and_rates_have_limits() {
    let place = Place::start().await;
    let bearer = format!("Bearer {}", place.all);
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(2 << 20));
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let answered = place.send("POST", "/v1/tasks/s1/messages", &headers, &long).await;
    assert_eq!((answered.status, answered.code().as_str()), (413, "REQUEST_TOO_LARGE"));
    let plain = [("Authorization", bearer.as_str()), ("Content-Type", "text/plain")];
    let answered = place.send("POST", "/v1/tasks/s1/messages", &plain, "{}").await;
    assert_eq!((answered.status, answered.code().as_str()), (415, "UNSUPPORTED_MEDIA_TYPE"));
    let mut refused = None;
    for _ in 0..600 {
        let answered = place.get("/v1/me").await;
        if answered.status == 429 {
            refused = Some(answered);
            break;
        }
    }
    let refused = refused.expect("the rate has a limit");
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("RATE_LIMITED", Some("2")));
    let reader = format!("Bearer {}", place.reader);
    assert_eq!(
        place.send("GET", "/v1/me", &[("Authorization", &reader)], "").await.status,
        200,
        "each token has its own"
    );
}

#[tokio::test]
async fn a_server_ends_after_the_requests_in_progress() {
    let place = Place::start().await;
    let task = place.task("s1", None).await;
    let bearer = format!("Bearer {}", place.all);
    let stream = place.open("GET", "/v1/stream", &[("Authorization", &bearer)], "").await;
    let path = format!("/v1/tasks/{task}?wait_ms=40000");
    let (waited, ()) = tokio::join!(place.get(&path), async {
        // The wait is in progress once the server has read the request; ending is safe at any time.
        assert_eq!(place.get("/v1/health").await.status, 200);
        place.ending.cancel();
    });
    assert!([200, 0].contains(&waited.status), "answered, or not accepted any more: {waited:?}");
    tokio::time::timeout(std::time::Duration::from_secs(20), place.served).await.unwrap().unwrap();
    drop(stream);
}
