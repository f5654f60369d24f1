//! Time is paused; calls end when a test says so.

use std::sync::atomic::{AtomicU32, Ordering};

use posse_core::usage::Usage;
use posse_runtime::ports::{NoDeltas, UnlimitedCalls};
use tokio::task::JoinHandle;

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);
const NORMAL: Urgency = Urgency::Background(Priority::Normal);

/// A caller that tells its name when it is let through, and keeps its place until the test drops it.
struct Caller {
    name: &'static str,
    admitted: JoinHandle<Result<CallPermit, AdmissionFailure>>,
}

async fn settle() {
    // Everybody who can move has moved.
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn admit(governor: &Arc<RateGovernor>, urgency: Urgency) -> JoinHandle<Result<CallPermit, AdmissionFailure>> {
    let governor = governor.clone();
    tokio::spawn(async move { governor.admit(urgency, PATIENCE, &UnlimitedCalls, &NoDeltas).await })
}

async fn arrives(governor: &Arc<RateGovernor>, name: &'static str, urgency: Urgency) -> Caller {
    let caller = Caller { name, admitted: admit(governor, urgency) };
    settle().await;
    caller
}

/// The order in which they are served, one place at a time.
async fn order(first: CallPermit, mut callers: Vec<Caller>) -> Vec<&'static str> {
    let (mut order, mut held) = (Vec::new(), Some(first));
    while !callers.is_empty() {
        drop(held.take());
        settle().await;
        let at = callers.iter().position(|caller| caller.admitted.is_finished()).expect("one is next");
        let next = callers.remove(at);
        assert!(!callers.iter().any(|caller| caller.admitted.is_finished()), "there is one place");
        order.push(next.name);
        held = Some(next.admitted.await.unwrap().ok().unwrap());
    }
    order
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_than_allowed_are_under_way() {
    let governor = RateGovernor::new(3);
    let callers: Vec<_> = (0..8).map(|_| admit(&governor, NORMAL)).collect();
    settle().await;
    assert_eq!(callers.iter().filter(|caller| caller.is_finished()).count(), 3);
    let mut served = 0;
    for caller in callers {
        let permit = caller.await.unwrap().ok().unwrap();
        assert!(governor.lock().under_way <= 3);
        permit.succeeded();
        served += 1;
    }
    settle().await;
    let state = governor.lock();
    assert_eq!((served, state.under_way, state.queue.len()), (8, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_run_somebody_waits_for_goes_first_then_by_priority_then_in_order() {
    let governor = RateGovernor::new(1);
    let first = governor.admit(NORMAL, PATIENCE, &UnlimitedCalls, &NoDeltas).await.ok().unwrap();
    let mut callers = Vec::new();
    for (name, urgency) in [
        ("low", Urgency::Background(Priority::Low)),
        ("normal", NORMAL),
        ("normal later", NORMAL),
        ("high", Urgency::Background(Priority::High)),
        ("interactive", Urgency::Interactive),
    ] {
        callers.push(arrives(&governor, name, urgency).await);
    }
    assert_eq!(order(first, callers).await, ["interactive", "high", "normal", "normal later", "low"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_starves_however_many_urgent_calls_come() {
    let governor = RateGovernor::new(1);
    let mut held = governor.admit(NORMAL, PATIENCE, &UnlimitedCalls, &NoDeltas).await.ok().unwrap();
    let patient = arrives(&governor, "patient", Urgency::Background(Priority::Low)).await;
    let mut overtaken = 0;
    // There is always an urgent one in the queue, and each call takes a second.
    let mut urgent = arrives(&governor, "urgent", Urgency::Interactive).await;
    while !patient.admitted.is_finished() {
        let next = arrives(&governor, "urgent", Urgency::Interactive).await;
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(held);
        settle().await;
        if patient.admitted.is_finished() {
            break;
        }
        held = std::mem::replace(&mut urgent, next).admitted.await.unwrap().ok().unwrap();
        overtaken += 1;
        assert!(overtaken < 60, "it waits for ever");
    }
    assert!((25..=35).contains(&overtaken), "three levels of ten seconds: {overtaken}");
}

#[tokio::test(start_paused = true)]
async fn who_is_cancelled_in_the_queue_leaves_it_at_once_and_takes_no_place() {
    let governor = RateGovernor::new(1);
    let held = governor.admit(NORMAL, PATIENCE, &UnlimitedCalls, &NoDeltas).await.ok().unwrap();
    let cancelled = arrives(&governor, "cancelled", Urgency::Interactive).await;
    let other = arrives(&governor, "other", NORMAL).await;
    cancelled.admitted.abort();
    settle().await;
    assert_eq!(governor.lock().queue.len(), 1);
    // Another is cancelled in the very instant in which it was served.
    let served = arrives(&governor, "served", Urgency::Interactive).await;
    drop(held);
    served.admitted.abort();
    settle().await;
    assert!(other.admitted.is_finished());
    drop(other.admitted.await.unwrap());
    assert_eq!(governor.lock().under_way, 0);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_makes_all_pause_and_half_as_many_go_on() {
    let governor = RateGovernor::new(8);
    let mut permits = Vec::new();
    for _ in 0..8 {
        permits.push(governor.admit(NORMAL, PATIENCE, &UnlimitedCalls, &NoDeltas).await.ok().unwrap());
    }
    let waiting: Vec<_> = (0..8).map(|_| admit(&governor, NORMAL)).collect();
    settle().await;
    let start = Instant::now();
    permits.pop().unwrap().refused(Duration::from_secs(5));
    permits.drain(..).for_each(CallPermit::succeeded);
    settle().await;
    assert!(!waiting.iter().any(JoinHandle::is_finished), "a call that ends lets nobody through in a pause");
    tokio::time::sleep(Duration::from_millis(4999)).await;
    assert!(!waiting.iter().any(JoinHandle::is_finished));
    tokio::time::sleep(SPREAD * 3).await;
    assert_eq!(waiting.iter().filter(|caller| caller.is_finished()).count(), 4);
    let mut waiting = waiting;
    while !waiting.is_empty() {
        let at = waiting.iter().position(JoinHandle::is_finished).expect("one is next");
        waiting.remove(at).await.unwrap().ok().unwrap().succeeded();
        settle().await;
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_place_that_never_comes_free_is_not_waited_for_endlessly() {
    let governor = RateGovernor::new(1);
    let _held = governor.admit(NORMAL, PATIENCE, &UnlimitedCalls, &NoDeltas).await.ok().unwrap();
    let start = Instant::now();
    let closed = governor.admit(NORMAL, PATIENCE, &UnlimitedCalls, &NoDeltas).await.err();
    assert_eq!((closed, start.elapsed()), (Some(AdmissionFailure::Full(1)), QUEUED_MAX));
    assert_eq!(governor.lock().queue.len(), 0);
}

/// Counts who says that it queues and that it was served.
#[derive(Default)]
struct Counting(AtomicU32, AtomicU32);

impl CallAllowance for Counting {
    fn time_left(&self) -> Duration {
        Duration::MAX
    }

    fn again(&self, _: &Usage) -> Result<(), String> {
        Ok(())
    }

    fn queues(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn served(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_is_told_with_its_end_also_when_it_is_given_up() {
    let (governor, counting) = (RateGovernor::new(1), Counting::default());
    let held = governor.admit(NORMAL, PATIENCE, &counting, &NoDeltas).await.ok().unwrap();
    assert_eq!(counting.0.load(Ordering::Relaxed), 0, "who need not wait does not queue");
    let given_up = governor.admit(NORMAL, PATIENCE, &counting, &NoDeltas);
    assert!(tokio::time::timeout(Duration::from_secs(1), given_up).await.is_err());
    let told = || (counting.0.load(Ordering::Relaxed), counting.1.load(Ordering::Relaxed));
    assert_eq!(told(), (1, 1));
    let (next, ()) =
        tokio::join!(governor.admit(NORMAL, PATIENCE, &counting, &NoDeltas), async { drop(held) });
    assert_eq!((next.is_ok(), told()), (true, (2, 2)));
}

/// Two processes: each has its own files open.
fn two(max: usize) -> (tempfile::TempDir, Arc<RateGovernor>, Arc<RateGovernor>) {
    let directory = tempfile::tempdir().unwrap();
    let open = || RateGovernor::shared(max, directory.path()).unwrap();
    let (here, there) = (open(), open());
    (directory, here, there)
}

async fn get(governor: &Arc<RateGovernor>) -> CallPermit {
    governor.admit(NORMAL, PATIENCE, &UnlimitedCalls, &NoDeltas).await.ok().unwrap()
}

#[tokio::test(start_paused = true)]
async fn processes_with_one_key_share_its_places() {
    let (_directory, here, there) = two(3);
    let mut held = vec![get(&here).await, get(&there).await, get(&here).await];
    let waiting = admit(&there, NORMAL);
    tokio::time::sleep(POLL * 10).await;
    assert!(!waiting.is_finished(), "three are under way");
    held.pop();
    tokio::time::sleep(POLL * 2).await;
    assert!(waiting.is_finished(), "a place that another process gave back is found");
    drop((held, waiting.await.unwrap()));
    assert_eq!((here.lock().under_way, there.lock().under_way), (0, 0));
    let all = [get(&here).await, get(&here).await, get(&here).await];
    assert_eq!(all.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_places_of_a_process_that_is_gone_are_free() {
    let (_directory, here, there) = two(1);
    let held = get(&here).await;
    // What the end of a process does: its files are closed, and nobody gave anything back.
    here.lock().shared_window = None;
    get(&there).await.succeeded();
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn what_one_process_is_refused_all_learn() {
    let (_directory, here, there) = two(8);
    let mut permits = Vec::new();
    for _ in 0..4 {
        permits.extend([get(&here).await, get(&there).await]);
    }
    permits.pop().unwrap().refused(Duration::from_secs(1));
    let closed = there.admit(NORMAL, Duration::from_millis(10), &UnlimitedCalls, &NoDeltas).await;
    assert!(matches!(closed, Err(AdmissionFailure::For(_))), "the pause holds here too");
    let closed = here.admit(NORMAL, Duration::from_millis(10), &UnlimitedCalls, &NoDeltas).await;
    assert!(matches!(closed, Err(AdmissionFailure::For(_))), "and there");
    assert_eq!((here.lock().window.limit(), there.lock().window.limit()), (4, 4));
}

/// Waits that were told to a waiting call.
#[derive(Default)]
struct ToldPauses(Mutex<Vec<Duration>>);

impl DeltaSink for ToldPauses {
    fn alive(&self) {}

    fn delta(&self, delta: Delta<'_>) {
        let Delta::Paused { wait } = delta else { panic!("{delta:?}") };
        self.0.lock().unwrap().push(wait);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_told_how_long_the_provider_makes_it_wait_and_again_when_that_grows() {
    let (governor, told) = (RateGovernor::new(4), Arc::new(ToldPauses::default()));
    governor.pause_for(Duration::from_secs(4));
    let waiting = tokio::spawn({
        let (governor, told) = (governor.clone(), told.clone());
        async move { governor.admit(NORMAL, PATIENCE, &UnlimitedCalls, &*told).await.is_ok() }
    });
    settle().await;
    governor.pause_for(Duration::from_millis(4_500));
    settle().await;
    governor.pause_for(Duration::from_secs(9));
    assert!(waiting.await.unwrap());
    assert_eq!(*told.0.lock().unwrap(), [Duration::from_secs(4), Duration::from_secs(9)]);
}
