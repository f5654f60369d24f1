//! The words of the launch tool, which every language must have.

use posse_messages::{Language, find};

/// Key and English wording.
const LAUNCH: [(&str, &str); 6] = [
    ("launch-description", "Launch autonomous agent"),
    ("launch-missing-description", "Agent description is required"),
    ("launch-missing-prompt", "Agent prompt is required"),
    ("launch-invalid-json", "Invalid JSON parameters"),
    ("launch-resource-limit", "Maximum concurrent agents limit reached"),
    ("launch-creation-failed", "Failed to create agent"),
];

// R442 R443 R444 R445 R446 R447 R448
#[test]
fn the_launch_tool_speaks_every_language() {
    for (key, english) in LAUNCH {
        assert_eq!(find(Language::English, key, &[]).as_deref(), Some(english));
        for language in Language::ALL.into_iter().filter(|language| *language != Language::English) {
            let said = find(language, key, &[]);
            assert!(
                said.as_deref().is_some_and(|said| !said.is_empty() && said != english),
                "{}: {key}",
                language.tag()
            );
        }
    }
}

#[test]
fn plurals_follow_the_language() {
    let said = |language, n: u64| find(language, "many-files", &[("n", n.into())]).unwrap();
    assert_eq!([said(Language::English, 1), said(Language::English, 2)], ["1 file", "2 files"]);
    assert_eq!([said(Language::German, 1), said(Language::German, 2)], ["1 Datei", "2 Dateien"]);
    assert_eq!(said(Language::Japanese, 1), said(Language::Japanese, 2).replace('2', "1"));
}
