//! Tests of sign-in to a loopback server and of the resulting grants.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::grant::Grant;
use posse_core::id::{CallKey, TaskId};
use posse_core::{ErrorCode, Result};
use posse_runtime::ports::{BoxFuture, ToolContext, ToolInput, ToolOutput};
use posse_testkit::guarded::{Guarded, REFRESH, TOKEN, browse, page};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::super::hostile::{InMemory, Nobody};
use super::super::{AnnotationTrust, McpClient, RemoteServer, ServerConfig, ServerEndpoint, ServerName};
use super::{LoginStanding, OAuth, SignIn, SignInStart, TokenRecord, TokenVault};

/// State shared by two processes.
#[derive(Default)]
struct Shared {
    records: Mutex<HashMap<String, TokenRecord>>,
    lock: Arc<AsyncMutex<()>>,
}

impl TokenVault for Shared {
    fn load(&self, key: &str) -> Result<Option<TokenRecord>> {
        Ok(self.records.lock().unwrap().get(key).cloned())
    }

    fn save(&self, key: &str, record: &TokenRecord) -> Result<()> {
        self.records.lock().unwrap().insert(key.to_owned(), record.clone());
        Ok(())
    }

    fn remove(&self, key: &str) -> Result<bool> {
        Ok(self.records.lock().unwrap().remove(key).is_some())
    }

    fn lock<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Box<dyn Send>>> {
        Box::pin(async {
            let held: OwnedMutexGuard<()> = self.lock.clone().lock_owned().await;
            Ok(Box::new(held) as Box<dyn Send>)
        })
    }
}

impl Shared {
    fn change(&self, key: &str, change: impl FnOnce(&mut TokenRecord)) {
        change(self.records.lock().unwrap().get_mut(key).unwrap());
    }
}

fn server_of(url: &str, origin: &str, vault: Arc<Shared>) -> Arc<McpClient> {
    let oauth = Some(Box::<OAuth>::default());
    let remote = RemoteServer { url: url.parse().unwrap(), headers: Vec::new(), bearer: None, oauth };
    let config = ServerConfig {
        name: ServerName::parse("far").unwrap(),
        endpoint: ServerEndpoint::Http(remote),
        origin: origin.to_owned(),
        startup: Duration::from_secs(30),
        call: Duration::from_secs(30),
        annotations: AnnotationTrust::Ignored,
    };
    McpClient::new(config, Arc::new(Nobody), Arc::new(InMemory::default()), Some(vault))
}

async fn begun(server: &McpClient) -> Box<SignIn<'_>> {
    match server.keeper().unwrap().sign_in().await.unwrap() {
        SignInStart::Person(sign_in) => sign_in,
        SignInStart::Done => panic!("a person has to sign in"),
    }
}

async fn sign_in(server: &McpClient) {
    let sign_in = begun(server).await;
    let back = browse(sign_in.url()).await.unwrap();
    let (redirect, shown) = tokio::join!(sign_in.redirected(), page(&back));
    assert!(shown.unwrap().0.starts_with("HTTP/1.1 200"));
    sign_in.finish(&redirect.unwrap()).await.unwrap();
}

async fn call(server: &Arc<McpClient>) -> ToolOutput {
    let context = ToolContext {
        task: TaskId::root("t"),
        grant: Arc::new(Grant::root([], 0)),
        cancel: Default::default(),
        time_left: Duration::from_secs(60),
        output_bytes_max: 1_000,
        run: None,
        fence: None,
    };
    let tool = server.tools().unwrap().remove(0);
    let key = CallKey { turn: 1, index: 0 };
    tool.call(ToolInput { key, arguments: "{}", idempotency_key: "k", context: &context }).await
}

/// Sets up a server with a completed sign-in and its stored record.
async fn signed_in(life_s: u64) -> (Guarded, Arc<Shared>, Arc<McpClient>) {
    let (guarded, vault) = (Guarded::start().await, Arc::new(Shared::default()));
    guarded.say_life(life_s);
    let server = server_of(&guarded.url(), "", vault.clone());
    let error = server.meet().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::McpSignInRequired, "{error}");
    assert_eq!(error.advice().map(|hint| hint.as_str()), Some("sign in with `posse servers login far`"));
    assert_eq!(server.keeper().unwrap().standing().unwrap(), LoginStanding::Needed);
    sign_in(&server).await;
    (guarded, vault, server)
}

// S26 Seen to fail without `Server::seen`.
#[tokio::test]
async fn whoever_signed_in_is_let_in_and_what_the_server_was_told_is_not_shown() {
    let (_guarded, _, server) = signed_in(3_600).await;
    server.meet().await.unwrap();
    let output = call(&server).await;
    assert_eq!(output.text, "you are [redacted: a key of the operator]");
    let standing = server.keeper().unwrap().standing().unwrap();
    assert!(
        matches!(standing, LoginStanding::SignedIn { expires_at: Some(_), renews: true }),
        "{standing:?}"
    );
    assert!(server.keeper().unwrap().sign_out().await.unwrap());
    assert_eq!(server.keeper().unwrap().standing().unwrap(), LoginStanding::Unasked);
    let output = call(&server).await;
    assert!(
        output.is_error && !output.cut_off && output.text.contains("posse servers login far"),
        "{}",
        output.text
    );
}

// Seen to fail without the comparison of `state`, in `hear` and in `finish`.
#[tokio::test]
async fn the_answer_to_another_question_is_refused_and_the_right_one_still_counts() {
    let guarded = Guarded::start().await;
    let server = server_of(&guarded.url(), "", Arc::default());
    server.meet().await.unwrap_err();
    let first = begun(&server).await;
    let back = browse(first.url()).await.unwrap();
    let (begin, _) = back.split_once("state=").unwrap();
    let forged = format!("{begin}state=forged&iss={}", guarded.url().trim_end_matches("/mcp"));
    let coming = async {
        assert!(page(&forged).await.unwrap().0.starts_with("HTTP/1.1 400"));
        assert!(page(&back.replace("/callback", "/other")).await.unwrap().0.starts_with("HTTP/1.1 400"));
        page(&back).await.unwrap()
    };
    let (redirect, shown) = tokio::join!(first.redirected(), coming);
    assert!(shown.0.starts_with("HTTP/1.1 200"));
    let second = begun(&server).await;
    for wrong in [&redirect.as_ref().unwrap()[..], &forged, "", "nonsense"] {
        let third = begun(&server).await;
        let error = third.finish(wrong).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::McpSignInFailed, "{wrong}");
    }
    assert_eq!(guarded.count("/token"), 0, "no code was given away");
    let fourth = begun(&server).await;
    let back = browse(fourth.url()).await.unwrap();
    let origin = guarded.url().trim_end_matches("/mcp").to_owned();
    let error = fourth.finish(&back.replace(&origin, "http://evil.test")).await.unwrap_err();
    assert!(error.message().contains("mismatch"), "{error}");
    assert_eq!(guarded.count("/token"), 0, "somebody else answered");
    let back = browse(second.url()).await.unwrap();
    second.finish(&back).await.unwrap();
    server.meet().await.unwrap();
}

// S13 Seen to fail without the origin in the key, and without the comparison of the address in `record`.
#[tokio::test]
async fn what_one_server_is_told_no_other_is_told() {
    let (guarded, vault, server) = signed_in(3_600).await;
    let other = Guarded::start().await;
    let key = server.config().key();
    let record = vault.load(&key).unwrap().unwrap();
    let of_a_project = server_of(&guarded.url(), "/project/.mcp.json", vault.clone());
    let elsewhere = server_of(&other.url(), "", vault.clone());
    // Even if the record is copied to the other server's key.
    vault.save(&elsewhere.config().key(), &record).unwrap();
    for stranger in [&of_a_project, &elsewhere] {
        let error = stranger.meet().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::McpSignInRequired, "{error}");
    }
    let is_told = |request: &posse_testkit::server::Recorded| request.header("authorization").is_some();
    assert!(!other.requests().iter().any(is_told));
    assert!(!guarded.requests().iter().any(is_told));
    other.answer_for("https://elsewhere.test/mcp");
    let refused = elsewhere.keeper().unwrap().sign_in().await.err().unwrap();
    assert!(refused.message().contains("mismatch"), "{refused}");
    assert_eq!(other.count("/register"), 0);
}

// Seen to fail without the question in `renewed` whether somebody was faster.
#[tokio::test]
async fn what_has_ended_is_renewed_once_for_all_who_wait() {
    let (guarded, vault, server) = signed_in(3_600).await;
    server.meet().await.unwrap();
    call(&server).await;
    let second = server_of(&guarded.url(), "", vault.clone());
    second.meet().await.unwrap();
    let tokens = guarded.count("/token");
    vault.change(&server.config().key(), |record| record.granted.as_mut().unwrap().expires_at = Some(1));
    let all = (0..4).flat_map(|_| [server.clone(), second.clone()]);
    let calls: Vec<_> = all.map(|server| tokio::spawn(async move { call(&server).await })).collect();
    for output in calls {
        let output = output.await.unwrap();
        assert!(!output.is_error, "{}", output.text);
    }
    assert_eq!(guarded.count("/token"), tokens + 1);
    // Refused before its expiry: renewed as well, and only once.
    guarded.forget_tokens();
    assert!(!call(&server).await.is_error && !call(&second).await.is_error);
    assert_eq!(guarded.count("/token"), tokens + 2);
    guarded.forget_all();
    let output = call(&server).await;
    assert!(output.is_error && output.text.contains("posse servers login far"), "{}", output.text);
    let kept = vault.load(&server.config().key()).unwrap().unwrap().granted.unwrap();
    assert!(kept.access_token.starts_with(TOKEN) && kept.refresh_token.unwrap().starts_with(REFRESH));
}

// Seen to fail without the comparison of who grants in `refreshed`.
#[tokio::test]
async fn somebody_else_who_grants_is_not_given_what_the_first_one_gave() {
    let (guarded, vault, server) = signed_in(3_600).await;
    let tokens = guarded.count("/token");
    vault.change(&server.config().key(), |record| {
        let granted = record.granted.as_mut().unwrap();
        (granted.expires_at, granted.issuer) = (Some(1), Some("https://before.test".to_owned()));
    });
    let error = server.meet().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::McpSignInRequired);
    assert_eq!(guarded.count("/token"), tokens, "nobody was asked");
}

// Seen to fail without what was granted before.
#[tokio::test]
async fn more_that_is_wanted_for_a_call_is_asked_for_beside_what_was_granted() {
    let (guarded, vault, server) = signed_in(3_600).await;
    server.meet().await.unwrap();
    guarded.want_for_calls("write");
    let output = call(&server).await;
    assert!(output.is_error && !output.cut_off && output.text.contains("write"), "{}", output.text);
    assert!(output.text.contains("posse servers login far"), "{}", output.text);
    vault.change(&server.config().key(), |record| {
        record.granted.as_mut().unwrap().scopes = vec!["read".to_owned()]
    });
    let sign_in = begun(&server).await;
    assert!(sign_in.url().contains("scope=read+write"), "{}", sign_in.url());
    let back = browse(sign_in.url()).await.unwrap();
    sign_in.finish(&back).await.unwrap();
    assert!(!call(&server).await.is_error);
    guarded.want_for_calls("read");
    assert!(!call(&server).await.is_error);
    vault.change(&server.config().key(), |record| {
        record.granted.as_mut().unwrap().scopes.push("all".to_owned())
    });
    guarded.want_for_calls("all");
    let output = call(&server).await;
    assert!(output.text.contains("would not help") && !output.text.contains("login"), "{}", output.text);
}
