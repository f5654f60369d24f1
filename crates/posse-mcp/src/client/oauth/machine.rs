//! The `client_credentials` grant, which needs no person. Written here because it is one request, and the
//! SDK's version has no place for our signatures.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use posse_messages::{LocalizedText, localized};
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::assertion::assertion;
use super::egress::OAuthEgress;
use super::{AccessDenied, AuthChallenge, ClientProof, GrantedToken, TokenManager, now, words};

const BY_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Requests a grant for this program from the server's authorization server.
pub(super) async fn granted(
    keeper: &TokenManager,
    proof: &ClientProof,
) -> Result<GrantedToken, AccessDenied> {
    let failed = |why: LocalizedText| AccessDenied::Failed(why.map(words));
    let record = keeper.record().map_err(|e| failed(e.message().clone()))?;
    let challenge = record.and_then(|record| record.challenge);
    let manager = keeper.manager().await?;
    let resolved = manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
    let metadata = resolved.map_err(|error| failed(posse_net::causes(&error).into()))?.metadata;
    keeper.check_issuer(&metadata)?;
    let wanted = challenge.and_then(|text| AuthChallenge::of(401, Some(&text)));
    let mut scopes = keeper.oauth.scopes.clone();
    if scopes.is_empty() {
        scopes = wanted.map(|challenge| challenge.scopes(&keeper.url())).unwrap_or_default();
    }
    let request = request(keeper, proof, &metadata, &scopes).map_err(failed)?;
    let answered = OAuthEgress::new(&keeper.server, &keeper.oauth.exceptions).send(request).await;
    let answer = answered.map_err(|cause| failed(cause.to_string().into()))?;
    let said: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let before = GrantedToken {
        issuer: metadata.issuer,
        client_id: keeper.oauth.client_id.clone().unwrap_or_default(),
        client_secret: None,
        access_token: String::new(),
        refresh_token: None,
        scopes,
        expires_at: None,
    };
    let granted = answer.status().is_success().then(|| before.followed_by(&said, now())).flatten();
    granted.ok_or_else(|| {
        let words = ["error", "error_description"].map(|key| said[key].as_str().unwrap_or_default());
        failed(localized!("mcp-grant-refused", status = answer.status().as_u16(), words = words.join(" ")))
    })
}

fn request(
    keeper: &TokenManager,
    proof: &ClientProof,
    metadata: &AuthorizationMetadata,
    scopes: &[String],
) -> Result<Request<Vec<u8>>, LocalizedText> {
    let client = keeper.oauth.client_id.as_deref().unwrap_or_default();
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials");
    form.append_pair("resource", &keeper.server.to_string());
    if !scopes.is_empty() {
        form.append_pair("scope", &scopes.join(" "));
    }
    let mut request = Request::post(metadata.token_endpoint.as_str())
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    match proof {
        ClientProof::Key(key) => {
            let audience = metadata.issuer.as_deref().unwrap_or(&metadata.token_endpoint);
            form.append_pair("client_assertion_type", BY_ASSERTION);
            form.append_pair("client_assertion", &assertion(client, audience, key, now())?);
        }
        ClientProof::Secret => {
            let secret = keeper.oauth.client_secret.as_deref().unwrap_or_default();
            let methods = metadata.additional_fields.get("token_endpoint_auth_methods_supported");
            let takes = |method: &str| {
                methods.and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == method))
            };
            if takes("client_secret_post") && !takes("client_secret_basic") {
                form.append_pair("client_id", client).append_pair("client_secret", secret);
            } else {
                let encoded =
                    [client, secret].map(|part| byte_serialize(part.as_bytes()).collect::<String>());
                let both = BASE64_STANDARD.encode(encoded.join(":"));
                request = request.header(AUTHORIZATION, format!("Basic {both}"));
            }
        }
    }
    request.body(form.finish().into_bytes()).map_err(|error| error.to_string().into())
}
