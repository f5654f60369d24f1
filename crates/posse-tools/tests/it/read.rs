use proptest::prelude::*;
use serde_json::json;

use crate::support::Place;

#[test]
fn a_file_is_shown_with_line_numbers() {
    let place = Place::new(&[("a.txt", "one\ntwo\n\nfour")]);
    let text = place.task().ok("read", json!({"path": "a.txt"}));
    assert_eq!(text, "     1\tone\n     2\ttwo\n     3\t\n     4\tfour");
}

#[test]
fn a_page_says_what_remains_and_how_to_read_on() {
    let place = Place::new(&[("a.txt", "1\n22\n333\n4444\n55555\n")]);
    let task = place.task();
    assert_eq!(
        task.ok("read", json!({"path": "a.txt", "offset": 2, "limit": 2.0})),
        "     2\t22\n     3\t333\n[lines 2-3 of 5 shown; 2 lines (11 bytes) remain; to read on: \
         {\"path\":\"a.txt\",\"offset\":4}]"
    );
    assert_eq!(task.ok("read", json!({"path": "a.txt", "offset": 4})), "     4\t4444\n     5\t55555");
    task.refused(
        "read",
        json!({"path": "a.txt", "offset": 6}),
        "`offset` 6 is past the end: `a.txt` has 5 lines",
    );
    task.refused("read", json!({"path": "a.txt", "limit": 0}), "leave it out");
    task.refused("read", json!({"path": "a.txt", "lines": 3}), "it takes: limit, offset, path");
    task.refused("read", json!({"path": "a.txt", "offset": -3}), "not negative");
}

#[test]
fn what_cannot_be_shown_plainly_is_said() {
    let place = Place::new(&[("empty", ""), ("crlf", "a\r\nb\r\n"), ("directory/x", "")]);
    place.put("binary", b"\x7fELF\0\0");
    place.put("latin", b"caf\xe9\n");
    place.put("long", format!("{}\nend\n", "é".repeat(3000)));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.root.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let task = place.task();
    assert_eq!(task.ok("read", json!({"path": "empty"})), "[`empty` is an empty file]");
    assert_eq!(
        task.ok("read", json!({"path": "binary"})),
        "[`binary` is a binary file of 6 bytes; it cannot be shown as text]"
    );
    let latin = task.ok("read", json!({"path": "latin"}));
    assert_eq!(latin, "     1\tcaf\u{fffd}\n[some bytes are not UTF-8 and are shown as \u{fffd}]");
    let crlf = task.ok("read", json!({"path": "crlf"}));
    assert!(crlf.starts_with("     1\ta\n     2\tb\n[lines end in CRLF"), "{crlf:?}");
    let long = task.ok("read", json!({"path": "long"}));
    let expected =
        format!("     1\t{} [line cut: 2,000 of 6,000 bytes shown]\n     2\tend", "é".repeat(1000));
    assert_eq!(long, expected);
    task.refused("read", json!({"path": "directory"}), "use the tool `ls`");
    task.refused("read", json!({"path": "pipe"}), "not a regular file");
    task.refused("read", json!({"path": "absent"}), "there is no `absent`");
}

#[test]
fn a_huge_file_is_paged_without_being_loaded() {
    let place = Place::new(&[]);
    let size: u64 = 300 * 1024 * 1024;
    // The rest is a hole, one line of NUL bytes; the beginning fills the part that is probed for binary content.
    for (name, size) in [("big", size), ("hole", 64 * 1024 * 1024)] {
        place.put(name, "first\nsecond\n".repeat(1000) + "third\n");
        let file = std::fs::OpenOptions::new().write(true).open(place.root.join(name)).unwrap();
        file.set_len(size).unwrap();
    }
    let task = place.task();
    let before = peak_memory_kb();
    let text = task.ok("read", json!({"path": "big", "limit": 2}));
    let remain = size - 13;
    let remain =
        format!("{},{:03},{:03} bytes remain", remain / 1_000_000, remain / 1000 % 1000, remain % 1000);
    assert!(text.contains(&remain), "{text}");
    // The hole as a line: passed over in a stream, cut in the answer.
    let text = task.ok("read", json!({"path": "hole", "offset": 2002, "limit": 1}));
    let cut = format!("[line cut: 2,000 of {},{:03},{:03} bytes shown]", 67, 95, 858);
    assert!(text.contains(&cut), "{text}");
    assert!(text.len() < 5000);
    let grown = peak_memory_kb() - before;
    assert!(grown < 32 * 1024, "the peak of memory grew by {grown} kB");
    task.refused(
        "edit",
        json!({"path": "big", "old_string": "first", "new_string": "x"}),
        "too large to edit",
    );
}

#[test]
fn a_cancelled_read_ends() {
    let place = Place::new(&[("a.txt", "text")]);
    let task = place.task();
    task.cancel.cancel();
    task.refused("read", json!({"path": "a.txt"}), "the call was cancelled");
}

fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Paging from the beginning by following the notes shows every line once, and every note is exact.
    #[test]
    fn following_the_notes_shows_the_whole_file(
        lines in prop::collection::vec("[a-zé ]{0,120}", 1..300),
        room in 0usize..6000,
        limit in 20u64..200,
    ) {
        let content = lines.join("\n") + "\n";
        let place = Place::new(&[("a.txt", &content)]);
        let mut task = place.task();
        task.room = room;
        let (mut offset, mut shown) = (1, Vec::new());
        loop {
            let text = task.ok("read", json!({"path": "a.txt", "offset": offset, "limit": limit}));
            prop_assert!(text.len() <= room.max(2048), "{} bytes for {}", text.len(), room);
            let (page, note) = match text.rsplit_once("\n[lines ") {
                Some((page, note)) => (page, Some(note)),
                None => (text.as_str(), None),
            };
            let page: Vec<&str> = page.split('\n').map(|line| line.split_once('\t').unwrap().1).collect();
            prop_assert!(!page.is_empty() && page.len() as u64 <= limit);
            shown.extend(page.into_iter().map(str::to_owned));
            let Some(note) = note else { break };
            let rest = &lines[shown.len()..];
            let bytes: usize = rest.iter().map(|line| line.len() + 1).sum();
            let plural = |n: usize, noun: &str| format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" });
            let expected = format!("{} ({}) remain", plural(rest.len(), "line"), plural(bytes, "byte"));
            prop_assert!(note.contains(&expected), "{} not in {}", expected, note);
            offset = shown.len() + 1;
        }
        prop_assert_eq!(shown, lines);
    }
}

fn grouped(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", n / 1000, n % 1000) }
}

/// The schema is checked before a tool is called: what only the tool would take, no model could ever send.
#[test]
fn a_tool_takes_no_arguments_that_its_schema_refuses() {
    let place = Place::new(&[("a.txt", "one\n")]);
    let task = place.task();
    for (tool, arguments) in [
        ("read", json!({"file_path": "a.txt"})),
        ("read", json!({"path": "a.txt", "limit": "2"})),
        ("read", json!({"path": "a.txt", "offset": null})),
        ("write", json!({"file_path": "b.txt", "content": ""})),
        ("edit", json!({"path": "a.txt", "old_string": "a", "new_string": "b", "replace_all": "true"})),
        ("grep", json!({"pattern": "o", "case_insensitive": "true"})),
        ("grep", json!({"pattern": "o", "output_mode": "files_with_matches"})),
        ("directory_tree", json!({"depth": ""})),
        ("skill", json!({"skill": "x"})),
    ] {
        task.refused(tool, arguments, &format!("wrong arguments for `{tool}`"));
    }
}
