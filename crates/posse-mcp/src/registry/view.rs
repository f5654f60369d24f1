//! Servers as people and programs see them, without starting any.

use posse_core::Result;
use posse_core::context::wire::utc;
use posse_messages::{LocalizedText, localized};
use serde_json::{Value, json};

use super::NamedServer;
use crate::client::LoginStanding;

impl NamedServer {
    /// Describes the state of the server without starting it.
    fn state(&self) -> LocalizedText {
        match self.server.known() {
            Ok(None) => localized!("mcp-state-unknown"),
            Ok(Some(known)) if known.waiting.is_some() => {
                localized!(
                    "mcp-state-changed",
                    tools = known.accepted.len(),
                    changes = known.differences().len()
                )
            }
            Ok(Some(known)) => localized!("mcp-state-known", tools = known.accepted.len()),
            Err(e) => e.message().clone(),
        }
    }

    fn standing(&self) -> Option<Result<LoginStanding>> {
        self.server.keeper().map(|keeper| keeper.standing())
    }

    /// Describes the sign-in state; `None` if the server needs no sign-in.
    pub fn sign_in(&self) -> Option<LocalizedText> {
        Some(match self.standing()? {
            Ok(LoginStanding::Unasked) => return None,
            Ok(LoginStanding::Needed) => localized!("mcp-sign-in-wanted", server = self.server.config().name),
            Ok(LoginStanding::Ended) => localized!("mcp-sign-in-ended", server = self.server.config().name),
            Ok(LoginStanding::SignedIn { expires_at: Some(end), renews: false }) => {
                localized!("mcp-signed-in-until", end = utc(end.saturating_mul(1_000)))
            }
            Ok(LoginStanding::SignedIn { .. }) => localized!("mcp-signed-in"),
            Err(e) => e.message().clone(),
        })
    }

    /// Describes the server in one line.
    pub fn line(&self) -> String {
        let (name, origin, what) = (&self.server.config().name, &self.origin, &self.what);
        let state =
            LocalizedText::join([Some(&self.state()), self.sign_in().as_ref()].into_iter().flatten(), " · ");
        format!("{:<16} {state} · {what} · {} · {origin}", name.as_str(), self.confinement)
    }

    /// Describes the server for programs.
    pub fn to_json(&self) -> Value {
        let known = self.server.known().ok().flatten();
        json!({
            "server": self.server.config().name.as_str(),
            "what": self.what,
            "origin": self.origin.to_string(),
            "confinement": self.confinement.as_str(),
            "tools": known.as_ref().map(|known| known.accepted.keys().collect::<Vec<_>>()),
            "changes": known.as_ref().map(|known| known.differences().len()),
            "state": self.state().as_str(),
            "sign_in": match self.standing() {
                None | Some(Ok(LoginStanding::Unasked)) => json!(null),
                Some(Ok(LoginStanding::Needed)) => json!("needed"),
                Some(Ok(LoginStanding::SignedIn { .. })) => json!("signed_in"),
                Some(Ok(LoginStanding::Ended) | Err(_)) => json!("ended"),
            },
            "expires_at": match self.standing() {
                Some(Ok(LoginStanding::SignedIn { expires_at: Some(end), .. })) => json!(utc(end.saturating_mul(1_000))),
                _ => json!(null),
            },
        })
    }
}
