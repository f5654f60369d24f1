//! Cost of request bodies in a long conversation, beside plain ways to make them.
//!
//!     cargo run --release -p posse-models --example body_growth
//!
//! Plays 200 turns of 4 KB tool results in every wire format and prints the CPU time of a turn early, in the middle and late,
//! and of all turns. `extended` appends to the last body, `copied` does so after copying it, `rebuilt` serializes all
//! messages again. A whole call over the loopback extends; there the kernel copies the body.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use posse_core::agent::ModelSettings;
use posse_core::board::Urgency;
use posse_core::id::CallKey;
use posse_core::message::{Block, CallArguments, Message, ToolCall, ToolResult};
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_models::anthropic::Anthropic;
use posse_models::body::{self, BodyEncoder, EncodedBody};
use posse_models::gemini::Gemini;
use posse_models::http::{KeySource, ProviderEndpoint};
use posse_models::openai_chat::OpenAiChat;
use posse_models::openai_responses::OpenAiResponses;
use posse_runtime::ports::{Model, ModelMemo, ModelRequest, NoDeltas, ToolUse, UnlimitedCalls};

const TURNS: usize = 200;
const RESULT_BYTES: usize = 4096;

fn main() {
    let url = discarding_server();
    let endpoint = || ProviderEndpoint::new(url.clone(), KeySource::none());
    line(&format!("CPU microseconds per turn; {TURNS} turns, results of {RESULT_BYTES} bytes"));
    line(&format!("{:<40}{:>12}{:>12}{:>12}{:>14}", "", "turns 1-20", "91-110", "181-200", "all turns, ms"));
    measure("anthropic", &Anthropic::new(endpoint(), "m").expect("a good URL"));
    measure("openai_chat", &OpenAiChat::new(endpoint(), "m").expect("a good URL"));
    measure("openai_responses", &OpenAiResponses::new(endpoint(), "m").expect("a good URL"));
    measure("gemini", &Gemini::new(endpoint(), "m").expect("a good URL"));
}

fn measure<M: BodyEncoder + Model>(name: &str, model: &M) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    row(&format!("{name}: body, extended"), |talk| {
        drop(body::encode(model, &mut talk.request()));
    });
    let mut held: Option<EncodedBody> = None;
    row(&format!("{name}: body, copied"), |talk| {
        held = body::encode(model, &mut talk.request()).ok();
    });
    row(&format!("{name}: body, rebuilt"), |talk| {
        talk.memo = ModelMemo::default();
        drop(body::encode(model, &mut talk.request()));
    });
    // The reply is not what is measured, so a refusal to answer is as good as an answer.
    row(&format!("{name}: whole call over the loopback"), |talk| {
        let answer = runtime.block_on(model.call(talk.request(), &NoDeltas));
        assert!(answer.is_err_and(|failure| failure.status == Some(400)), "the server answers every request");
    });
}

fn row(name: &str, mut turn: impl FnMut(&mut Talk)) {
    // The best of several runs: everything else on the machine only adds.
    let (mut best, mut least) = ([f64::MAX; 3], f64::MAX);
    for _ in 0..5 {
        let mut talk = Talk::new();
        let mut spent = Vec::with_capacity(TURNS);
        for number in 0..TURNS {
            let before = cpu_ns();
            turn(&mut talk);
            spent.push(cpu_ns() - before);
            talk.push(number as u32);
        }
        least = least.min(spent.iter().sum::<u64>() as f64 / 1e6);
        // The first turn builds the head and is no measure of growth.
        for (best, window) in best.iter_mut().zip([1..20, 90..110, 180..200]) {
            let mut window = spent[window].to_vec();
            window.sort_unstable();
            *best = best.min(window[window.len() / 2] as f64 / 1000.0);
        }
    }
    line(&format!("{name:<40}{:>12.1}{:>12.1}{:>12.1}{least:>14.1}", best[0], best[1], best[2]));
}

struct Talk {
    tools: Vec<ToolSpec>,
    messages: Vec<Message>,
    settings: ModelSettings,
    memo: ModelMemo,
    result: String,
}

impl Talk {
    fn new() -> Self {
        let tool = ToolSpec {
            name: "lookup".to_owned(),
            description: "Looks a key up.".to_owned(),
            input_schema: r#"{"type":"object","properties":{"key":{"type":"string"}}}"#.to_owned(),
            effect: ToolEffect::Pure,
        };
        let row = "a row of text, as a tool returns it\n";
        Self {
            tools: vec![tool],
            messages: vec![Message::user("Look everything up.")],
            settings: ModelSettings::default(),
            memo: ModelMemo::default(),
            result: row.repeat(RESULT_BYTES / row.len() + 1)[..RESULT_BYTES].to_owned(),
        }
    }

    fn request(&mut self) -> ModelRequest<'_> {
        ModelRequest {
            system: "You look things up.",
            messages: &self.messages,
            tools: &self.tools,
            tool_use: ToolUse::Auto,
            output_tokens_max: 1000,
            settings: &self.settings,
            answered_by: posse_core::usage::ByModel::nobody(),
            unanswered: 0,
            generation: 0,
            memo: &mut self.memo,
            allowance: &UnlimitedCalls,
            urgency: Urgency::Interactive,
        }
    }

    fn push(&mut self, turn: u32) {
        let call = ToolCall {
            key: CallKey { turn, index: 0 },
            id: format!("call_{turn}"),
            name: "lookup".to_owned(),
            arguments: CallArguments::Object(format!(r#"{{"key":"{turn}"}}"#)),
            signature: None,
        };
        let result = ToolResult::new(&call, self.result.clone());
        self.messages.push(Message::Assistant { blocks: vec![Block::call(call)] });
        self.messages.push(Message::Results { results: vec![result] });
    }
}

/// Reads every request to its end and answers in a few bytes.
fn discarding_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback can be bound");
    let url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            std::thread::spawn(move || discard(socket));
        }
    });
    url
}

fn discard(socket: TcpStream) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut answers = socket.try_clone()?;
    let mut requests = BufReader::with_capacity(1 << 16, socket);
    let mut line = String::new();
    let mut length = 0;
    while requests.read_line(&mut line)? > 0 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line == "\r\n" {
            std::io::copy(&mut requests.by_ref().take(length), &mut std::io::sink())?;
            answers.write_all(b"HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n")?;
        }
        line.clear();
    }
    Ok(())
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
