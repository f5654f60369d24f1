//! Sessions of signed-in users.

use crate::auth::verify_token;

pub struct Session {
    pub user: String,
    pub started: u64,
}

/// Opens a session for the user of a token.
pub fn open(token: &str, started: u64) -> Option<Session> {
    let claims = verify_token(token).ok()?;
    Some(Session { user: claims.subject, started })
}
