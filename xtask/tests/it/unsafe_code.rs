//! `unsafe` stands in `posse-sandbox` alone, little of it, and each block says why it is sound.

use std::fs;

use crate::rows::sources;

const HOME: &str = "posse-sandbox";
const BLOCKS_MAX: usize = 30;

#[test]
fn every_other_member_forbids_unsafe_code() {
    let mut wrong = Vec::new();
    let members = fs::read_dir(crate::root().join("crates")).unwrap().map(|member| member.unwrap().path());
    for member in members.chain([crate::root().join("xtask")]).filter(|member| !member.ends_with(HOME)) {
        let roots = ["src/lib.rs", "src/main.rs"].map(|file| member.join(file));
        let found: Vec<_> = roots.iter().filter_map(|root| fs::read_to_string(root).ok()).collect();
        let forbids = |source: &String| source.lines().any(|line| line == "#![forbid(unsafe_code)]");
        if found.is_empty() || !found.iter().all(forbids) {
            wrong.push(member);
        }
    }
    assert!(wrong.is_empty(), "`#![forbid(unsafe_code)]` is missing: {wrong:?}");
}

#[test]
fn unsafe_blocks_are_few_and_say_why_they_are_sound() {
    let (mut blocks, mut silent) = (0, Vec::new());
    sources(&crate::root().join("crates").join(HOME).join("src"), &mut |path, source| {
        let lines: Vec<&str> = source.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            if line.trim_start().starts_with("//") || !line.contains("unsafe {") {
                continue;
            }
            blocks += 1;
            if !lines[at.saturating_sub(3)..at].iter().any(|line| line.contains("// SAFETY: ")) {
                silent.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    });
    assert!(blocks > 0, "the sources were read");
    assert!(blocks <= BLOCKS_MAX, "{blocks} blocks; {BLOCKS_MAX} are the most");
    assert!(silent.is_empty(), "no `// SAFETY:` before: {silent:?}");
}
