//! What the README shows is what the program prints, but for ids, numbers and where the clone is.

use std::path::Path;
use std::process::Command;

use crate::support::Place;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The block of the README that begins with this command, without the command.
fn shown(command: &str) -> String {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let block =
        readme.split("```text\n").find(|block| block.starts_with(command)).expect("the README shows it");
    let block = block.split("```").next().unwrap();
    block.split_once('\n').unwrap().1.to_owned()
}

/// Ids and numbers differ from run to run.
fn normal(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let words = lines.map(|line| line.split_whitespace().map(normal_word).collect::<Vec<_>>().join(" "));
    words.collect()
}

fn normal_word(word: &str) -> String {
    if word.len() == 8
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && !["finished", "reported"].contains(&word)
    {
        return "ID".to_owned();
    }
    word.replace(|c: char| c.is_ascii_digit() || c == '.' || c == 'k', "")
}

#[test]
fn the_tour_prints_what_the_readme_shows() {
    let place = Place::new();
    let task = "How many Rust files are there, and where is the loop?";
    let output = Command::new(env!("CARGO_BIN_EXE_posse"))
        .args(["run", "--mode", "auto", "--model", "scripted:examples/tour.yaml", task, "--state"])
        .arg(place.state())
        .env("XDG_CACHE_HOME", place.root())
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success());
    let (progress, answer) =
        (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
    // A pipe has two ends: the answer is on standard output, before the last line of the progress.
    let (before, last) = progress.trim_end().rsplit_once('\n').unwrap();
    let root = repository().canonicalize().unwrap();
    let printed = format!("{before}\n{answer}{last}").replace(&format!("{}/", root.display()), "");
    let readme = shown(&format!("$ posse run --mode auto --model scripted:examples/tour.yaml \"{task}\""));
    // Which sandbox there is depends on the machine.
    let without_sandbox = |text: &str| {
        let (first, rest) = text.split_once('\n').unwrap();
        format!("{}\n{rest}", first.split_once(" · sandbox ").unwrap().0)
    };
    assert_eq!(normal(&without_sandbox(&printed)), normal(&without_sandbox(&readme)));
}
