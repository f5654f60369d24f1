//! Every requirement is checked by a test that names it, or waived with a reason.

use std::fs;

use xtask::requirements::{Marker, Table, markers, waived};

/// Lines are never taken out of the list.
const LINES: usize = 455;
/// A title is a reminder, not the requirement.
const TITLE_WORDS_MAX: usize = 12;

#[test]
fn markers_and_waivers_are_right_and_no_requirement_is_open() {
    let table = Table::load(crate::root()).unwrap();
    assert_eq!(table.faults, [""; 0]);
    assert!(table.open().is_empty(), "{}", table.render(true));
}

#[test]
fn the_list_is_whole_and_short() {
    let table = Table::load(crate::root()).unwrap();
    let ids: Vec<usize> = table.requirements.iter().map(|line| usize::from(line.id)).collect();
    assert_eq!(ids, (1..=LINES).collect::<Vec<_>>());
    for line in &table.requirements {
        let words = line.title.split_whitespace().count();
        assert!((1..=TITLE_WORDS_MAX).contains(&words), "R{:03} has {words} words", line.id);
    }
}

#[test]
fn a_marker_belongs_to_the_test_after_it_or_around_it() {
    let source = include_str!("requirements/marked.txt");
    let found: Vec<(Vec<u16>, Option<String>)> =
        markers(source, false).into_iter().map(|marker| (marker.ids, marker.test)).collect();
    let belongs = |ids: &[u16], test: &str| (ids.to_vec(), Some(test.to_owned()));
    let expected = [
        belongs(&[1, 2], "before"),
        belongs(&[3], "before"),
        belongs(&[5], "before"),
        (vec![6], None),
        (vec![7], None),
        belongs(&[8, 9, 10, 11], "ranges"),
        belongs(&[12], "deeper"),
        belongs(&[13], "deeper"),
        (vec![14], None),
    ];
    assert_eq!(found, expected);
    let in_a_suite = markers(source, true);
    assert!(in_a_suite[3..5].iter().all(|marker| marker.test.as_deref() == Some("helper")));
}

#[test]
fn a_waiver_names_ids_and_a_reason() {
    let (found, faults) =
        waived("| id | why |\n| R238-R240 | background |\n| R240 | again |\n| Rest | x |\n");
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [238, 239, 240]);
    assert_eq!(faults.len(), 2, "{faults:?}");
}

/// What the real check would say about a checkout with one of each fault.
#[test]
fn unknown_doubled_and_needless_waivers_and_stray_markers_are_faults() {
    let place = std::env::temp_dir().join(format!("posse-requirements-{}", std::process::id()));
    for directory in ["docs", "crates", "xtask"] {
        fs::create_dir_all(place.join(directory)).unwrap();
    }
    let rows =
        "## One\n| R001 | goal | a |\n| R002 | error | b |\n| R003 | behav | c |\n| R004 | goal | d |\n";
    fs::write(place.join("docs/requirements.md"), rows).unwrap();
    let waivers = "| R001 | tested anyway |\n| R002 | too hard |\n| R009 | there is none |\n| R004 | |\n";
    fs::write(place.join("xtask/requirements-waived.md"), waivers).unwrap();
    let marked = include_str!("requirements/marked.txt");
    fs::write(place.join("crates/a.rs"), marked).unwrap();
    let table = Table::load(&place);
    fs::remove_dir_all(&place).unwrap();
    let table = table.unwrap();
    for part in [
        "crates/a.rs:11: a marker that belongs to no test",
        "crates/a.rs:27: a marker",
        "R013 does not exist",
        "R001 is waived, but tested",
        "R002 is waived, but a `error` can be tested",
        "R009 is waived, but does not exist",
        "R004 is waived without a reason",
    ] {
        assert!(table.faults.iter().any(|fault| fault.contains(part)), "{part}: {:?}", table.faults);
    }
    assert_eq!(table.open().len(), 0);
    assert!(table.render(false).contains("before (crates/a.rs)"), "{}", table.render(false));
    let lines: Vec<Marker> = markers(marked, false);
    assert_eq!(lines[0].line, 1);
}
