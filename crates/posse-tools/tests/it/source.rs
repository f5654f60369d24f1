//! A rule about the source itself: files are opened by handle and by nothing else.

/// Opening by path would bring back the race between checking a path and using it.
// S02 Seen to fail with `std::fs::read` in `read.rs`.
#[test]
fn no_file_tool_opens_a_file_by_path() {
    let allowed = [
        "use std::fs::File;",
        "std::fs::canonicalize(root)",
        // The kernel's name of a handle that is open already.
        "std::fs::read_link(format!(\"/proc/self/fd/{}\"",
    ];
    for (module, source) in [
        ("answer", include_str!("../../src/answer.rs")),
        ("edit", include_str!("../../src/edit.rs")),
        ("files", include_str!("../../src/files.rs")),
        ("glob", include_str!("../../src/glob.rs")),
        ("grep", include_str!("../../src/grep.rs")),
        ("list", include_str!("../../src/list.rs")),
        ("protected", include_str!("../../../posse-sandbox/src/protected.rs")),
        ("read", include_str!("../../src/read.rs")),
        ("replace", include_str!("../../src/replace.rs")),
        ("seen", include_str!("../../src/seen.rs")),
        ("skill", include_str!("../../src/skill.rs")),
        ("think", include_str!("../../src/think.rs")),
        ("walk", include_str!("../../src/walk.rs")),
        ("workspace", include_str!("../../../posse-sandbox/src/workspace.rs")),
        ("write", include_str!("../../src/write.rs")),
    ] {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in
            code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            let by_path = [
                "std::fs::",
                "File::open",
                "File::create",
                "OpenOptions",
                ".exists()",
                ".metadata()",
                ".is_dir()",
                ".is_file()",
                "openat(",
                "CWD",
                "WalkBuilder",
            ];
            let found = by_path.iter().find(|way| line.contains(**way));
            let excused = allowed.iter().any(|way| line.contains(way));
            assert!(found.is_none() || excused, "{module}.rs:{}: {}", number + 1, line.trim());
        }
    }
}
