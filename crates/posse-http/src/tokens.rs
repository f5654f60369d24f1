//! Named tokens with scopes, kept as hashes in one file of this user. A login code and the cookie of a browser are tokens
//! too, so that all of them expire, are listed and are revoked the same way.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::localized;
use posse_net::door::same;
use posse_runtime::context::now_ms;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::wire::TokenScope;

/// Life of a login code: long enough to open a browser.
const CODE_MS: u64 = 600_000;
/// Life of a browser's cookie.
pub const BROWSER_MS: u64 = 30 * 86_400_000;
/// Most tokens of one file: more come from a loop.
const TOKENS_MAX: usize = 1_000;
/// Most login codes at once; the oldest gives way.
const CODES_MAX: usize = 20;
/// Longest name of a token.
const NAME_MAX: usize = 64;

/// Use of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// Sent by a program in a header.
    Bearer,
    /// Sent by a browser as a cookie.
    Browser,
    /// Exchanged for a browser's token, once.
    Code,
}

impl TokenKind {
    /// Returns the wire name of the kind.
    pub fn wire(self) -> &'static str {
        match self {
            TokenKind::Bearer => "bearer",
            TokenKind::Browser => "browser",
            TokenKind::Code => "code",
        }
    }
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenEntry {
    pub name: String,
    pub kind: TokenKind,
    /// Sorted, each once.
    pub scopes: Vec<TokenScope>,
    /// SHA-256 of the secret in hexadecimal digits. A secret has 256 random bits, so it needs no slow hash.
    hash: String,
    pub created_ms: u64,
    pub expires_ms: Option<u64>,
}

impl TokenEntry {
    /// Tells whether the token is valid at this instant.
    pub fn is_live(&self, now_ms: u64) -> bool {
        self.expires_ms.is_none_or(|end| now_ms < end)
    }

    /// Tells whether the token allows a scope.
    pub fn allows(&self, scope: TokenScope) -> bool {
        scope == TokenScope::Read || self.scopes.contains(&scope)
    }
}

/// Content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredTokens {
    v: u32,
    tokens: Vec<TokenEntry>,
}

/// The file of all tokens. Every process of this user reads and changes it.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
}

/// A new token with its secret, which is shown once.
#[derive(Debug, Clone)]
pub struct IssuedToken {
    pub entry: TokenEntry,
    pub secret: String,
}

impl TokenFile {
    /// Names the file; it is created with the first token.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lists valid tokens, oldest first.
    pub fn list(&self) -> Result<Vec<TokenEntry>> {
        let now = now_ms();
        Ok(self.read()?.tokens.into_iter().filter(|entry| entry.is_live(now)).collect())
    }

    /// Adds a token for a program. A name is used once.
    pub fn add(&self, name: &str, scopes: &[TokenScope], expires_ms: Option<u64>) -> Result<IssuedToken> {
        let is_legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_legal) {
            return Err(Error::new(ErrorCode::InvalidRequest, localized!("token-name-invalid"))
                .hint(localized!("token-name-hint", most = NAME_MAX)));
        }
        self.change(|tokens| {
            if tokens.iter().any(|entry| entry.name == name) {
                return Err(Error::new(ErrorCode::InvalidRequest, localized!("token-exists", name))
                    .hint(localized!("token-exists-hint", name)));
            }
            issue(tokens, name.to_owned(), TokenKind::Bearer, scopes, expires_ms)
        })
    }

    /// Revokes the token with this name; returns false if there is none.
    pub fn revoke(&self, name: &str) -> Result<bool> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|entry| entry.name != name);
            Ok(tokens.len() < before)
        })
    }

    /// Creates a single-use login code.
    pub fn new_code(&self, scopes: &[TokenScope]) -> Result<IssuedToken> {
        self.change(|tokens| {
            let codes = || tokens.iter().filter(|entry| entry.kind == TokenKind::Code);
            if codes().count() >= CODES_MAX
                && let Some(oldest) = tokens.iter().position(|entry| entry.kind == TokenKind::Code)
            {
                tokens.remove(oldest);
            }
            let name = free_name(tokens, "code");
            issue(tokens, name, TokenKind::Code, scopes, Some(now_ms() + CODE_MS))
        })
    }

    /// Exchanges a login code for the token of a browser; `None` for a code that is unknown, expired or used.
    pub fn exchange(&self, code: &str) -> Result<Option<IssuedToken>> {
        let hash = hash_of(code);
        self.change(|tokens| {
            let matches = |entry: &TokenEntry| entry.kind == TokenKind::Code && same(&entry.hash, &hash);
            let Some(at) = tokens.iter().position(matches) else { return Ok(None) };
            let used = tokens.remove(at);
            let name = free_name(tokens, "browser");
            let ends = Some(now_ms() + BROWSER_MS);
            issue(tokens, name, TokenKind::Browser, &used.scopes, ends).map(Some)
        })
    }

    fn read(&self) -> Result<StoredTokens> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(StoredTokens::default()),
            Err(e) => return Err(self.failed("token-file-unreadable", e)),
        };
        serde_json::from_str(&text).map_err(|e| self.failed("token-file-unreadable", e))
    }

    /// Changes the tokens while no other process does. Expired ones are dropped.
    fn change<T>(&self, work: impl FnOnce(&mut Vec<TokenEntry>) -> Result<T>) -> Result<T> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let lock = || {
            fs::create_dir_all(directory)?;
            let path = self.path.with_extension("lock");
            let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path)?;
            file.lock()?;
            Ok::<_, std::io::Error>(file)
        };
        let _locked = lock().map_err(|e| self.failed("token-file-unwritable", e))?;
        let mut stored = self.read()?;
        let now = now_ms();
        stored.tokens.retain(|entry| entry.is_live(now));
        let result = work(&mut stored.tokens)?;
        stored.v = 1;
        let text =
            serde_json::to_string_pretty(&stored).map_err(|e| self.failed("token-file-unwritable", e))?;
        let write = || {
            // A temporary file is for its user alone, and so is the file that it becomes.
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok::<_, std::io::Error>(())
        };
        write().map_err(|e| self.failed("token-file-unwritable", e))?;
        Ok(result)
    }

    fn failed(&self, what: &str, e: impl std::error::Error + Send + Sync + 'static) -> Error {
        let path = self.path.display();
        let text = match what {
            "token-file-unreadable" => localized!("token-file-unreadable", path),
            _ => localized!("token-file-unwritable", path),
        };
        Error::new(ErrorCode::Io, text).caused_by(e)
    }
}

fn issue(
    tokens: &mut Vec<TokenEntry>,
    name: String,
    kind: TokenKind,
    scopes: &[TokenScope],
    expires_ms: Option<u64>,
) -> Result<IssuedToken> {
    if tokens.len() >= TOKENS_MAX {
        return Err(Error::new(ErrorCode::InvalidRequest, localized!("tokens-too-many", most = TOKENS_MAX)));
    }
    let secret = secret(kind)?;
    let mut scopes = scopes.to_vec();
    scopes.push(TokenScope::Read);
    scopes.sort_unstable();
    scopes.dedup();
    let entry = TokenEntry { name, kind, scopes, hash: hash_of(&secret), created_ms: now_ms(), expires_ms };
    tokens.push(entry.clone());
    Ok(IssuedToken { entry, secret })
}

/// Returns the first unused name of this kind, such as `browser-2`.
fn free_name(tokens: &[TokenEntry], kind: &str) -> String {
    let is_free = |name: &String| !tokens.iter().any(|entry| entry.name == *name);
    (1..).map(|n: u32| format!("{kind}-{n}")).find(is_free).unwrap_or_default()
}

/// Creates a secret of 256 random bits. The prefix lets scanners find leaked tokens.
fn secret(kind: TokenKind) -> Result<String> {
    let prefix = if kind == TokenKind::Code { "" } else { "posse_" };
    Ok(format!("{prefix}{}", random_name()?))
}

/// Creates a name of 256 random bits.
pub fn random_name() -> Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(|e| Error::new(ErrorCode::Io, localized!("no-random-numbers")).caused_by(e))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn hash_of(secret: &str) -> String {
    Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Tokens as a server looks them up: the file is read again when it has changed.
pub struct TokenTable {
    file: TokenFile,
    known: Mutex<(Option<FileStamp>, Vec<TokenEntry>)>,
}

/// State of a file; it differs after every replacement.
type FileStamp = (u64, u64, i64, i64);

impl TokenTable {
    /// Creates the table of a file.
    pub fn new(file: TokenFile) -> Self {
        Self { file, known: Mutex::default() }
    }

    /// Returns the file.
    pub fn file(&self) -> &TokenFile {
        &self.file
    }

    /// Finds the valid token with this secret. Compares with every token, each in constant time.
    pub fn find(&self, secret: &str, kind: TokenKind) -> Option<TokenEntry> {
        let (hash, now) = (hash_of(secret), now_ms());
        self.with_tokens(|tokens| {
            let mut found = None;
            for entry in tokens {
                if same(&entry.hash, &hash) && entry.kind == kind && entry.is_live(now) {
                    found = Some(entry.clone());
                }
            }
            found
        })
    }

    /// Tells whether exactly this token is still valid.
    pub fn is_valid(&self, token: &TokenEntry) -> bool {
        let now = now_ms();
        self.with_tokens(|tokens| tokens.iter().any(|entry| entry.hash == token.hash && entry.is_live(now)))
    }

    /// Calls with the present tokens. Without a readable file there are none: fail closed.
    fn with_tokens<T>(&self, look: impl FnOnce(&[TokenEntry]) -> T) -> T {
        let stamp = fs::metadata(self.file.path())
            .ok()
            .map(|about| (about.ino(), about.len(), about.mtime(), about.mtime_nsec()));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != stamp {
            known.1 = self.file.read().map(|stored| stored.tokens).unwrap_or_default();
            known.0 = stamp;
        }
        look(&known.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, TokenFile) {
        let directory = tempfile::tempdir().unwrap();
        let file = TokenFile::at(directory.path().join("state/http-tokens.json"));
        (directory, file)
    }

    #[test]
    fn a_token_is_found_by_its_secret_until_it_is_revoked() {
        let (_directory, file) = file();
        let table = TokenTable::new(file.clone());
        let issued = file.add("ci", &[TokenScope::Steer], None).unwrap();
        let found = table.find(&issued.secret, TokenKind::Bearer).unwrap();
        assert_eq!(
            (found.name.as_str(), found.scopes.as_slice()),
            ("ci", &[TokenScope::Read, TokenScope::Steer][..])
        );
        assert!(found.allows(TokenScope::Read) && found.allows(TokenScope::Steer));
        assert!(!found.allows(TokenScope::Approve) && !found.allows(TokenScope::Write));
        assert!(table.find(&issued.secret, TokenKind::Browser).is_none(), "a bearer token is no cookie");
        for wrong in ["", "posse_", &issued.secret[..issued.secret.len() - 1], &format!("{}x", issued.secret)]
        {
            assert!(table.find(wrong, TokenKind::Bearer).is_none(), "{wrong}");
        }
        assert!(file.add("ci", &[], None).is_err(), "a name is used once");
        assert!(file.revoke("ci").unwrap() && !file.revoke("ci").unwrap());
        assert!(table.find(&issued.secret, TokenKind::Bearer).is_none() && !table.is_valid(&found));
    }

    #[test]
    fn the_file_has_no_secret_and_is_for_its_user_alone() {
        let (_directory, file) = file();
        let issued = file.add("ci", &[], None).unwrap();
        let code = file.new_code(&[TokenScope::Write]).unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(&issued.secret) && !text.contains(&code.secret), "{text}");
        assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_code_works_once_and_not_after_its_time() {
        let (_directory, file) = file();
        let table = TokenTable::new(file.clone());
        let code = file.new_code(&[TokenScope::Approve]).unwrap();
        assert!(table.find(&code.secret, TokenKind::Bearer).is_none(), "a code is no token");
        let cookie = file.exchange(&code.secret).unwrap().unwrap();
        assert!(table.find(&cookie.secret, TokenKind::Browser).unwrap().allows(TokenScope::Approve));
        assert!(file.exchange(&code.secret).unwrap().is_none(), "used");
        let late = file.new_code(&[]).unwrap();
        file.change(|tokens| {
            tokens.iter_mut().for_each(|entry| entry.expires_ms = Some(1));
            Ok(())
        })
        .unwrap();
        assert!(file.exchange(&late.secret).unwrap().is_none(), "expired");
        assert!(table.find(&cookie.secret, TokenKind::Browser).is_none());
        assert_eq!(file.list().unwrap(), []);
    }

    #[test]
    fn many_codes_push_out_the_oldest() {
        let (_directory, file) = file();
        let codes: Vec<_> = (0..CODES_MAX + 2).map(|_| file.new_code(&[]).unwrap().secret).collect();
        assert_eq!(file.list().unwrap().len(), CODES_MAX);
        assert!(file.exchange(&codes[0]).unwrap().is_none() && file.exchange(&codes[2]).unwrap().is_some());
    }

    #[test]
    fn a_damaged_file_admits_nobody() {
        let (_directory, file) = file();
        let table = TokenTable::new(file.clone());
        let issued = file.add("ci", &[], None).unwrap();
        fs::write(file.path(), "{").unwrap();
        assert!(table.find(&issued.secret, TokenKind::Bearer).is_none());
        assert_eq!(file.list().unwrap_err().code(), ErrorCode::Io);
        assert_eq!(file.add("other", &[], None).unwrap_err().code(), ErrorCode::Io, "nothing is overwritten");
    }
}
