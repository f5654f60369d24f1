//! Static files: the dashboard (`web`) and the reference page. They hold no data, so they need no token.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, VARY,
};
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

/// A file with its tag, and its compressed form once somebody took it.
struct ServedFile {
    file: &'static WebFile,
    tag: String,
    packed: OnceLock<Bytes>,
}

/// Returns the routes of all files.
pub fn router() -> Router<ApiState> {
    let path_of = |file: &WebFile| match file.name {
        PAGE => "/".to_owned(),
        name => format!("/assets/{name}"),
    };
    let pages = REFERENCE.iter().map(|(path, file)| ((*path).to_owned(), file));
    let files = FILES.iter().map(|file| (path_of(file), file)).chain(pages);
    files.fold(Router::new(), |router, (path, file)| {
        // Weak: both forms of a file have this tag.
        let tag = format!("W/\"{}\"", URL_SAFE_NO_PAD.encode(&Sha256::digest(file.bytes)[..16]));
        let served = Arc::new(ServedFile { file, tag, packed: OnceLock::new() });
        router.route(
            &path,
            get(move |State(_): State<ApiState>, headers: HeaderMap| {
                let response = respond(&served, &headers);
                async move { response }
            }),
        )
    })
}

fn respond(served: &ServedFile, headers: &HeaderMap) -> Response {
    let is_known =
        known_tags(headers).and_then(|known| known.to_str().ok().map(|known| known.contains(&served.tag)));
    let packs = accepts_gzip(headers);
    let mut response = match is_known {
        Some(true) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        Some(false) | None if packs => {
            let packed = served.packed.get_or_init(|| pack(served.file.bytes));
            let mut response = Response::new(Body::from(packed.clone()));
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        Some(false) | None => Response::new(Body::from(served.file.bytes)),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(served.file.content_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    // A new version of the program is seen at once, and an unchanged file is not sent again.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&served.tag) {
        headers.insert(ETAG, tag);
    }
    response
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0")
    })
}

/// Compresses a file. It holds no secret, so its length tells nothing.
fn pack(bytes: &[u8]) -> Bytes {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let packed = packer.write_all(bytes).and_then(|()| packer.finish());
    packed.map_or_else(|_| Bytes::new(), Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_transfers_at_most_100_kilobytes() {
        // Pages that are read when they are opened, and what only an export has.
        let later = |name: &str| {
            name == "export.js"
                || name.starts_with("pages/") && !["pages/overview.js", "pages/login.js"].contains(&name)
        };
        let first: usize =
            FILES.iter().filter(|file| !later(file.name)).map(|file| pack(file.bytes).len()).sum();
        assert!((10_000..100_000).contains(&first), "{first} bytes");
    }

    #[test]
    fn a_file_is_compressed_only_for_those_who_accept_it() {
        let accepting = |value| HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]);
        assert!(accepts_gzip(&accepting("br, gzip;q=0.8")));
        assert!(!accepts_gzip(&accepting("br, gzip;q=0")) && !accepts_gzip(&HeaderMap::new()));
    }
}
