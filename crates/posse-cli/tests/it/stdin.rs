//! Standard input of `posse run`: material for the task, and never a reason to hang.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;

use crate::support::{Place, Ran, Running};

fn run(place: &Place, input: impl Into<Stdio>) -> Ran {
    let model = place.script("- text: Done.\n");
    let mut command = place.posse(["run", "--model", &model, "What", "failed?"]);
    command.stdin(input);
    let ran = Ran::of(command);
    assert!(ran.code == 0 && ran.stdout == "Done.\n", "{ran:?}");
    ran
}

/// The task as the model got it.
fn task(place: &Place) -> String {
    let id = place.tasks()[0]["task_id"].as_str().unwrap().to_owned();
    place.journal(&id)[0].to_string()
}

#[test]
fn what_is_piped_in_is_material_for_the_task() {
    let place = Place::new();
    // The pipe holds all of it before anybody reads.
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"step 1\nboom at 2\n").unwrap();
    drop(writer);
    let ran = run(&place, reader);
    assert!(ran.stderr.contains("17 B from standard input go with the task"), "{ran:?}");
    let told = task(&place);
    assert!(told.contains("What failed?") && told.contains("boom at 2"), "{told}");
    assert!(told.contains("standard input"), "{told}");
    assert!(place.tasks()[0]["title"].as_str().unwrap().starts_with("What failed?"));
}

#[test]
fn an_open_pipe_that_nobody_writes_to_does_not_hold_up_a_run_and_that_is_said() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let ran = run(&place, reader);
    assert!(ran.stderr.contains("nothing came within 1 s"), "{ran:?}");
    assert!(!task(&place).contains("standard input"));
    drop(writer);
    // Neither an empty pipe nor no input at all is worth a word.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(writer);
    for silent in [run(&place, reader), run(&place, Stdio::null())] {
        assert!(!silent.stderr.contains("standard input"), "{silent:?}");
    }
}

#[test]
fn a_dash_after_the_task_waits_for_the_end_of_standard_input() {
    let place = Place::new();
    let model = place.script("- text: Done.\n");
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut command = place.posse(["run", "--model", &model, "What", "failed?", "-"]);
    command.stdin(reader);
    let mut running = Running::start(command);
    // Longer than a pipe has otherwise.
    assert!(!running.ends_within(std::time::Duration::from_millis(1_500)));
    writer.write_all(b"late news").unwrap();
    drop(writer);
    let ran = running.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = task(&place);
    assert!(told.contains("late news") && !told.contains("failed? -"), "{told}");
}

#[test]
fn too_much_material_is_cut_in_the_middle_and_both_are_told() {
    let place = Place::new();
    let log = place.write("log.txt", &format!("FIRST\n{}LAST\n", "noise\n".repeat(200_000)));
    let ran = run(&place, File::open(log).unwrap());
    assert!(ran.stderr.contains("1.2 MB on standard input: the beginning and the end"), "{ran:?}");
    let told = task(&place);
    assert!(told.contains("FIRST") && told.contains("LAST") && told.len() < 400_000, "{}", told.len());
    assert!(told.contains("the beginning and the end of 1200011 bytes"));
}
