//! Static files: the dashboard (`web`) and the reference page. They hold no data, so they need no token.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use crate::door::known_tags;
use crate::state::ApiState;
use crate::web::{FILES, WebFile};

/// The page of the dashboard; every other file of it is below `/assets/`.
const PAGE: &str = "index.html";

/// The reference page, with its paths.
const REFERENCE: &[(&str, WebFile)] = &[
    (
        "/v1/docs",
        WebFile {
            name: "reference.html",
            content_type: "text/html; charset=utf-8",
            bytes: include_bytes!("../assets/reference.html"),
        },
    ),
    (
        "/assets/reference/page.css",
        WebFile {
            name: "page.css",
            content_type: "text/css; charset=utf-8",
            bytes: include_bytes!("../assets/page.css"),
        },
    ),
    (
        "/assets/reference/page.js",
        WebFile {
            name: "page.js",
            content_type: "text/javascript; charset=utf-8",
            bytes: include_bytes!("../assets/page.js"),
        },
    ),
];

/// Policy of pages: scripts and styles of this server alone, no inline code, no other server, no frame.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
     connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of all files.
pub fn router() -> Router<ApiState> {
    let path_of = |file: &WebFile| match file.name {
        PAGE => "/".to_owned(),
        name => format!("/assets/{name}"),
    };
    let pages = REFERENCE.iter().map(|(path, file)| ((*path).to_owned(), file));
    let files = FILES.iter().map(|file| (path_of(file), file)).chain(pages);
    files.fold(Router::new(), |router, (path, file)| {
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&Sha256::digest(file.bytes)[..16]));
        router.route(
            &path,
            get(move |State(_): State<ApiState>, headers: HeaderMap| {
                let response = respond(file, &tag, &headers);
                async move { response }
            }),
        )
    })
}

fn respond(file: &WebFile, tag: &str, headers: &HeaderMap) -> Response {
    let is_known = known_tags(headers).and_then(|known| known.to_str().ok().map(|known| known.contains(tag)));
    let mut response = match is_known {
        Some(true) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        Some(false) | None => Response::new(Body::from(file.bytes)),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    // A new version of the program is seen at once, and an unchanged file is not sent again.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(ETAG, tag);
    }
    response
}
