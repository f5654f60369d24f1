//! Fuzzes the readers of definitions with damaged and generated input: `fuzz <frontmatter|tool_pattern>
//! [--seconds N] [--seed S] [--from I]`. The same seed tries the same inputs. The index of an input is
//! written to disk before the attempt, so that one that overflows the stack is known as well. `cargo xtask
//! fuzz` runs both targets.

use std::io::{Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fastrand::Rng;
use posse_core::definition::{DESCRIPTION_CHARS_MAX, Definition, DefinitionScope, Format};
use posse_core::grant::{Decision, Grant, RequestedCall, Rights};
use posse_core::pattern::ToolPattern;
use posse_core::tool::ToolEffect;
use posse_definitions::{DefinitionFile, export, read};

/// Maximum input size and time per input: far above what linear work needs in a debug build.
const INPUT_BYTES_MAX: usize = 64 << 10;
const INPUT_TIME_MAX: Duration = Duration::from_secs(10);

/// Tokens that mean something to YAML, TOML, the formats or the patterns.
const TOKENS: &[&str] = &[
    "---\n",
    "\n",
    "\r\n",
    ": ",
    ":\n",
    "- ",
    "  ",
    "\t",
    "#",
    " # ",
    "&a ",
    "*a",
    "<<: *a\n",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "!!binary ",
    "!!str ",
    "? ",
    "%YAML 1.2\n",
    "...\n",
    "\u{feff}",
    "\0",
    "\u{202e}",
    "\u{1f600}",
    "\\0\"",
    "\\r\\n",
    "\\u0007",
    "\r",
    "null",
    "~",
    "true",
    "yes",
    "0x1F",
    "1e999",
    ".nan",
    "-1",
    "99999999999999999999",
    "../",
    "/",
    "\\",
    "{{task}}",
    "name: ",
    "description: ",
    "tools: ",
    "disallowedTools: ",
    "disallowed_tools: ",
    "permission:\n  ",
    "permissionMode: plan\n",
    "mode: subagent\n",
    "model: ",
    "access: read-only\n",
    "network: none\n",
    "write_paths: ",
    "extends: ",
    "budget: {",
    "kind: remote\n",
    "agents: ",
    "sandbox_mode = \"read-only\"\n",
    "developer_instructions = \"",
    "[a.b]\n",
    "Read, ",
    "Bash(git *)",
    "Bash(npm:*)",
    "Agent(a, b)",
    "mcp__x__*",
    "mcp_x_*",
    "x/*",
    "*",
    "allow",
    "deny",
    "ask",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    let seconds = value("--seconds").unwrap_or(60);
    let seed = value("--seed").unwrap_or_else(|| fastrand::u64(..));
    let target: fn(&Input, &mut Rng) = match arguments.first().map(String::as_str) {
        Some("frontmatter") => frontmatter,
        Some("tool_pattern") => tool_pattern,
        _ => {
            eprintln!("fuzz <frontmatter|tool_pattern> [--seconds N] [--seed S] [--from I]");
            return ExitCode::from(2);
        }
    };
    let name = &arguments[0];
    let number = beside_this_program(&format!("{name}.number"));
    eprintln!("{name}: {seconds} s with seed {seed}");
    eprintln!("should it end without a word, add `--from` and the number in {}", number.display());
    let from = value("--from").unwrap_or(0);
    let Ok(mut number) = std::fs::File::create(number) else {
        eprintln!("the number cannot be written");
        return ExitCode::FAILURE;
    };
    match run(name, target, Duration::from_secs(seconds), seed, from, &mut number) {
        Ok(tried) => {
            eprintln!("{name}: {tried} inputs, none broke it");
            ExitCode::SUCCESS
        }
        Err((index, path)) => {
            eprintln!("{name}: input {index} of seed {seed} broke it; it is in {}", path.display());
            ExitCode::FAILURE
        }
    }
}

fn run(
    name: &str,
    target: fn(&Input, &mut Rng),
    time: Duration,
    seed: u64,
    from: u64,
    number: &mut (impl Write + Seek),
) -> Result<u64, (u64, PathBuf)> {
    let corpus = corpus();
    let started = Instant::now();
    let mut index = from;
    while started.elapsed() < time {
        // Each input has its own generator, so that it does not depend on earlier ones.
        let mut rng = Rng::with_seed(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let input = invent(&corpus, &mut rng);
        // A fixed number of digits overwrites the previous index; without it the seed alone still identifies
        // the run.
        let _ = number.rewind().and_then(|()| write!(number, "{index:020}"));
        let before = Instant::now();
        let good = catch_unwind(AssertUnwindSafe(|| target(&input, &mut rng))).is_ok();
        if !good || before.elapsed() > INPUT_TIME_MAX {
            let path = beside_this_program(&format!("{name}.input"));
            // The index and the seed reproduce the input.
            let _ = std::fs::write(&path, &input.bytes);
            return Err((index, path));
        }
        index += 1;
    }
    Ok(index - from)
}

fn beside_this_program(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.with_file_name(format!("fuzz-{name}"))
}

/// A file with its format and name.
#[derive(Clone)]
struct Input {
    bytes: Vec<u8>,
    format: Option<Format>,
    relative: String,
}

/// Loads the test fixtures as the corpus.
fn corpus() -> Vec<Input> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for format in Format::ALL {
        let mut pending = vec![root.join(format.wire())];
        while let Some(at) = pending.pop() {
            let entries = std::fs::read_dir(at).into_iter().flatten().flatten();
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            // Directory order differs between systems; the inputs of a seed must not.
            paths.sort();
            for path in paths {
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension().is_none_or(|extension| extension != "report") {
                    let relative = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    let bytes = std::fs::read(path).unwrap_or_default();
                    found.push(Input { bytes, format: Some(*format), relative });
                }
            }
        }
    }
    assert!(found.len() > 50, "the fixtures are the material");
    found
}

fn invent(corpus: &[Input], rng: &mut Rng) -> Input {
    let mut input = corpus[rng.usize(..corpus.len())].clone();
    if rng.u8(..) < 32 {
        input.bytes = invented_file(rng);
        input.relative = "a.md".to_owned();
    }
    if rng.u8(..) < 64 {
        input.format = Some(Format::ALL[rng.usize(..Format::ALL.len())]).filter(|_| rng.bool());
    }
    for _ in 0..rng.usize(0..8) {
        damage(&mut input.bytes, corpus, rng);
    }
    input.bytes.truncate(INPUT_BYTES_MAX);
    input
}

/// Generates keys with values made of tokens.
fn invented_file(rng: &mut Rng) -> Vec<u8> {
    let mut text = "---\nname: a\ndescription: d\n".to_owned();
    for _ in 0..rng.usize(0..6) {
        for _ in 0..rng.usize(1..6) {
            text.push_str(TOKENS[rng.usize(..TOKENS.len())]);
        }
        text.push('\n');
    }
    text.push_str("---\nBody\n");
    text.into_bytes()
}

fn damage(input: &mut Vec<u8>, corpus: &[Input], rng: &mut Rng) {
    let at = rng.usize(..=input.len());
    let to = rng.usize(at..=input.len().min(at + 64));
    let token = TOKENS[rng.usize(..TOKENS.len())].as_bytes();
    match rng.u8(..8) {
        0 => drop(input.splice(at..to, [])),
        1 => drop(input.splice(at..at, token.iter().copied())),
        2 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = rng.u8(..);
            }
        }
        3 => {
            let piece = input[at..to].repeat(rng.usize(1..40));
            input.splice(at..at, piece);
        }
        4 => drop(input.splice(at..to, token.repeat(rng.usize(1..200)))),
        5 => {
            let other = &corpus[rng.usize(..corpus.len())].bytes;
            let from = rng.usize(..=other.len());
            input.truncate(at);
            input.extend(&other[from..]);
        }
        6 => {
            let mut lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
            if lines.len() > 1 {
                let (one, two) = (rng.usize(..lines.len()), rng.usize(..lines.len()));
                lines.swap(one, two);
            }
            *input = lines.concat();
        }
        _ => input.truncate(at),
    }
}

/// Checks that any input gives a definition or an error, and that exports can be read back.
fn frontmatter(input: &Input, rng: &mut Rng) {
    let Input { bytes, format, relative } = input;
    let reads = read(DefinitionFile {
        path: relative,
        relative,
        format: *format,
        scope: DefinitionScope::User,
        bytes,
    });
    assert!(!reads.is_empty(), "no file disappears");
    for read in reads {
        assert_eq!(read.definition.is_none(), read.errors().next().is_some(), "{:?}", read.remarks);
        assert!(read.fields.len() <= 256);
        if let Some(definition) = &read.definition {
            assert!(definition.description.len() <= 8 << 10);
            for to in Format::ALL {
                gives_no_more(definition, *to);
            }
            round_trip(definition.clone());
        }
    }
    lists_and_commas(rng);
}

/// Checks that an exported and reread definition allows nothing new, unless the export reports the loss.
fn gives_no_more(before: &Definition, to: Format) {
    const CALLS: &[(&str, &str, ToolEffect)] = &[
        ("read", r#"{"path":"src/a.rs"}"#, ToolEffect::Pure),
        ("write", r#"{"path":"docs/a.md"}"#, ToolEffect::Idempotent),
        ("edit", r#"{"path":"src/a.rs"}"#, ToolEffect::Unsafe),
        ("bash", r#"{"command":"git status"}"#, ToolEffect::Unsafe),
        ("bash", r#"{"command":"git push origin"}"#, ToolEffect::Unsafe),
        ("subagent", r#"{"agent":"tester"}"#, ToolEffect::Unsafe),
        ("mcp__x__y", "{}", ToolEffect::Unsafe),
    ];
    let written = export(before, to);
    let file = DefinitionFile {
        path: &written.file_name,
        relative: &written.file_name,
        format: Some(to),
        scope: DefinitionScope::User,
        bytes: written.text.as_bytes(),
    };
    let Some(after) = read(file).remove(0).definition else { return };
    if written.excess.is_some() {
        return;
    }
    let root = Grant::root(CALLS.iter().map(|(tool, ..)| (*tool).to_owned()), 3);
    for (tool, arguments, effect) in CALLS {
        let allowed = |d: &Definition| {
            let call = RequestedCall { tool, effect: *effect, arguments, workspace: "" };
            root.narrow(&d.rights).decide(call) == Decision::Allow
        };
        // A format without a tool list can at most say that an agent is read-only.
        let least = matches!(to, Format::Codex | Format::Cursor) && matches!(*tool, "read" | "subagent");
        assert!(
            allowed(before) || !allowed(&after) || least,
            "{tool} {arguments} in {}: {}",
            to.wire(),
            written.text
        );
    }
}

fn round_trip(mut definition: Definition) {
    let characters = definition.description.chars().count();
    if definition.description.is_empty() || characters > DESCRIPTION_CHARS_MAX {
        return;
    }
    definition.rights.rules.clear();
    let written = export(&definition, Format::Native);
    let file = DefinitionFile {
        path: &written.file_name,
        relative: &written.file_name,
        format: Some(Format::Native),
        scope: DefinitionScope::User,
        bytes: written.text.as_bytes(),
    };
    let Some(mut back) = read(file).remove(0).definition else {
        panic!("what was written is not read: {}", written.text);
    };
    definition.kept.extra.clear();
    definition.model.options.clear();
    definition.kept.display_name = None;
    definition.mode.disabled = false;
    back.origin = definition.origin.clone();
    back.kept.tools_written = definition.kept.tools_written.clone();
    assert_eq!(back, definition, "{}", written.text);
}

/// Checks that a tool list and its comma-separated text give the same result.
fn lists_and_commas(rng: &mut Rng) {
    const ENTRIES: &[&str] = &[
        "Read",
        "edit",
        "Bash(git *)",
        "Bash(a, b)",
        "Agent(a, b)",
        "mcp__x",
        "mcp__x__*",
        "search",
        "*",
        "Nothing",
        "a.b/c",
    ];
    let entries: Vec<&str> = (0..rng.usize(1..6)).map(|_| ENTRIES[rng.usize(..ENTRIES.len())]).collect();
    let rights = |tools: &str| -> Rights {
        let text = format!("---\nname: a\ndescription: d\ntools: {tools}\n---\nBody\n");
        let file = DefinitionFile {
            path: "a.md",
            relative: "a.md",
            format: Some(Format::Claude),
            scope: DefinitionScope::User,
            bytes: text.as_bytes(),
        };
        read(file).remove(0).definition.expect("entries that can be read").rights
    };
    let quoted: Vec<String> = entries.iter().map(|entry| format!("\"{entry}\"")).collect();
    assert_eq!(rights(&format!("[{}]", quoted.join(", "))), rights(&format!("\"{}\"", entries.join(", "))));
}

/// Checks that a pattern is parsed or rejected, that it round-trips, and that denying it leaves less.
fn tool_pattern(input: &Input, rng: &mut Rng) {
    let text = String::from_utf8_lossy(&input.bytes);
    let lines: Vec<&str> = text.lines().collect();
    let line = if lines.is_empty() { "" } else { lines[rng.usize(..lines.len())] };
    let from = line.ceil_char_boundary(rng.usize(..=line.len()));
    let made: String = (0..rng.usize(1..6)).map(|_| PIECES[rng.usize(..PIECES.len())]).collect();
    for raw in [&text, line, &line[from..], &made] {
        let Ok(patterns) = ToolPattern::parse(raw) else { continue };
        assert!(!patterns.is_empty(), "{raw:?}");
        for pattern in patterns {
            assert_eq!(ToolPattern::try_from(pattern.to_string()).ok().as_ref(), Some(&pattern), "{raw:?}");
            let again = ToolPattern::parse(&pattern.to_string()).unwrap_or_default();
            assert_eq!(again, std::slice::from_ref(&pattern), "{raw:?}");
            narrows(&pattern, line);
        }
    }
}

/// The parts of generated patterns.
const PIECES: &[&str] = &[
    "Bash", "Agent", "read", "search", "mcp__x__", "(", ")", "()", "(a", ",", " ", "*", "**", ":*", ":", "a",
    "b/", ".", "?", "é",
];

fn narrows(pattern: &ToolPattern, text: &str) {
    let root = Grant::root(["read", "bash", "subagent"].map(str::to_owned), 3);
    let with = root.keep(&Rights { tools: Some(vec![pattern.clone()]), ..Rights::default() });
    let without = root.keep(&Rights { deny: vec![pattern.clone()], ..Rights::default() });
    for (tool, key) in [("read", "path"), ("bash", "command"), ("subagent", "agent")] {
        let arguments = serde_json::json!({ key: text }).to_string();
        let call = RequestedCall { tool, effect: ToolEffect::Unsafe, arguments: &arguments, workspace: "" };
        let is_allowed = |grant: &Grant| grant.decide(call) == Decision::Allow;
        assert!(!(is_allowed(&with) && is_allowed(&without)), "{pattern} gives and takes {tool} {text:?}");
    }
}
