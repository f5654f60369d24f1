//! Pages of lists, and the journal of all tasks as followers read it.

use posse_core::id::TaskId;
use posse_core::outcome::StopReason;
use posse_runtime::context::now_ms;
use posse_runtime::ports::{CatalogStore, JournalStore, TaskPageQuery};
use posse_store::SqliteStore;
use posse_testkit::store_suite::{asked, finished, new_task, replied};

fn store() -> (tempfile::TempDir, SqliteStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("posse.db")).unwrap();
    (directory, store)
}

#[tokio::test]
async fn appends_of_all_tasks_are_read_in_the_order_of_their_commits() {
    let (_directory, store) = store();
    for id in ["a", "b"] {
        store.create(new_task(id)).await.unwrap();
    }
    let (a, b) = (TaskId::root("a"), TaskId::root("b"));
    store.append(&b, 1, &[asked(1)]).await.unwrap();
    store.append(&a, 1, &[asked(1), replied("x", 1, 1)]).await.unwrap();
    let all = store.arrivals(0, 100).await.unwrap();
    let shown: Vec<(&str, Vec<u64>)> = all
        .iter()
        .map(|arrival| (arrival.task.as_str(), arrival.records.iter().map(|stored| stored.seq).collect()))
        .collect();
    let expected = [("a", vec![0]), ("b", vec![0]), ("b", vec![1]), ("a", vec![1]), ("a", vec![2])];
    let flat: Vec<(&str, u64)> =
        shown.iter().flat_map(|(id, seqs)| seqs.iter().map(|seq| (*id, *seq))).collect();
    assert_eq!(
        flat,
        expected.iter().flat_map(|(id, seqs)| seqs.iter().map(|seq| (*id, *seq))).collect::<Vec<_>>()
    );
    assert!(all.windows(2).all(|pair| pair[0].number < pair[1].number));
    let rest = store.arrivals(all[1].number, 100).await.unwrap();
    assert_eq!(rest, all[2..]);
    assert_eq!(store.last_arrival().await.unwrap(), all.last().unwrap().number);
}

/// A follower reads on from a number: one that is given twice would hide an append.
#[tokio::test]
async fn numbers_of_appends_are_not_given_again_after_a_deletion() {
    let (_directory, store) = store();
    for id in ["a", "b"] {
        store.create(new_task(id)).await.unwrap();
    }
    let b = TaskId::root("b");
    store.append(&b, 1, &[finished(StopReason::Answered, "done")]).await.unwrap();
    let before = store.last_arrival().await.unwrap();
    for tree in store.trees().await.unwrap() {
        if tree.root == b {
            assert!(store.delete_tree(tree, now_ms()).await.unwrap());
        }
    }
    assert_eq!(store.last_arrival().await.unwrap(), before);
    store.append(&TaskId::root("a"), 1, &[asked(1)]).await.unwrap();
    let news = store.arrivals(before, 10).await.unwrap();
    assert_eq!(news.iter().map(|arrival| arrival.task.as_str()).collect::<Vec<_>>(), ["a"]);
}

#[tokio::test]
async fn the_mark_changes_with_every_write_and_with_nothing_else() {
    let (_directory, store) = store();
    let first = store.change_mark().await.unwrap();
    assert_eq!(store.change_mark().await.unwrap(), first);
    store.create(new_task("a")).await.unwrap();
    assert_ne!(store.change_mark().await.unwrap(), first);
}

#[tokio::test]
async fn pages_of_tasks_follow_each_other() {
    let (_directory, store) = store();
    for n in 0..7 {
        store.create(new_task(&format!("s{n}"))).await.unwrap();
    }
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page =
            store.task_page(TaskPageQuery { before, limit: 3, ..TaskPageQuery::default() }).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.number);
        seen.extend(page.iter().map(|task| task.row.id.to_string()));
    }
    assert_eq!(seen, ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]);
    let word =
        |word: &str| TaskPageQuery { words: vec![word.to_owned()], limit: 10, ..TaskPageQuery::default() };
    assert_eq!(store.task_page(word("do it")).await.unwrap().len(), 7);
    assert_eq!(store.task_page(word("%")).await.unwrap().len(), 0, "no pattern");
}
