//! Tests of sign-in.

#[test]
fn a_malformed_token_is_refused() {
    assert!(app::auth::verify_token("not a token").is_err());
}
