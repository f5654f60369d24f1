//! A signed client assertion (RFC 7523). Written here because the SDK would pull in a second signature
//! library.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use posse_messages::{LocalizedText, localized};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;

/// Lifetime of an assertion in seconds.
const LIFE_S: u64 = 300;

/// Builds an assertion from `client` to `audience`, signed with a PKCS#8 PEM key (P-256 or RSA).
pub(super) fn assertion(client: &str, audience: &str, key: &str, now: u64) -> Result<String, LocalizedText> {
    let random = SystemRandom::new();
    let mut id = [0; 16];
    random.fill(&mut id).map_err(|_| unusable())?;
    let claims = json!({
        "iss": client, "sub": client, "aud": audience, "iat": now, "exp": now + LIFE_S,
        "jti": BASE64_URL_SAFE_NO_PAD.encode(id),
    });
    let der = pem(key).ok_or_else(unusable)?;
    let statement = |algorithm: &str| {
        let head = json!({ "alg": algorithm, "typ": "client-authentication+jwt" }).to_string();
        [head, claims.to_string()].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).join(".")
    };
    let (text, signature) =
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &random) {
            let text = statement("ES256");
            let signature = key.sign(&random, text.as_bytes()).map_err(|_| unusable())?;
            (text, signature.as_ref().to_vec())
        } else {
            let key = RsaKeyPair::from_pkcs8(&der).map_err(|_| unusable())?;
            let text = statement("RS256");
            let mut signature = vec![0; key.public().modulus_len()];
            key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).map_err(|_| unusable())?;
            (text, signature)
        };
    Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

fn pem(text: &str) -> Option<Vec<u8>> {
    let (_, inside) = text.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (inside, _) = inside.split_once("-----END PRIVATE KEY-----")?;
    let compact: String = inside.chars().filter(|c| !c.is_whitespace()).collect();
    BASE64_STANDARD.decode(compact).ok()
}

fn unusable() -> LocalizedText {
    localized!("mcp-key-unusable")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair, UnparsedPublicKey};
    use serde_json::Value;

    #[test]
    fn a_statement_is_signed_by_the_key_and_says_who_asks_whom() {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random).unwrap();
        let text = BASE64_STANDARD.encode(der.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
        let token = assertion("me", "https://as.test", &pem, 1_000).unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.public_key().as_ref());
        public.verify(signed.as_bytes(), &signature).unwrap();
        let claims = BASE64_URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(
            (&claims["sub"], &claims["aud"], &claims["exp"]),
            (&json!("me"), &json!("https://as.test"), &json!(1_300))
        );
        for wrong in ["", "text", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
            assert!(assertion("me", "a", wrong, 0).is_err(), "{wrong}");
        }
    }
}
