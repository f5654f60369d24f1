//! Conformance suite of message stores. `run` panics with the sentence that does not hold.

use std::sync::Arc;

use posse_core::ErrorCode;
use posse_core::id::TaskId;
use posse_core::journal::Record;
use posse_core::outcome::StopReason;
use posse_runtime::ports::{
    MessageReceipt, NewQuestion, QuestionAnswer, QuestionState, SteeringMessage, Store, UNREAD_MAX,
};

use crate::store_suite::{asked, finished, new_task, replied};

/// Runs every case on a fresh store. Needs a tokio runtime around it.
pub async fn run<S: Store + 'static>(fresh: impl Fn() -> Arc<S>) {
    a_message_is_queued_until_its_task_has_read_it(&*fresh()).await;
    a_message_that_its_task_never_read_is_missed(&*fresh()).await;
    a_sender_that_waits_for_nothing_is_stopped(&*fresh()).await;
    a_question_is_asked_once_and_answered_once(&*fresh()).await;
    an_answer_that_came_first_survives_the_end_of_the_wait(&*fresh()).await;
    a_task_that_is_not_there_takes_no_messages_and_asks_nothing(&*fresh()).await;
    of_two_answers_one_counts(fresh()).await;
}

/// A message to the session's own task.
pub fn message(session: &str, key: &str) -> SteeringMessage {
    SteeringMessage {
        task: TaskId::root(session),
        key: key.to_owned(),
        text: format!("{key}\nmore \u{1f980}"),
        sent_ms: 7,
    }
}

fn question(key: &str) -> NewQuestion {
    NewQuestion {
        task: TaskId::root("s"),
        key: key.to_owned(),
        text: format!("{key}?"),
        options: vec!["one\ntwo".to_owned(), String::new()],
        asked_ms: 5,
    }
}

fn answer(key: &str, text: &str) -> QuestionAnswer {
    QuestionAnswer { task: TaskId::root("s"), key: key.to_owned(), text: text.to_owned() }
}

fn steered(key: &str) -> Record {
    Record::Steered { text: "x".to_owned(), key: key.to_owned(), elapsed_ms: 1 }
}

async fn a_message_is_queued_until_its_task_has_read_it(store: &dyn Store) {
    let id = TaskId::root("s");
    for session in ["s", "t"] {
        store.create(new_task(session)).await.unwrap();
    }
    for key in ["a", "b"] {
        let sent = store.send_message(message("s", key)).await.unwrap();
        assert_eq!(sent, MessageReceipt::Queued);
    }
    store.send_message(message("t", "a")).await.unwrap();
    assert_eq!(store.queued_messages("s").await.unwrap(), [message("s", "a"), message("s", "b")]);
    store.append(&id, 1, &[asked(1), replied("one", 1, 1)]).await.unwrap();
    store
        .append(&id, 1, &[replied("two", 1, 1), steered("a"), steered("ended/t_01"), asked(3)])
        .await
        .unwrap();
    assert_eq!(store.queued_messages("s").await.unwrap(), [message("s", "b")]);
    assert_eq!(store.queued_messages("t").await.unwrap(), [message("t", "a")], "keys belong to a task");
    let again = SteeringMessage { text: "another".to_owned(), ..message("s", "a") };
    assert_eq!(store.send_message(again).await.unwrap(), MessageReceipt::Delivered { turn: 3 });
    store.claim(&id, "second").await.unwrap();
    assert_eq!(store.send_message(message("s", "b")).await.unwrap(), MessageReceipt::Queued);
    assert!(store.append(&id, 1, &[steered("b")]).await.is_err());
    assert_eq!(
        store.queued_messages("s").await.unwrap(),
        [message("s", "b")],
        "what a dead driver read, nobody read"
    );
}

async fn a_message_that_its_task_never_read_is_missed(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    for key in ["a", "b"] {
        store.send_message(message("s", key)).await.unwrap();
    }
    store.append(&id, 1, &[steered("a"), finished(StopReason::Answered, "done")]).await.unwrap();
    let receipt = async |key: &str| store.send_message(message("s", key)).await.unwrap();
    assert_eq!(receipt("a").await, MessageReceipt::Delivered { turn: 1 });
    assert_eq!(receipt("b").await, MessageReceipt::Missed);
    assert_eq!(receipt("late").await, MessageReceipt::Missed);
    let sent = |key: &str, receipt| (key.to_owned(), receipt);
    assert_eq!(
        store.receipts(&id).await.unwrap(),
        [sent("a", MessageReceipt::Delivered { turn: 1 }), sent("b", MessageReceipt::Missed)],
        "a message to a task that had ended is not kept"
    );
    assert_eq!(store.queued_messages("s").await.unwrap(), []);
}

async fn a_sender_that_waits_for_nothing_is_stopped(store: &dyn Store) {
    store.create(new_task("s")).await.unwrap();
    for number in 0..UNREAD_MAX {
        let sent = store.send_message(message("s", &number.to_string())).await.unwrap();
        assert_eq!(sent, MessageReceipt::Queued);
    }
    assert_eq!(store.send_message(message("s", "more")).await.unwrap(), MessageReceipt::Full);
    assert_eq!(store.send_message(message("s", "0")).await.unwrap(), MessageReceipt::Queued, "it is there");
    store.append(&TaskId::root("s"), 1, &[steered("0")]).await.unwrap();
    assert_eq!(store.send_message(message("s", "more")).await.unwrap(), MessageReceipt::Queued);
}

async fn a_question_is_asked_once_and_answered_once(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    assert_eq!(store.question(&id).await.unwrap(), None);
    assert_eq!(store.answer_question(answer("x", "too early")).await.unwrap(), None);
    let first = store.ask_question(question("a")).await.unwrap();
    assert_eq!((first.question.id, &first.state), (1, &QuestionState::Open));
    assert_eq!((first.question.text.as_str(), &first.question.options), ("a?", &question("a").options));
    assert_eq!(store.ask_question(question("a")).await.unwrap(), first);
    let answered = store.answer_question(answer("x", "yes")).await.unwrap().unwrap();
    assert_eq!(answered.state, QuestionState::Answered("yes".to_owned()));
    assert_eq!(store.answer_question(answer("y", "no")).await.unwrap(), None, "nobody waits any more");
    assert_eq!(store.answer_question(answer("x", "again")).await.unwrap().unwrap(), answered);
    assert_eq!(store.ask_question(question("a")).await.unwrap(), answered, "asked again after a crash");
    let second = store.ask_question(question("b")).await.unwrap();
    assert_eq!((second.question.id, second.state.clone()), (2, QuestionState::Open));
    assert_eq!(store.question(&id).await.unwrap(), Some(second));
    store.append(&id, 1, &[finished(StopReason::Answered, "done")]).await.unwrap();
    assert_eq!(store.answer_question(answer("z", "late")).await.unwrap(), None, "its task has ended");
}

async fn an_answer_that_came_first_survives_the_end_of_the_wait(store: &dyn Store) {
    let id = TaskId::root("s");
    store.create(new_task("s")).await.unwrap();
    store.ask_question(question("a")).await.unwrap();
    assert_eq!(store.close_question(&id, 1).await.unwrap().state, QuestionState::Closed);
    assert_eq!(store.answer_question(answer("x", "late")).await.unwrap(), None);
    assert_eq!(store.ask_question(question("a")).await.unwrap().state, QuestionState::Open, "asked again");
    store.answer_question(answer("x", "yes")).await.unwrap().unwrap();
    let closed = store.close_question(&id, 1).await.unwrap();
    assert_eq!(closed.state, QuestionState::Answered("yes".to_owned()));
}

async fn a_task_that_is_not_there_takes_no_messages_and_asks_nothing(store: &dyn Store) {
    let codes = [
        store.send_message(message("s", "a")).await.unwrap_err().code(),
        store.ask_question(question("a")).await.unwrap_err().code(),
        store.answer_question(answer("x", "yes")).await.unwrap_err().code(),
        store.close_question(&TaskId::root("s"), 1).await.unwrap_err().code(),
        store.question(&TaskId::root("s")).await.unwrap_err().code(),
    ];
    assert_eq!(codes, [ErrorCode::TaskNotFound; 5]);
}

async fn of_two_answers_one_counts<S: Store + 'static>(store: Arc<S>) {
    store.create(new_task("s")).await.unwrap();
    store.ask_question(question("a")).await.unwrap();
    let answers = (0..20).map(|number| {
        let store = store.clone();
        let given = answer(&format!("key {number}"), &number.to_string());
        tokio::spawn(async move { store.answer_question(given).await.unwrap() })
    });
    let mut counted = Vec::new();
    for given in answers.collect::<Vec<_>>() {
        counted.extend(given.await.unwrap());
    }
    assert_eq!(counted.len(), 1, "{counted:?}");
    assert_eq!(store.question(&TaskId::root("s")).await.unwrap().as_ref(), counted.first());
}
