//! Several processes with one key.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use posse_testkit::server::Server;
use posse_testkit::wire::{self, Say};
use serde_json::json;

use crate::support::{Place, Ran};

const PROCESSES: usize = 4;
const TURNS: usize = 6;
const AT_ONCE: usize = 2;
const CALL: Duration = Duration::from_millis(40);

#[tokio::test]
async fn processes_on_one_store_share_the_places_of_a_key() {
    let place = Place::new();
    let under_way = Arc::new(Mutex::new((Vec::<Instant>::new(), 0)));
    let seen = under_way.clone();
    let server = Server::handler(move |request| {
        let (now, mut state) = (Instant::now(), seen.lock().unwrap());
        state.0.retain(|until| *until > now);
        state.0.push(now + CALL);
        state.1 = state.1.max(state.0.len());
        let turn = wire::turn(request);
        let say = match turn < TURNS {
            true => Say::call("l", "glob", json!({"pattern": format!("*.{turn}")})),
            false => Say::text("done"),
        };
        say.answer(request).gap(0, CALL)
    })
    .await;
    let url = server.url();
    place.write(
        "home/.config/posse/config.toml",
        &format!(
            "[providers.local]\nwire = \"openai-compatible\"\nbase_url = \"{url}\"\nmax_in_flight = {AT_ONCE}\n"
        ),
    );
    let run = || Ran::beside(place.posse(["run", "--no-stream", "--model", "local:m", "Look"]));
    let mut ran: Vec<_> = (0..PROCESSES).map(|_| tokio::spawn(run())).collect();
    for ran in ran.drain(..) {
        let ran = ran.await.unwrap();
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let (requests, most) = (server.requests().len(), under_way.lock().unwrap().1);
    assert_eq!(requests, PROCESSES * (TURNS + 1));
    assert_eq!(most, AT_ONCE, "all places were used, and no more");
}
