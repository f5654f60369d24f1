//! Files that Posse reads or writes outside of tasks are protected from tasks.

use std::path::{Path, PathBuf};

use posse_definitions::places::AgentPlaces;
use posse_mcp::hosts::{HostDirectories, HostEntry, HostName};
use posse_sandbox::protected::FileProtection;

// G20 S11 Seen to fail without `.goose` in the table.
#[test]
fn every_place_that_posse_reads_definitions_tools_skills_and_settings_from_is_protected() {
    let project = Path::new("/project");
    let (home, config) = (Path::new("/home/u"), Path::new("/home/u/.config"));
    let agents = AgentPlaces::find(project, Some(home), Some(config), 0).directories();
    let mut places: Vec<PathBuf> = agents.into_iter().map(|directory| directory.path).collect();
    assert!(places.len() > 30, "{places:?}");
    places.extend(["tools", "skills"].map(|kind| config.join("posse").join(kind)));
    places.extend(
        [".posse/tools", "posse.toml", posse_mcp::registry::PROJECT_FILE].map(|name| project.join(name)),
    );
    places.extend(posse_tools::skill::PROJECT_FOLDERS.map(|folder| project.join(folder)));
    for place in places {
        let path = place.strip_prefix(project).or_else(|_| place.strip_prefix(home)).unwrap();
        assert!(FileProtection::default().find(path).is_some(), "{}", path.display());
    }
}

// G20 S11 Seen to fail without `opencode.json` in the table.
#[test]
fn every_file_that_install_writes_is_protected() {
    let directories = HostDirectories { home: Some("/home/u".into()), codex: None };
    for host in HostName::all() {
        let file = HostEntry::new(host, "/usr/bin/posse", &directories).unwrap().file;
        let path = file.strip_prefix("/home/u").unwrap_or(&file);
        assert!(FileProtection::default().find(path).is_some(), "{host:?}: {}", path.display());
    }
}
