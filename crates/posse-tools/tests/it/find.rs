use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use serde_json::json;

use crate::support::Place;

fn project() -> Place {
    let place = Place::new(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        (".github/ci.yml", "needle"),
        (".git/config", "needle"),
        (".git/info/exclude", "excluded.txt\n"),
        ("b.rs", "fn needle() {}\nfn other() {}\n"),
        ("a/one.txt", "x\nNeedle here\ny\nneedle\n"),
        ("a/.ignore", "private.txt\n"),
        ("a/private.txt", "needle"),
        ("excluded.txt", "needle"),
        ("keep.log", "needle"),
        ("noise.log", "needle"),
        ("target/out.rs", "needle"),
    ]);
    place.put("binary.bin", b"needle\0needle");
    place
}

/// No file tool hands its arguments to a program, so nothing in them is an option.
#[test]
fn what_begins_with_a_dash_is_a_text_like_any_other() {
    let place = Place::new(&[("-rf/--pre", "--pre=./x\n-e\n"), ("x", "no")]);
    let task = place.task();
    let found = task.call("grep", json!({"pattern": "--pre=./x"}));
    assert!(!found.is_error && found.text.contains("-rf/--pre"), "{}", found.text);
    let found = task.call("glob", json!({"pattern": "-rf/*"}));
    assert!(!found.is_error && found.text.contains("--pre"), "{}", found.text);
    for (tool, path) in [("read", "-rf/--pre"), ("ls", "-rf"), ("directory_tree", "-rf")] {
        let found = task.call(tool, json!({ "path": path }));
        assert!(!found.is_error && found.text.contains("--pre"), "{tool}: {}", found.text);
    }
}

#[test]
fn grep_shows_matches_in_the_order_of_paths_and_respects_ignore_files() {
    let place = project();
    let task = place.task();
    assert_eq!(
        task.ok("grep", json!({"pattern": "needle"})),
        "a/one.txt\n4:needle\nb.rs\n1:fn needle() {}\nkeep.log\n1:needle\n[skipped 1 binary file]"
    );
    for (arguments, expected) in [
        (json!({"pattern": "needle", "glob": "*.rs"}), "b.rs\n1:fn needle() {}"),
        (json!({"pattern": "needle", "type": "rust"}), "b.rs\n1:fn needle() {}"),
        (json!({"pattern": "needle", "glob": ".github/**"}), ".github/ci.yml\n1:needle"),
        (json!({"pattern": "needle", "path": "target"}), "target/out.rs\n1:needle"),
        (json!({"pattern": "needle", "path": "noise.log"}), "noise.log\n1:needle"),
        (
            json!({"pattern": "needle", "path": "a", "case_insensitive": true}),
            "a/one.txt\n2:Needle here\n4:needle",
        ),
        (json!({"pattern": "Needle", "path": "a", "context": 1}), "a/one.txt\n1-x\n2:Needle here\n3-y"),
        (json!({"pattern": "needle", "output_mode": "files", "glob": "!*.bin"}), "a/one.txt\nb.rs\nkeep.log"),
        (json!({"pattern": "fn", "output_mode": "count", "glob": "*.rs"}), "b.rs: 2"),
        (json!({"pattern": "absent", "path": "a"}), "[no match for `absent`]"),
        (
            json!({"pattern": "needle", "path": "binary.bin"}),
            "[no match for `needle`]\n[skipped 1 binary file]",
        ),
    ] {
        assert_eq!(task.ok("grep", arguments.clone()), expected, "{arguments}");
    }
    task.refused("grep", json!({"pattern": "fn main("}), "unclosed group");
    task.refused("grep", json!({"pattern": "a\\nb"}), "never spans lines");
    task.refused("grep", json!({"pattern": "x", "type": "klingon"}), "no file type `klingon`");
    task.refused("grep", json!({"pattern": "x", "path": "nowhere"}), "there is no `nowhere`");
    task.refused("grep", json!({"pattern": "x", "glob": "a{b"}), "not a glob");
}

#[test]
fn anchors_match_at_the_ends_of_every_line() {
    let place = Place::new(&[("a", "one\r\ntwo\r\n"), ("b", "one\ntwo\nthree")]);
    let task = place.task();
    assert_eq!(task.ok("grep", json!({"pattern": "^one$"})), "a\n1:one\nb\n1:one");
    assert_eq!(task.ok("grep", json!({"pattern": "^two$"})), "a\n2:two\nb\n2:two");
    assert_eq!(task.ok("grep", json!({"pattern": "^three$"})), "b\n3:three");
}

#[test]
fn a_nested_repository_has_its_own_rules() {
    let place = Place::new(&[
        (".gitignore", "*.txt\n"),
        (".git/HEAD", ""),
        ("a.txt", ""),
        ("inner/.git/HEAD", ""),
        ("inner/b.txt", ""),
        ("plain/c.txt", ""),
    ]);
    assert_eq!(place.task().ok("glob", json!({"pattern": "*.txt"})), "inner/b.txt");
}

#[test]
fn a_cancelled_search_says_that_it_is_incomplete() {
    let place = project();
    let task = place.task();
    task.cancel.cancel();
    let text = task.ok("grep", json!({"pattern": "needle"}));
    assert!(text.contains("cancelled before the end"), "{text}");
    assert!(!text.contains("b.rs"), "{text}");
}

#[test]
fn glob_lists_the_newest_first() {
    let place = project();
    let old = SystemTime::now() - Duration::from_secs(1000);
    std::fs::File::options().append(true).open(place.root.join("b.rs")).unwrap().set_modified(old).unwrap();
    place.put("src/c.rs", "");
    let task = place.task();
    let root = place.root.to_str().unwrap();
    for (arguments, expected) in [
        (json!({"pattern": "*.rs"}), "src/c.rs\nb.rs"),
        (json!({"pattern": "**/*.rs"}), "src/c.rs\nb.rs"),
        (json!({"pattern": "./src/*.rs"}), "src/c.rs"),
        (json!({"pattern": "*.rs", "path": "src"}), "src/c.rs"),
        (json!({"pattern": format!("{root}/src/*"), "path": "src"}), "src/c.rs"),
        (json!({"pattern": ".github/*"}), ".github/ci.yml"),
        (json!({"pattern": "*.none"}), "[no file matches `*.none`]"),
    ] {
        assert_eq!(task.ok("glob", arguments.clone()), expected, "{arguments}");
    }
    task.refused("glob", json!({"pattern": "../*"}), "`..`");
    task.refused("glob", json!({"pattern": "/etc/*"}), "outside the workspace");
    task.refused("glob", json!({"pattern": "a["}), "not a glob");
}

#[test]
fn ls_and_tree_show_what_is_there() {
    let place = Place::new(&[
        ("b/c/d/e.txt", ""),
        ("a.txt", "12"),
        (".hidden", ""),
        ("x.log", ""),
        (".gitignore", "*.log"),
    ]);
    place.link("a.txt", "link");
    place.put("new\nline", "");
    let task = place.task();
    assert_eq!(
        task.ok("ls", json!({})),
        "b/\n.gitignore  5 bytes\n.hidden  0 bytes\na.txt  2 bytes\nlink -> a.txt\nnew\\nline  0 bytes\nx.log  0 bytes"
    );
    assert_eq!(
        task.ok("directory_tree", json!({"depth": 2})),
        "./\n  a.txt\n  b/\n    c/ …\n  link@\n  new\\nline\n[1 directory at depth 2 not opened (marked …)]"
    );
    assert_eq!(task.ok("directory_tree", json!({"path": "b/c"})), "b/c/\n  d/\n    e.txt");
    task.refused("ls", json!({"path": "a.txt"}), "should be a directory");
    std::fs::create_dir(place.root.join("empty")).unwrap();
    assert_eq!(task.ok("ls", json!({"path": "empty"})), "[`empty` is an empty directory]");
}

/// The number before ` more` in the last notes, 0 without one.
fn left_out(text: &str, noun: &str) -> usize {
    let Some(note) = text.lines().find(|line| line.starts_with("[… ")) else { return 0 };
    let number = note.trim_start_matches("[… ").split(' ').next().unwrap().replace(',', "");
    assert!(note.contains(noun), "{note}");
    number.parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_shown_and_what_is_noted_make_the_whole(
        files in prop::collection::vec(0usize..60, 1..40),
        room in 0usize..8000,
        limit in 1usize..300,
        width in 1usize..600,
    ) {
        let place = Place::new(&[]);
        for (number, lines) in files.iter().enumerate() {
            place.put(&format!("file-{number:03}.txt"), format!("{}\n", "x".repeat(width)).repeat(*lines));
        }
        let mut task = place.task();
        task.room = room;
        let bound = room.max(2048);
        let total: usize = files.iter().sum();

        let text = task.ok("grep", json!({"pattern": "x+", "head_limit": limit}));
        prop_assert!(text.len() <= bound, "grep: {} > {}", text.len(), bound);
        let shown = text.lines().filter(|line| line.contains(":xx") || line.ends_with(":x")).count();
        prop_assert!(shown <= limit);
        prop_assert_eq!(shown + left_out(&text, "match"), total, "{}", text);

        let with_lines = files.iter().filter(|lines| **lines > 0).count();
        let text = task.ok("grep", json!({"pattern": "x", "head_limit": limit, "output_mode": "files"}));
        let shown = text.lines().filter(|line| line.starts_with("file-")).count();
        prop_assert!(text.len() <= bound && shown <= limit);
        prop_assert_eq!(shown + left_out(&text, "file"), with_lines);

        for (tool, arguments, noun) in [
            ("glob", json!({"pattern": "*"}), "file"),
            ("ls", json!({}), "entr"),
            ("directory_tree", json!({}), "entr"),
        ] {
            let text = task.ok(tool, arguments);
            prop_assert!(text.len() <= bound, "{}: {} > {}", tool, text.len(), bound);
            let shown = text.lines().filter(|line| line.trim_start().starts_with("file-")).count();
            prop_assert_eq!(shown + left_out(&text, noun), files.len(), "{}", text);
        }
    }
}

#[test]
fn long_lists_are_bounded() {
    let place = Place::new(&[]);
    for number in 0..650 {
        place.put(&format!("f{number:03}"), "");
    }
    let task = place.task();
    for (tool, arguments, shown, note) in [
        ("glob", json!({"pattern": "*"}), 200, "[… 450 files more, changed less recently"),
        ("ls", json!({}), 500, "[… 150 entries more"),
        ("directory_tree", json!({}), 400, "[… 250 entries more"),
    ] {
        let text = task.ok(tool, arguments);
        assert_eq!(text.lines().filter(|line| line.trim_start().starts_with('f')).count(), shown, "{tool}");
        assert!(text.contains(note), "{tool}: {text}");
    }
}
