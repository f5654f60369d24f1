//! The store in memory keeps the contracts of its ports.

use std::sync::Arc;

use posse_core::ErrorCode;
use posse_core::id::TaskId;
use posse_runtime::memory::MemoryStore;
use posse_runtime::ports::JournalStore;
use posse_testkit::store_suite::{self, asked, new_task};
use posse_testkit::{approval_suite, context_suite, message_suite};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn it_keeps_the_contract_of_a_store() {
    block_on(store_suite::run(|| Arc::new(MemoryStore::new())));
}

#[test]
fn it_keeps_the_contract_of_a_context_store() {
    block_on(context_suite::run(|| Arc::new(MemoryStore::new())));
}

#[test]
fn it_keeps_the_contract_of_an_approval_store() {
    block_on(approval_suite::run(|| Arc::new(MemoryStore::new())));
}

#[test]
fn it_keeps_the_contract_of_a_message_store() {
    block_on(message_suite::run(|| Arc::new(MemoryStore::new())));
}

#[test]
fn the_nth_append_fails_alone_and_an_earlier_state_can_be_seen() {
    block_on(async {
        let store = MemoryStore::new();
        let id = TaskId::root("s");
        store.create(new_task("s")).await.unwrap();
        store.fail_append(2, ErrorCode::DiskFull);
        store.append(&id, 1, &[asked(1)]).await.unwrap();
        let refused = store.append(&id, 1, &[asked(2)]).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::DiskFull);
        store.append(&id, 1, &[asked(3)]).await.unwrap();
        assert_eq!(store.writes(), 3);
        assert_eq!(store.as_of(2).records(&id).await.unwrap()[1..], [asked(1)]);
        assert_eq!(store.snapshot().records(&id).await.unwrap()[1..], [asked(1), asked(3)]);
    });
}
