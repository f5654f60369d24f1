//! Servers that want to know who asks: what they are told, and where it comes from.
//!
//! What was granted is kept by whoever named the server, for exactly its address and for who granted it. It is renewed when it is
//! about to end or is refused, once for all who wait, in this process and in others. Discovery, registration, PKCE, the check of who
//! answered, the exchange of a code and the renewal are the SDK's; what goes over the network for that is ours (`egress`), and so
//! is what programs say about themselves (`machine`, `assertion`).

mod assertion;
mod egress;
mod machine;
mod sign_in;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Uri;
use posse_core::redact::Redactor;
use posse_core::text::prefix;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{LocalizedText, localized};
use posse_net::Exception;
use posse_runtime::ports::BoxFuture;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore, InMemoryCredentialStore, OAuthClientConfig,
    OAuthTokenResponse, StoredCredentials, WWWAuthenticateParams,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use self::egress::{Egress, is_here};
pub use self::sign_in::{Begun, SignIn};
use super::connection::words;

/// A token that ends sooner than this is renewed before it is used.
const EARLY_S: u64 = 30;
/// Bytes of a challenge that are looked at and kept.
const CHALLENGE_BYTES_MAX: usize = 4_096;

/// Refusals that are remembered to tell what a failure was about.
const DENIALS_MAX: usize = 16;

/// What whoever named a server says about signing in to it. It cannot be printed: it may hold secrets.
#[derive(Clone, Default)]
pub struct OAuth {
    /// Who Posse is for whoever grants, if it was registered there by hand,
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// or the address of a document that says it, for those who read such.
    pub client_metadata_url: Option<String>,
    /// What is asked for, in place of what the server wants at first.
    pub scopes: Vec<String>,
    /// Who may grant; left out, whoever the server names.
    pub issuer: Option<String>,
    /// Where the browser comes back to; left out, any free port.
    pub redirect_port: Option<u16>,
    /// Nobody signs in: Posse is let in as the program that it is.
    pub machine: Option<Proof>,
    /// Private addresses that may be asked.
    pub exceptions: Vec<Exception>,
}

/// How a program shows who it is.
#[derive(Clone)]
pub enum Proof {
    /// With the secret of the client.
    Secret,
    /// With a private key, in PEM.
    Key(String),
}

/// What is kept of signing in to a server.
#[derive(Clone, Serialize, Deserialize)]
pub struct Record {
    /// The server's address. No other is ever told.
    pub server: String,
    /// What it said when it last refused: where to sign in, and for what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Granted>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Granted {
    /// Who granted it. Nobody else is asked to renew it.
    pub issuer: Option<String>,
    pub client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    pub access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    pub scopes: Vec<String>,
    /// Seconds since 1970; `None` if nobody said.
    pub expires_at: Option<u64>,
}

/// Where records are kept, for this user alone.
pub trait Vault: Send + Sync {
    fn load(&self, key: &str) -> Result<Option<Record>>;
    fn save(&self, key: &str, record: &Record) -> Result<()>;
    /// Whether there was one.
    fn remove(&self, key: &str) -> Result<bool>;
    /// Held while somebody renews what is under this key, here or in another process.
    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Box<dyn Send>>>;
}

/// How it stands with a server, without asking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody signed in, and it never wanted that.
    Unasked,
    /// It wants that somebody signs in.
    Needed,
    /// Until then, or nobody said until when; and whether it can be renewed without a person.
    SignedIn { expires_at: Option<u64>, renews: bool },
    /// It ended, and only a person can renew it.
    Ended,
}

/// Why a server did not let us in.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Denied {
    /// Somebody has to sign in.
    SignIn,
    /// What was granted is not enough: this is missing.
    Scopes(String),
    /// What it wants was asked for and not granted. Asking again would not help.
    Withheld(String),
    /// What is needed could not be had.
    Failed(LocalizedText),
}

/// Knows what one server is told about who asks.
pub struct Keeper {
    server: Uri,
    key: String,
    oauth: OAuth,
    vault: Arc<dyn Vault>,
    /// One renewal at a time.
    renewing: tokio::sync::Mutex<()>,
    /// Why requests were refused lately.
    denied: Mutex<Vec<Denied>>,
    /// What must not be seen in results.
    hidden: Mutex<Redactor>,
}

impl Keeper {
    pub(super) fn new(server: Uri, key: String, oauth: OAuth, vault: Arc<dyn Vault>) -> Self {
        let hidden = Mutex::new(Redactor::off().knowing(oauth.client_secret.clone()));
        let (renewing, denied) = (tokio::sync::Mutex::default(), Mutex::default());
        Self { server, key, oauth, vault, renewing, denied, hidden }
    }

    pub fn standing(&self) -> Result<Standing> {
        let Some(record) = self.record()? else { return Ok(Standing::Unasked) };
        Ok(match record.granted {
            None if record.challenge.is_some() => Standing::Needed,
            None => Standing::Unasked,
            Some(granted) => {
                let renews = granted.refresh_token.is_some() || self.oauth.machine.is_some();
                match granted.is_over(now()) && !renews {
                    true => Standing::Ended,
                    false => Standing::SignedIn { expires_at: granted.expires_at, renews },
                }
            }
        })
    }

    /// Forgets what was granted; whether there was something.
    pub async fn sign_out(&self) -> Result<bool> {
        let _one = self.renewing.lock().await;
        let _lock = self.vault.lock(&self.key).await?;
        self.vault.remove(&self.key)
    }

    /// What the next request says. `None` if nobody signed in, which may be what the server wants.
    pub(super) async fn token(&self) -> Result<Option<String>, Denied> {
        match self.granted().map_err(|e| self.failed(&e))? {
            None => Ok(None),
            Some(granted) if !granted.is_over(now() + EARLY_S) => Ok(Some(granted.access_token)),
            Some(granted) => {
                let _alone = self.alone().await?;
                self.renewed(Some(&granted.access_token)).await
            }
        }
    }

    /// What to say now that the server refused what was said before. An error if only a person can help.
    pub(super) async fn refused(
        &self,
        challenge: &Challenge,
        said: Option<&str>,
    ) -> Result<Option<String>, Denied> {
        if !self.is_safe() {
            return Err(self.deny(Denied::Failed(localized!("mcp-secret-in-the-clear"))));
        }
        let _alone = self.alone().await?;
        if let Some(token) = self.newer(said)? {
            return Ok(Some(token));
        }
        self.keep(challenge).map_err(|e| self.failed(&e))?;
        if challenge.is_about_scopes {
            return Err(self.lacking(challenge));
        }
        self.renewed(said).await
    }

    /// Refused again, with what was got for it.
    pub(super) fn refused_again(&self, challenge: &Challenge) -> Denied {
        match challenge.is_about_scopes {
            true => self.lacking(challenge),
            false => self.deny(Denied::SignIn),
        }
    }

    /// What a failure that says this was about, if it was a refusal.
    pub(super) fn denied(&self, said: &str) -> Option<Denied> {
        held(&self.denied).iter().find(|denied| said.contains(denied.why().english())).cloned()
    }

    /// A text of the server, without what it was told.
    pub(super) fn hide(&self, text: String) -> String {
        held(&self.hidden).redact(&text).into_owned()
    }

    fn lacking(&self, challenge: &Challenge) -> Denied {
        let wanted = challenge.scopes(&self.url());
        let granted = self.granted().ok().flatten();
        let asked = granted.map(|granted| granted.scopes).unwrap_or_default();
        let text = words(&wanted.join(" "));
        self.deny(match !wanted.is_empty() && wanted.iter().all(|scope| asked.contains(scope)) {
            true => Denied::Withheld(text),
            false => Denied::Scopes(text),
        })
    }

    fn failed(&self, error: &Error) -> Denied {
        self.deny(Denied::Failed(error.message().clone()))
    }

    fn deny(&self, denied: Denied) -> Denied {
        let mut all = held(&self.denied);
        if !all.contains(&denied) {
            let superfluous = (all.len() + 1).saturating_sub(DENIALS_MAX);
            all.drain(..superfluous);
            all.push(denied.clone());
        }
        denied
    }

    /// Held while what is kept is changed: nobody else does, here or in another process.
    async fn alone(&self) -> Result<(tokio::sync::MutexGuard<'_, ()>, Box<dyn Send>), Denied> {
        let one = self.renewing.lock().await;
        let lock = self.vault.lock(&self.key).await.map_err(|e| self.failed(&e))?;
        Ok((one, lock))
    }

    /// What somebody else got meanwhile.
    fn newer(&self, than: Option<&str>) -> Result<Option<String>, Denied> {
        let granted = self.granted().map_err(|e| self.failed(&e))?;
        let is_newer =
            |granted: &Granted| Some(granted.access_token.as_str()) != than && !granted.is_over(now());
        Ok(granted.filter(is_newer).map(|granted| granted.access_token))
    }

    /// Another token than this one: of whoever was faster, or a new one.
    async fn renewed(&self, refused: Option<&str>) -> Result<Option<String>, Denied> {
        if let Some(token) = self.newer(refused)? {
            return Ok(Some(token));
        }
        let granted = self.granted().map_err(|e| self.failed(&e))?;
        let renewed = match (&self.oauth.machine, granted) {
            (Some(proof), _) => machine::granted(self, proof).await,
            (None, Some(granted)) if granted.refresh_token.is_some() => self.refreshed(granted).await,
            (None, _) => Err(Denied::SignIn),
        };
        let renewed = renewed.map_err(|denied| self.deny(denied))?;
        let token = renewed.access_token.clone();
        self.grant(renewed).map_err(|e| self.failed(&e))?;
        Ok(Some(token))
    }

    async fn refreshed(&self, before: Granted) -> Result<Granted, Denied> {
        let mut manager = self.manager().await?;
        let resolved = manager.resolve_metadata().await.map_err(unrenewed)?;
        if resolved.metadata.issuer != before.issuer {
            // Somebody else answers for this server now. What the other one granted is not for them.
            return Err(Denied::SignIn);
        }
        manager.set_metadata(resolved.metadata);
        let mut client = OAuthClientConfig::new(before.client_id.clone(), self.server.to_string());
        let secret = before.client_secret.clone().or_else(|| self.oauth.client_secret.clone());
        if let Some(secret) = secret {
            client = client.with_client_secret(secret);
        }
        manager.configure_client(client).map_err(unrenewed)?;
        let store = InMemoryCredentialStore::new();
        let response = before.response().ok_or(Denied::SignIn)?;
        let (id, scopes) = (before.client_id.clone(), before.scopes.clone());
        let stored = StoredCredentials::new(id, Some(response), scopes, None);
        store.save(stored).await.map_err(unrenewed)?;
        manager.set_credential_store(store);
        let response = manager.refresh_token().await.map_err(unrenewed)?;
        let received = serde_json::to_value(response).unwrap_or_default();
        before.followed_by(&received, now()).ok_or(Denied::SignIn)
    }

    async fn manager(&self) -> Result<AuthorizationManager, Denied> {
        let egress = Arc::new(Egress::new(&self.server, &self.oauth.exceptions));
        let made = AuthorizationManager::new_with_oauth_http_client(self.server.to_string(), egress).await;
        made.map_err(|error| Denied::Failed(words(&error.to_string()).into()))
    }

    /// What is kept of this server. What is kept of another one under its key is nothing.
    fn record(&self) -> Result<Option<Record>> {
        Ok(self.vault.load(&self.key)?.filter(|record| record.server == self.server.to_string()))
    }

    fn granted(&self) -> Result<Option<Granted>> {
        let granted = self.record()?.and_then(|record| record.granted);
        // What was granted to another client, or by somebody who is not asked any more, is not used.
        let fits = |granted: &Granted| {
            let is_client = self.oauth.client_id.as_ref().is_none_or(|id| *id == granted.client_id);
            is_client
                && self.oauth.issuer.as_ref().is_none_or(|issuer| granted.issuer.as_ref() == Some(issuer))
        };
        let granted = granted.filter(|granted| self.is_safe() && fits(granted));
        if let Some(granted) = &granted {
            self.know(granted);
        }
        Ok(granted)
    }

    fn grant(&self, granted: Granted) -> Result<()> {
        self.know(&granted);
        let (server, challenge) = (self.server.to_string(), None);
        self.vault.save(&self.key, &Record { server, challenge, granted: Some(granted) })?;
        held(&self.denied).clear();
        Ok(())
    }

    /// What the server wants is remembered until somebody signs in.
    fn keep(&self, challenge: &Challenge) -> Result<()> {
        let before = self.record()?;
        if before.as_ref().is_some_and(|record| record.challenge.as_ref() == Some(&challenge.text)) {
            return Ok(());
        }
        let granted = before.and_then(|record| record.granted);
        let (server, challenge) = (self.server.to_string(), Some(challenge.text.clone()));
        self.vault.save(&self.key, &Record { server, challenge, granted })
    }

    fn know(&self, granted: &Granted) {
        let mut hidden = held(&self.hidden);
        *hidden = hidden.clone().knowing(granted.secrets());
    }

    fn url(&self) -> Option<Url> {
        Url::parse(&self.server.to_string()).ok()
    }

    /// Tokens go over https, or to this machine.
    fn is_safe(&self) -> bool {
        self.server.scheme_str() == Some("https") || is_here(&self.server)
    }
}

impl Granted {
    fn is_over(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// What must not be seen.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let more = [self.refresh_token.clone(), self.client_secret.clone()];
        std::iter::once(self.access_token.clone()).chain(more.into_iter().flatten())
    }

    /// As the answer to a request for tokens.
    fn response(&self) -> Option<OAuthTokenResponse> {
        let value = json!({
            "access_token": self.access_token, "token_type": "bearer", "refresh_token": self.refresh_token,
        });
        serde_json::from_value(value).ok()
    }

    /// With what came in answer to a request for tokens; what it leaves out stays as it was.
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

/// What a server says with a refusal.
pub(super) struct Challenge {
    text: String,
    is_about_scopes: bool,
}

impl Challenge {
    /// `None` if the answer is no refusal that signing in could change.
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

/// Whether a refusal to renew is for good.
fn unrenewed(error: AuthError) -> Denied {
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => Denied::SignIn,
        other => Denied::Failed(words(&posse_net::causes(&other)).into()),
    }
}

impl Denied {
    /// For people and for the model, in one sentence.
    pub fn why(&self) -> LocalizedText {
        match self {
            Self::SignIn => localized!("mcp-sign-in-needed"),
            Self::Scopes(scopes) => localized!("mcp-scopes-needed", scopes),
            Self::Withheld(scopes) => localized!("mcp-scopes-withheld", scopes),
            Self::Failed(why) => localized!("mcp-token-not-renewed", why),
        }
    }

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
