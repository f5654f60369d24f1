//! Interactive sign-in: the authorization URL for the browser, and the redirect that it comes back with.

use std::time::Duration;

use http::Uri;
use posse_core::text::prefix;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource, OAuthClientConfig,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::egress::check;
use super::{AccessDenied, AuthChallenge, GrantedToken, TokenManager, now, words};

const PATH: &str = "/callback";
/// Time limit for a person to sign in.
const PATIENCE: Duration = Duration::from_secs(600);
/// Size limit for the head of the redirect request; the time limit follows.
const HEAD_BYTES_MAX: u64 = 16 * 1024;
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// The client name given at registration.
const CLIENT: &str = "Posse";

/// The next step of a sign-in.
pub enum SignInStart<'a> {
    /// A person has to continue in a browser.
    Person(Box<SignIn<'a>>),
    /// Done: the program signed in by itself.
    Done,
}

/// A sign-in that waits for the browser.
pub struct SignIn<'a> {
    keeper: &'a TokenManager,
    manager: AuthorizationManager,
    client: OAuthClientConfig,
    issuer: Option<String>,
    scopes: Vec<String>,
    url: String,
    state: String,
    listener: TcpListener,
}

impl TokenManager {
    /// Starts a sign-in: discovers the authorization server, registers the client if needed and builds the
    /// authorization URL.
    pub async fn sign_in(&self) -> Result<SignInStart<'_>> {
        if !self.is_safe() {
            return Err(failed(localized!("mcp-secret-in-the-clear")));
        }
        if self.oauth.machine.is_some() {
            let before = self.granted()?.map(|granted| granted.access_token);
            let unknown = |denied: AccessDenied| failed(denied.why());
            let _alone = self.lock_renewal().await.map_err(unknown)?;
            self.renewed(before.as_deref()).await.map_err(unknown)?;
            return Ok(SignInStart::Done);
        }
        let listener = TcpListener::bind(("127.0.0.1", self.oauth.redirect_port.unwrap_or(0))).await;
        let listener = listener.map_err(|e| failed(localized!("mcp-cannot-listen", why = e)))?;
        let port = listener.local_addr().map_err(|e| failed(e.to_string().into()))?.port();
        let redirect = format!("http://127.0.0.1:{port}{PATH}");
        let record = self.record()?;
        let challenge = record.as_ref().and_then(|record| record.challenge.as_deref());
        let mut manager = self.manager().await.map_err(|denied| failed(denied.why()))?;
        let resolved = manager.resolve_metadata_from_challenge(challenge).await.map_err(refused)?;
        if challenge.is_none() && resolved.source == AuthorizationMetadataSource::LegacyEndpointFallback {
            return Err(failed(localized!("mcp-no-sign-in")));
        }
        self.check_issuer(&resolved.metadata).map_err(|denied| failed(denied.why()))?;
        let metadata = resolved.metadata;
        manager.set_metadata(metadata.clone());
        let scopes = self.scopes(&manager, &metadata, challenge).await?;
        let client = self.client(&mut manager, &metadata, &redirect, &scopes).await?;
        manager.configure_client(client.clone()).map_err(refused)?;
        let asked: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let url = manager.get_authorization_url(&asked).await.map_err(refused)?;
        // The URL is opened in a browser, so it must not be the name of a program or a file.
        let address: Uri = url.parse().map_err(|_| failed(localized!("mcp-answer-not-understood")))?;
        check(&self.server, &address).map_err(|why| failed(why.into()))?;
        let state =
            parameter(&url, "state").ok_or_else(|| failed(localized!("mcp-answer-not-understood")))?;
        let issuer = metadata.issuer;
        Ok(SignInStart::Person(Box::new(SignIn {
            keeper: self,
            manager,
            client,
            issuer,
            scopes,
            url,
            state,
            listener,
        })))
    }

    /// Checks that the issuer is the configured one, if one is configured.
    pub(super) fn check_issuer(&self, metadata: &AuthorizationMetadata) -> Result<(), AccessDenied> {
        match &self.oauth.issuer {
            Some(issuer) if metadata.issuer.as_ref() != Some(issuer) => {
                let other = words(metadata.issuer.as_deref().unwrap_or("-"));
                Err(AccessDenied::Failed(localized!("mcp-other-issuer", issuer, other)))
            }
            _ => Ok(()),
        }
    }

    /// Selects the scopes: those of the operator, else those that the server asks for. Adds the scopes
    /// granted before when the server asks for more.
    async fn scopes(
        &self,
        manager: &AuthorizationManager,
        metadata: &AuthorizationMetadata,
        challenge: Option<&str>,
    ) -> Result<Vec<String>> {
        let wanted = challenge.and_then(|text| AuthChallenge::of(403, Some(text)));
        let mut scopes = self.oauth.scopes.clone();
        if let Some(more) = wanted {
            scopes.extend(self.granted()?.map(|granted| granted.scopes).unwrap_or_default());
            scopes.extend(more.scopes(&self.url()));
        }
        if scopes.is_empty() {
            return Ok(manager.select_initial_scopes(&[]).await);
        }
        let supported = metadata.scopes_supported.iter().flatten();
        scopes.extend(supported.filter(|scope| *scope == "offline_access").cloned());
        let mut seen = std::collections::BTreeSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        Ok(scopes)
    }

    /// Selects the client identity: a configured ID, a client metadata document, or dynamic registration.
    async fn client(
        &self,
        manager: &mut AuthorizationManager,
        metadata: &AuthorizationMetadata,
        redirect: &str,
        scopes: &[String],
    ) -> Result<OAuthClientConfig> {
        if let Some(id) = &self.oauth.client_id {
            let client = OAuthClientConfig::new(id, redirect);
            return Ok(match &self.oauth.client_secret {
                Some(secret) => client.with_client_secret(secret),
                None => client,
            });
        }
        let reads_documents = metadata.additional_fields.get("client_id_metadata_document_supported");
        if let Some(url) = &self.oauth.client_metadata_url
            && reads_documents == Some(&Value::Bool(true))
        {
            return Ok(OAuthClientConfig::new(url, redirect));
        }
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let registered = manager.register_client(CLIENT, redirect, &scopes).await;
        registered.map_err(|error| refused(error).hint(localized!("mcp-not-registered-hint")))
    }
}

impl SignIn<'_> {
    /// Returns the authorization URL for the browser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the browser's redirect and returns its URL. Any other request gets an error page.
    pub async fn redirected(&self) -> Result<String> {
        let coming = async {
            loop {
                let (socket, _) = self.listener.accept().await.map_err(|e| failed(e.to_string().into()))?;
                let heard = tokio::time::timeout(HEAD_PATIENCE, self.hear(socket)).await;
                if let Ok(Some(redirect)) = heard {
                    return Ok(redirect);
                }
            }
        };
        let over = || failed(localized!("mcp-nobody-signed-in", minutes = PATIENCE.as_secs() / 60));
        tokio::time::timeout(PATIENCE, coming).await.unwrap_or_else(|_| Err(over()))
    }

    /// Reads one HTTP request; returns its URL if it is the expected redirect.
    async fn hear(&self, socket: TcpStream) -> Option<String> {
        let mut socket = BufReader::new(socket);
        let mut head = (&mut socket).take(HEAD_BYTES_MAX);
        let (mut first, mut line) = (String::new(), String::new());
        head.read_line(&mut first).await.ok()?;
        while head.read_line(&mut line).await.ok()? > 2 {
            line.clear();
        }
        let target = first.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        let redirect = format!("http://127.0.0.1{target}");
        let is_ours = target.split('?').next() == Some(PATH)
            && parameter(&redirect, "state") == Some(self.state.clone());
        let (status, text) = match is_ours {
            true => ("200 OK", localized!("mcp-browser-done")),
            false => ("400 Bad Request", localized!("mcp-browser-unexpected")),
        };
        let page = format!("<!doctype html><meta charset=utf-8><title>Posse</title><p>{text}</p>");
        let head = "content-type: text/html; charset=utf-8\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close";
        let answer = format!("HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len());
        let _ = socket.get_mut().write_all(answer.as_bytes()).await;
        let _ = socket.get_mut().shutdown().await;
        is_ours.then_some(redirect)
    }

    /// Exchanges the code from the redirect for tokens and stores the grant.
    pub async fn finish(self, redirect: &str) -> Result<()> {
        let redirect = prefix(redirect.trim(), 16 * 1024);
        let said = |name| parameter(redirect, name);
        if said("state").as_deref() != Some(&self.state) {
            return Err(failed(localized!("mcp-other-state")).hint(localized!("mcp-other-state-hint")));
        }
        if let Some(error) = said("error") {
            let more = said("error_description").unwrap_or_default();
            return Err(failed(localized!("mcp-sign-in-refused", words = words(&format!("{error} {more}")))));
        }
        let code = said("code").ok_or_else(|| failed(localized!("mcp-answer-not-understood")))?;
        let issuer = said("iss");
        let exchanged =
            self.manager.exchange_code_for_token_with_issuer(&code, &self.state, issuer.as_deref()).await;
        let received = serde_json::to_value(exchanged.map_err(refused)?).unwrap_or_default();
        let before = GrantedToken {
            issuer: self.issuer,
            client_id: self.client.client_id,
            client_secret: self.client.client_secret.filter(|_| self.keeper.oauth.client_secret.is_none()),
            access_token: String::new(),
            refresh_token: None,
            scopes: self.scopes,
            expires_at: None,
        };
        let granted = before.followed_by(&received, now());
        let granted = granted.ok_or_else(|| failed(localized!("mcp-answer-not-understood")))?;
        let _alone = self.keeper.lock_renewal().await.map_err(|denied| failed(denied.why()))?;
        self.keeper.grant(granted)
    }
}

fn parameter(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn failed(why: LocalizedText) -> Error {
    Error::new(ErrorCode::McpSignInFailed, localized!("mcp-sign-in-failed", why))
}

fn refused(error: rmcp::transport::auth::AuthError) -> Error {
    failed(words(&posse_net::causes(&error)).into())
}
