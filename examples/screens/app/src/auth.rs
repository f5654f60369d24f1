//! Sign-in tokens.

use crate::clock::now;
use crate::token::{Claims, decode};

#[derive(Debug)]
pub enum AuthError {
    Malformed,
    Expired,
}

/// Returns the claims of a token that is still valid.
pub fn verify_token(token: &str) -> Result<Claims, AuthError> {
    let claims = decode(token).ok_or(AuthError::Malformed)?;
    if claims.exp > now() {
        return Err(AuthError::Expired);
    }
    Ok(claims)
}
