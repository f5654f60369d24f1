//! `posse context`: read and change the shared context of a session from outside.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use posse_console::lists::context::{described, indented, line, told};
use posse_core::context::wire::{ContextAnswer, ContextRequest, snapshot as snapshot_json};
use posse_core::context::{
    AudienceChange, ContextChange, ContextEntry, ContextKey, OPERATOR, SnapshotLabel, TOTAL_TOKENS_MAX,
    ValueHead,
};
use posse_core::text::nearest;
use posse_core::{Error, ErrorCode, Result};
use posse_messages::{localized, say};
use posse_runtime::context::{ContextCaller, change, now_ms, perform};
use posse_runtime::lookup::find_session;
use posse_runtime::ports::ContextStore;
use posse_store::SqliteStore;
use serde_json::{Value, json};

use super::sessions;
use super::tasks::age;
use crate::args::{ContextArgs, ContextCommand, GlobalArgs};
use crate::columns::PaddedCell;
use crate::render::tokens;
use crate::setup::{self, Setup};
use crate::terminal;

/// Far above the token limit of a value, so that the error names the token limit.
const VALUE_BYTES_MAX: u64 = 1 << 20;

pub async fn run(global: &GlobalArgs, args: ContextArgs) -> Result<ExitCode> {
    let setup = Setup::load(global)?;
    let store = match args.command {
        ContextCommand::List | ContextCommand::Read { .. } | ContextCommand::History { .. } => {
            setup::store_to_read(global)?
        }
        _ => setup.store()?,
    };
    setup.telemetry.open_log()?;
    let session = match &args.session {
        Some(wanted) => find_session(&*store, wanted).await?,
        None => sessions::newest(&*store, &setup.workspace).await?,
    };
    let place = ContextTarget { store, session, json: global.json };
    let wanted = wanted_key(&args.command);
    let done = match args.command {
        ContextCommand::List => place.list().await,
        ContextCommand::Read { keys } => place.read(keys).await,
        ContextCommand::Write { key, value, expect, ttl, readable_by, writable_by } => {
            let request = ContextRequest::write(
                ContextKey::parse(&key)?,
                text(value)?,
                expect,
                ttl,
                AudienceChange::parse(readable_by, writable_by)?,
            )?;
            place.ask(request).await
        }
        ContextCommand::Wait { keys, timeout } => {
            place.ask(ContextRequest::wait(&keys, BTreeMap::new(), timeout)?).await
        }
        ContextCommand::Delete { key } => place.ask(ContextRequest::Delete(ContextKey::parse(&key)?)).await,
        ContextCommand::History { key, versions } => {
            place.ask(ContextRequest::read_history(ContextKey::parse(&key)?, versions)?).await
        }
        ContextCommand::Snapshot { label: None, .. } => place.snapshots().await,
        ContextCommand::Snapshot { label: Some(label), show, restore } => {
            let label = SnapshotLabel::parse(&label)?;
            match (show, restore) {
                (true, _) => place.show_snapshot(&label).await,
                (false, true) => place.restore(label).await,
                (false, false) => place.ask(ContextRequest::Snapshot(label)).await,
            }
        }
    };
    match done {
        Err(e) => Err(place.for_people(e, &wanted).await),
        done => done,
    }
}

/// Returns the one key that a command names.
fn wanted_key(command: &ContextCommand) -> String {
    match command {
        ContextCommand::Delete { key } | ContextCommand::History { key, .. } => key.clone(),
        ContextCommand::Read { keys } => keys.first().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

struct ContextTarget {
    store: Arc<SqliteStore>,
    session: String,
    json: bool,
}

impl ContextTarget {
    fn caller(&self) -> ContextCaller<'_> {
        ContextCaller { session: &self.session, participant: OPERATOR, idempotency_key: None }
    }

    /// Replaces hints about the tool by hints about commands, and says which key was probably meant.
    async fn for_people(&self, error: Error, wanted: &str) -> Error {
        match error.code() {
            ErrorCode::KeyNotFound if error.advice() == Some(&localized!("key-not-found-hint")) => {
                let heads = self.store.context_keys(&self.session, now_ms()).await.unwrap_or_default();
                let near = nearest(wanted, heads.iter().map(|head| head.key.as_str()));
                let near = near.map(|name| format!("{} ", say!("usage-did-you-mean", name)));
                error.hint(format!("{}{}", near.unwrap_or_default(), say!("context-list-hint")))
            }
            ErrorCode::VersionConflict => error.hint(say!("context-version-hint")),
            _ => error,
        }
    }

    async fn ask(&self, request: ContextRequest) -> Result<ExitCode> {
        let answer = perform(&*self.store, self.caller(), request).await?;
        self.tell(&answer).await
    }

    async fn list(&self) -> Result<ExitCode> {
        self.ask(ContextRequest::ListKeys).await
    }

    /// Reads one value (bare, so that it can be piped), several with their names, or all.
    async fn read(&self, keys: Vec<String>) -> Result<ExitCode> {
        let wanted = match keys.as_slice() {
            [] => {
                let heads = self.store.context_keys(&self.session, now_ms()).await?;
                ContextRequest::ReadBatch(heads.into_iter().map(|head| head.key).collect())
            }
            [key] => ContextRequest::Read(ContextKey::parse(key)?),
            several => ContextRequest::read_batch(several)?,
        };
        self.ask(wanted).await
    }

    async fn snapshots(&self) -> Result<ExitCode> {
        let taken = self.store.snapshots(&self.session).await?;
        if taken.is_empty() && !self.json {
            terminal::note(&say!("no-snapshots"));
        }
        for snapshot in &taken {
            if self.json {
                self.out(snapshot_json(snapshot));
                continue;
            }
            terminal::out(&format!(
                "{:<24} {:>8} {:>14}  {:>5}  {}",
                snapshot.label,
                PaddedCell(say!("many-keys", n = snapshot.keys)),
                PaddedCell(tokens(snapshot.tokens)),
                PaddedCell(age(snapshot.taken_at_ms)),
                snapshot.taken_by
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn show_snapshot(&self, label: &SnapshotLabel) -> Result<ExitCode> {
        let entries = self.store.snapshot(&self.session, label).await?;
        self.tell(&ContextAnswer::Batch { entries, missing: Vec::new(), denied: Vec::new() }).await
    }

    async fn restore(&self, label: SnapshotLabel) -> Result<ExitCode> {
        let changed = change(&*self.store, self.caller(), ContextChange::Restore(label)).await?;
        self.tell(&ContextAnswer::Changed(changed)).await
    }

    fn out(&self, mut answer: Value) {
        answer["session_id"] = json!(self.session);
        terminal::out(&answer.to_string());
    }

    async fn tell(&self, answer: &ContextAnswer) -> Result<ExitCode> {
        if self.json {
            self.out(answer.to_json());
            return Ok(code(answer));
        }
        match answer {
            ContextAnswer::Keys { heads, .. } => {
                heads.iter().for_each(|head| terminal::out(&line(head)));
                terminal::note(&self.used(heads));
            }
            ContextAnswer::Value(entry) => {
                terminal::note(&described(&entry.head));
                terminal::out_foreign(&entry.value);
            }
            ContextAnswer::Batch { entries, missing, .. } => {
                entries.iter().for_each(tell_entry);
                let names: Vec<&str> = missing.iter().map(ContextKey::as_str).collect();
                if !names.is_empty() {
                    terminal::note(&say!("keys-not-there", names = names.join(", ")));
                }
            }
            ContextAnswer::History { past, .. } => {
                for past in past {
                    terminal::out(&format!("{} {}", past.act.wire(), described(&past.head)));
                    if let Some(value) = &past.value {
                        terminal::out_foreign(&indented(value));
                    }
                }
            }
            ContextAnswer::Waited(waited) if waited.is_empty() => terminal::note(&say!("context-wait-over")),
            ContextAnswer::Waited(waited) => {
                waited.written.iter().for_each(|head| terminal::out(&described(head)));
                waited.deleted.iter().for_each(|key| terminal::out(&say!("key-was-deleted", key)));
            }
            ContextAnswer::Changed(changed) => {
                terminal::note(&told(changed));
                terminal::note(&self.used(&self.store.context_keys(&self.session, now_ms()).await?));
            }
        }
        Ok(code(answer))
    }

    fn used(&self, heads: &[ValueHead]) -> String {
        let tokens: u64 = heads.iter().map(|head| head.tokens).sum();
        let keys = say!("many-keys", n = heads.len());
        let size = say!("tokens-of", tokens, most = TOTAL_TOKENS_MAX);
        say!("context-used", session = self.session, keys, size)
    }
}

/// Fails if any requested key is missing or a wait timed out.
fn code(answer: &ContextAnswer) -> ExitCode {
    match answer {
        ContextAnswer::Batch { missing, .. } if !missing.is_empty() => ExitCode::FAILURE,
        // The wait timed out.
        ContextAnswer::Waited(waited) if waited.is_empty() => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

fn tell_entry(entry: &ContextEntry) {
    terminal::out(&described(&entry.head));
    terminal::out_foreign(&indented(&entry.value));
}

fn text(argument: String) -> Result<String> {
    if argument != "-" {
        return Ok(argument);
    }
    let failed = |e| Error::new(ErrorCode::Io, say!("input-not-text")).caused_by(e);
    let mut text = String::new();
    std::io::stdin().lock().take(VALUE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    // Drops the newline that `echo` adds.
    Ok(text.strip_suffix('\n').map_or_else(|| text.clone(), str::to_owned))
}
