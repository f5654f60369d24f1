use serde_json::json;

use crate::support::Place;

#[test]
fn skills_are_listed_and_read_nearest_first() {
    let place = Place::new(&[
        (".posse/skills/release/SKILL.md", "---\nname: release\ndescription: How we release\n---\nTag it.\n"),
        (".posse/skills/release/scripts/tag.sh", "git tag"),
        (".claude/skills/release/SKILL.md", "---\nname: Release\ndescription: other\n---\n"),
        (".claude/skills/plain/SKILL.md", "Just text."),
        (".claude/skills/empty/notes.md", ""),
    ]);
    let user = place.outside.path().join("user");
    std::fs::create_dir_all(user.join("mine")).unwrap();
    std::fs::write(
        user.join("mine/SKILL.md"),
        "---\r\nname: 'mine'\r\ndescription: \"For me\"\r\n---\r\nBody.\r\n",
    )
    .unwrap();
    std::fs::write(user.join("mine/data.txt"), "data").unwrap();
    let (task, warnings) = place.task_with(&[user, place.outside.path().join("absent")]);

    let spec = task.tools.iter().find(|tool| tool.spec().name == "skill").unwrap().spec();
    let listing = spec.description.split_once("Available skills:\n").unwrap().1;
    assert_eq!(listing, "- release: How we release\n- plain: Just text.\n- mine: For me");
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    for (warning, why) in
        warnings.iter().zip(["empty", "has no description", "has the same name and comes first"])
    {
        assert!(warning.contains(why), "{warning}");
    }

    assert_eq!(
        task.ok("skill", json!({"name": "Release"})),
        "Tag it.\n\n[folder `.posse/skills/release`; other files:]\nscripts/tag.sh"
    );
    let mine = task.ok("skill", json!({"name": "mine"}));
    assert!(
        mine.starts_with("Body.\n\n[folder outside the workspace") && mine.ends_with("data.txt"),
        "{mine}"
    );
    assert_eq!(task.ok("skill", json!({"name": "mine", "file": "data.txt"})), "data");
    task.refused("skill", json!({"name": "mine", "file": "../../secret.txt"}), "`..`");
    task.refused(
        "skill",
        json!({"name": "nope"}),
        "there is no skill `nope`; there are: release, plain, mine",
    );
}

#[test]
fn a_skill_cannot_show_what_is_outside_its_root() {
    let place = Place::new(&[(".posse/skills/a/SKILL.md", "---\nname: a\ndescription: b\n---\nbody")]);
    place.link(place.outside.path().join("secret.txt"), ".posse/skills/a/leak.txt");
    std::fs::create_dir(place.root.join(".posse/skills/b")).unwrap();
    place.link(place.outside.path().join("secret.txt"), ".posse/skills/b/SKILL.md");
    let (task, warnings) = place.task_with(&[]);
    assert!(warnings.len() == 1 && warnings[0].contains("leads outside"), "{warnings:?}");
    task.refused("skill", json!({"name": "a", "file": "leak.txt"}), "leads outside");
    assert_eq!(task.ok("skill", json!({"name": "a"})), "body\n\n[folder `.posse/skills/a`; no other files]");
}

#[test]
fn a_long_skill_and_many_skills_are_bounded() {
    let place = Place::new(&[]);
    for number in 0..300 {
        let text =
            format!("---\nname: s{number:03}\ndescription: {}\n---\n{}", "d".repeat(1000), "b".repeat(9000));
        place.put(&format!(".posse/skills/s{number:03}/SKILL.md"), text);
    }
    let (mut task, warnings) = place.task_with(&[]);
    assert_eq!(warnings.len(), 100);
    let spec = task.tools.iter().find(|tool| tool.spec().name == "skill").unwrap().spec();
    assert!(spec.description.len() < 13_000, "{}", spec.description.len());
    assert!(spec.description.contains("s199"), "every skill is named");
    task.room = 4000;
    let text = task.ok("skill", json!({"name": "s000"}));
    assert!(text.len() <= 4000 && text.contains("of 9,000 bytes left out here]"), "{}", text.len());
}

#[test]
fn thinking_does_nothing() {
    let task = Place::new(&[]).task();
    assert_eq!(task.ok("think", json!({"thought": "hm"})), "Noted.");
    task.refused("think", json!({"thought": " "}), "empty");
}

#[test]
fn every_schema_is_an_object_schema_that_names_its_required_properties() {
    for tool in Place::new(&[]).task().tools {
        let spec = tool.spec();
        let schema: serde_json::Value = serde_json::from_str(&spec.input_schema).expect(&spec.name);
        assert_eq!(schema["type"], "object", "{}", spec.name);
        assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(schema["properties"][required.as_str().unwrap()].is_object(), "{}", spec.name);
        }
        assert_eq!(posse_core::tool::canonical(&spec.name), spec.name);
    }
}
