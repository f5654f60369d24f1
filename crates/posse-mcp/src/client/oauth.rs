//! OAuth for MCP servers: which token a request carries, and how Posse obtains and renews it.
//!
//! A grant is bound to the server's exact address and to its issuer. It is renewed shortly before expiry or
//! after a refusal, once for all waiting requests, in this process and in others. The SDK does discovery,
//! registration, PKCE, issuer checks, the code exchange and the refresh. This module provides the network
//! access (`egress`) and client authentication without a person (`machine`, `assertion`).

mod assertion;
mod egress;
mod machine;
mod sign_in;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Uri;
use posse_core::redact::SecretRedactor;
use posse_core::text::prefix;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_net::AddressException;
use posse_runtime::ports::BoxFuture;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, InMemoryCredentialStore, OAuthClientConfig,
    OAuthTokenResponse, StoredCredentials, WWWAuthenticateParams,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use self::egress::{OAuthEgress, is_here};
pub use self::sign_in::{SignIn, SignInStart};
use super::connection::words;

/// Renewal margin in seconds: a token that expires sooner is renewed before use.
const EARLY_S: u64 = 30;
/// Maximum bytes kept of a `WWW-Authenticate` challenge.
const CHALLENGE_BYTES_MAX: usize = 4_096;

/// Recent refusals kept to classify a failure by its text.
const DENIALS_MAX: usize = 16;

/// Sign-in settings for one server. Implements no `Debug`, because it may hold secrets.
#[derive(Clone, Default)]
pub struct OAuth {
    /// The client ID, if Posse was registered by hand at the authorization server.
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// Address of a client metadata document, for authorization servers that read one.
    pub client_metadata_url: Option<String>,
    /// Scopes to request instead of those the server asks for first.
    pub scopes: Vec<String>,
    /// The only accepted issuer; any issuer that the server names if unset.
    pub issuer: Option<String>,
    /// Port of the redirect URI; any free port if unset.
    pub redirect_port: Option<u16>,
    /// Client authentication for sign-in as a program, without a person.
    pub machine: Option<ClientProof>,
    /// Private addresses that requests may reach.
    pub exceptions: Vec<AddressException>,
}

/// Credential for the client-credentials grant.
#[derive(Clone)]
pub enum ClientProof {
    /// The client secret.
    Secret,
    /// A private key in PEM.
    Key(String),
}

/// The stored sign-in state of one server.
#[derive(Clone, Serialize, Deserialize)]
pub struct TokenRecord {
    /// The server's address; the token goes to no other.
    pub server: String,
    /// The challenge of the last refusal: where to sign in, and for which scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<GrantedToken>,
}

/// A grant: the tokens that an authorization server issued to this client.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct GrantedToken {
    /// The issuer of the grant; only it may renew the tokens.
    pub issuer: Option<String>,
    pub client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    pub access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    pub scopes: Vec<String>,
    /// Expiry in seconds since 1970; `None` if the server named none.
    pub expires_at: Option<u64>,
}

/// Storage for sign-in records, readable by this user alone.
pub trait TokenVault: Send + Sync {
    fn load(&self, key: &str) -> Result<Option<TokenRecord>>;
    fn save(&self, key: &str, record: &TokenRecord) -> Result<()>;
    /// Removes the record; returns whether one existed.
    fn remove(&self, key: &str) -> Result<bool>;
    /// Takes the lock for this key, which also excludes other processes. Held during renewal.
    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Box<dyn Send>>>;
}

/// The sign-in state of a server, known without contacting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStanding {
    /// Not signed in, and the server never asked for it.
    Unasked,
    /// The server asked for a sign-in.
    Needed,
    /// Signed in. `expires_at` is `None` if the server named no expiry; `renews` if no person is needed for
    /// renewal.
    SignedIn { expires_at: Option<u64>, renews: bool },
    /// Expired, and only a person can renew it.
    Ended,
}

/// The reason why a server refused access.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum AccessDenied {
    /// A person has to sign in.
    SignIn,
    /// The grant lacks these scopes.
    Scopes(String),
    /// The scopes were requested and not granted, so asking again would not help.
    Withheld(String),
    /// A token could not be obtained.
    Failed(LocalizedText),
}

/// Token manager of one server.
pub struct TokenManager {
    server: Uri,
    key: String,
    oauth: OAuth,
    vault: Arc<dyn TokenVault>,
    /// Serializes renewals within this process.
    renewing: tokio::sync::Mutex<()>,
    /// Recent refusals.
    denied: Mutex<Vec<AccessDenied>>,
    /// Redacts tokens and secrets from results.
    hidden: Mutex<SecretRedactor>,
}

impl TokenManager {
    pub(super) fn new(server: Uri, key: String, oauth: OAuth, vault: Arc<dyn TokenVault>) -> Self {
        let hidden = Mutex::new(SecretRedactor::off().knowing(oauth.client_secret.clone()));
        let (renewing, denied) = (tokio::sync::Mutex::default(), Mutex::default());
        Self { server, key, oauth, vault, renewing, denied, hidden }
    }

    /// Returns the sign-in state from the stored record.
    pub fn standing(&self) -> Result<LoginStanding> {
        let Some(record) = self.record()? else { return Ok(LoginStanding::Unasked) };
        Ok(match record.granted {
            None if record.challenge.is_some() => LoginStanding::Needed,
            None => LoginStanding::Unasked,
            Some(granted) => {
                let renews = granted.refresh_token.is_some() || self.oauth.machine.is_some();
                match granted.is_over(now()) && !renews {
                    true => LoginStanding::Ended,
                    false => LoginStanding::SignedIn { expires_at: granted.expires_at, renews },
                }
            }
        })
    }

    /// Removes the stored grant; returns whether there was one.
    pub async fn sign_out(&self) -> Result<bool> {
        let _one = self.renewing.lock().await;
        let _lock = self.vault.lock(&self.key).await?;
        self.vault.remove(&self.key)
    }

    /// Returns the token for the next request, renewed if it is about to expire. `None` without a grant; the
    /// server may accept that.
    pub(super) async fn token(&self) -> Result<Option<String>, AccessDenied> {
        match self.granted().map_err(|e| self.failed(&e))? {
            None => Ok(None),
            Some(granted) if !granted.is_over(now() + EARLY_S) => Ok(Some(granted.access_token)),
            Some(granted) => {
                let _alone = self.lock_renewal().await?;
                self.renewed(Some(&granted.access_token)).await
            }
        }
    }

    /// Handles a refusal: returns another token to retry with, or an error if only a person can help.
    pub(super) async fn refused(
        &self,
        challenge: &AuthChallenge,
        said: Option<&str>,
    ) -> Result<Option<String>, AccessDenied> {
        if !self.is_safe() {
            return Err(self.deny(AccessDenied::Failed(localized!("mcp-secret-in-the-clear"))));
        }
        let _alone = self.lock_renewal().await?;
        if let Some(token) = self.newer(said)? {
            return Ok(Some(token));
        }
        self.store_challenge(challenge).map_err(|e| self.failed(&e))?;
        if challenge.is_about_scopes {
            return Err(self.lacking(challenge));
        }
        self.renewed(said).await
    }

    /// Classifies a refusal of the retry.
    pub(super) fn refused_again(&self, challenge: &AuthChallenge) -> AccessDenied {
        match challenge.is_about_scopes {
            true => self.lacking(challenge),
            false => self.deny(AccessDenied::SignIn),
        }
    }

    /// Maps the text of a failure back to the refusal that caused it.
    pub(super) fn denied(&self, said: &str) -> Option<AccessDenied> {
        held(&self.denied).iter().find(|denied| said.contains(denied.why().english())).cloned()
    }

    /// Redacts the tokens and secrets that the server received from its text.
    pub(super) fn hide(&self, text: String) -> String {
        held(&self.hidden).redact(&text).into_owned()
    }

    fn lacking(&self, challenge: &AuthChallenge) -> AccessDenied {
        let wanted = challenge.scopes(&self.url());
        let granted = self.granted().ok().flatten();
        let asked = granted.map(|granted| granted.scopes).unwrap_or_default();
        let text = words(&wanted.join(" "));
        self.deny(match !wanted.is_empty() && wanted.iter().all(|scope| asked.contains(scope)) {
            true => AccessDenied::Withheld(text),
            false => AccessDenied::Scopes(text),
        })
    }

    fn failed(&self, error: &Error) -> AccessDenied {
        self.deny(AccessDenied::Failed(error.message().clone()))
    }

    fn deny(&self, denied: AccessDenied) -> AccessDenied {
        let mut all = held(&self.denied);
        if !all.contains(&denied) {
            let superfluous = (all.len() + 1).saturating_sub(DENIALS_MAX);
            all.drain(..superfluous);
            all.push(denied.clone());
        }
        denied
    }

    /// Takes the locks that exclude other renewals, in this process and in others.
    async fn lock_renewal(&self) -> Result<(tokio::sync::MutexGuard<'_, ()>, Box<dyn Send>), AccessDenied> {
        let one = self.renewing.lock().await;
        let lock = self.vault.lock(&self.key).await.map_err(|e| self.failed(&e))?;
        Ok((one, lock))
    }

    /// Returns the stored token if it differs from `than` and has not expired: another task or process
    /// renewed it.
    fn newer(&self, than: Option<&str>) -> Result<Option<String>, AccessDenied> {
        let granted = self.granted().map_err(|e| self.failed(&e))?;
        let is_newer =
            |granted: &GrantedToken| Some(granted.access_token.as_str()) != than && !granted.is_over(now());
        Ok(granted.filter(is_newer).map(|granted| granted.access_token))
    }

    /// Returns a token other than the refused one: one that was renewed concurrently, or a fresh one.
    async fn renewed(&self, refused: Option<&str>) -> Result<Option<String>, AccessDenied> {
        if let Some(token) = self.newer(refused)? {
            return Ok(Some(token));
        }
        let granted = self.granted().map_err(|e| self.failed(&e))?;
        let renewed = match (&self.oauth.machine, granted) {
            (Some(proof), _) => machine::granted(self, proof).await,
            (None, Some(granted)) if granted.refresh_token.is_some() => self.refreshed(granted).await,
            (None, _) => Err(AccessDenied::SignIn),
        };
        let renewed = renewed.map_err(|denied| self.deny(denied))?;
        let token = renewed.access_token.clone();
        self.grant(renewed).map_err(|e| self.failed(&e))?;
        Ok(Some(token))
    }

    async fn refreshed(&self, before: GrantedToken) -> Result<GrantedToken, AccessDenied> {
        let mut manager = self.manager().await?;
        let resolved = manager.resolve_metadata().await.map_err(unrenewed)?;
        if resolved.metadata.issuer != before.issuer {
            // Another issuer answers for this server now. It must not receive the refresh token of the old
            // one.
            return Err(AccessDenied::SignIn);
        }
        manager.set_metadata(resolved.metadata);
        let mut client = OAuthClientConfig::new(before.client_id.clone(), self.server.to_string());
        let secret = before.client_secret.clone().or_else(|| self.oauth.client_secret.clone());
        if let Some(secret) = secret {
            client = client.with_client_secret(secret);
        }
        manager.configure_client(client).map_err(unrenewed)?;
        let store = InMemoryCredentialStore::new();
        let response = before.response().ok_or(AccessDenied::SignIn)?;
        let (id, scopes) = (before.client_id.clone(), before.scopes.clone());
        let stored = StoredCredentials::new(id, Some(response), scopes, None);
        store.save(stored).await.map_err(unrenewed)?;
        manager.set_credential_store(store);
        let response = manager.refresh_token().await.map_err(unrenewed)?;
        let received = serde_json::to_value(response).unwrap_or_default();
        before.followed_by(&received, now()).ok_or(AccessDenied::SignIn)
    }

    async fn manager(&self) -> Result<AuthorizationManager, AccessDenied> {
        let egress = Arc::new(OAuthEgress::new(&self.server, &self.oauth.exceptions));
        let made = AuthorizationManager::new_with_oauth_http_client(self.server.to_string(), egress).await;
        made.map_err(|error| AccessDenied::Failed(words(&error.to_string()).into()))
    }

    /// Loads the record. Ignores one that belongs to another address.
    fn record(&self) -> Result<Option<TokenRecord>> {
        Ok(self.vault.load(&self.key)?.filter(|record| record.server == self.server.to_string()))
    }

    fn granted(&self) -> Result<Option<GrantedToken>> {
        let granted = self.record()?.and_then(|record| record.granted);
        // Ignore a grant that was issued to another client or by an issuer that is no longer configured.
        let fits = |granted: &GrantedToken| {
            let is_client = self.oauth.client_id.as_ref().is_none_or(|id| *id == granted.client_id);
            is_client
                && self.oauth.issuer.as_ref().is_none_or(|issuer| granted.issuer.as_ref() == Some(issuer))
        };
        let granted = granted.filter(|granted| self.is_safe() && fits(granted));
        if let Some(granted) = &granted {
            self.redact_tokens(granted);
        }
        Ok(granted)
    }

    fn grant(&self, granted: GrantedToken) -> Result<()> {
        self.redact_tokens(&granted);
        let (server, challenge) = (self.server.to_string(), None);
        self.vault.save(&self.key, &TokenRecord { server, challenge, granted: Some(granted) })?;
        held(&self.denied).clear();
        Ok(())
    }

    /// Stores the challenge until a person signs in.
    fn store_challenge(&self, challenge: &AuthChallenge) -> Result<()> {
        let before = self.record()?;
        if before.as_ref().is_some_and(|record| record.challenge.as_ref() == Some(&challenge.text)) {
            return Ok(());
        }
        let granted = before.and_then(|record| record.granted);
        let (server, challenge) = (self.server.to_string(), Some(challenge.text.clone()));
        self.vault.save(&self.key, &TokenRecord { server, challenge, granted })
    }

    fn redact_tokens(&self, granted: &GrantedToken) {
        let mut hidden = held(&self.hidden);
        *hidden = hidden.clone().knowing(granted.secrets());
    }

    fn url(&self) -> Option<Url> {
        Url::parse(&self.server.to_string()).ok()
    }

    /// Returns whether tokens may be sent: over https, or to this machine.
    fn is_safe(&self) -> bool {
        self.server.scheme_str() == Some("https") || is_here(&self.server)
    }
}

impl GrantedToken {
    fn is_over(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Returns the values that must be redacted.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let more = [self.refresh_token.clone(), self.client_secret.clone()];
        std::iter::once(self.access_token.clone()).chain(more.into_iter().flatten())
    }

    /// Converts the grant to a token response for the SDK.
    fn response(&self) -> Option<OAuthTokenResponse> {
        let value = json!({
            "access_token": self.access_token, "token_type": "bearer", "refresh_token": self.refresh_token,
        });
        serde_json::from_value(value).ok()
    }

    /// Merges a token response into the grant; fields that it leaves out keep their values.
    fn followed_by(&self, received: &Value, now: u64) -> Option<Self> {
        let text = |key: &str| received.get(key).and_then(Value::as_str).map(str::to_owned);
        let scopes = text("scope").map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        Some(Self {
            access_token: text("access_token").filter(|token| !token.is_empty())?,
            refresh_token: text("refresh_token").or_else(|| self.refresh_token.clone()),
            scopes: scopes.unwrap_or_else(|| self.scopes.clone()),
            expires_at: received
                .get("expires_in")
                .and_then(Value::as_u64)
                .map(|life| now.saturating_add(life)),
            ..self.clone()
        })
    }
}

/// The challenge that a server sends with a refusal.
pub(super) struct AuthChallenge {
    text: String,
    is_about_scopes: bool,
}

impl AuthChallenge {
    /// Parses a refusal; `None` if signing in could not change it.
    pub fn of(status: u16, text: Option<&str>) -> Option<Self> {
        let text = prefix(text.unwrap_or_default(), CHALLENGE_BYTES_MAX).to_owned();
        let is_about_scopes = status == 403 && text.contains("insufficient_scope");
        (status == 401 || is_about_scopes).then_some(Self { text, is_about_scopes })
    }

    fn scopes(&self, server: &Option<Url>) -> Vec<String> {
        let said = server.as_ref().and_then(|url| WWWAuthenticateParams::parse(&self.text, url).scope);
        said.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }
}

/// Maps a failed refresh: a sign-in is needed if the refusal is final.
fn unrenewed(error: AuthError) -> AccessDenied {
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => AccessDenied::SignIn,
        other => AccessDenied::Failed(words(&posse_net::causes(&other)).into()),
    }
}

impl AccessDenied {
    /// Returns one sentence for people and for the model.
    pub fn why(&self) -> LocalizedText {
        match self {
            Self::SignIn => localized!("mcp-sign-in-needed"),
            Self::Scopes(scopes) => localized!("mcp-scopes-needed", scopes),
            Self::Withheld(scopes) => localized!("mcp-scopes-withheld", scopes),
            Self::Failed(why) => localized!("mcp-token-not-renewed", why),
        }
    }

    /// Returns the error with a hint for the operator.
    pub fn error(&self, server: &str) -> Error {
        let text = localized!("mcp-remark", server, text = self.why());
        let error = Error::new(ErrorCode::McpSignInRequired, text);
        match self {
            Self::SignIn | Self::Scopes(_) => error.hint(localized!("mcp-sign-in-hint", server)),
            Self::Withheld(_) => error.hint(localized!("mcp-scopes-withheld-hint")),
            Self::Failed(_) => error.hint(localized!("mcp-token-not-renewed-hint", server)),
        }
    }
}

fn held<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}
