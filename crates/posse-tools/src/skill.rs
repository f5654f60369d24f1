//! Skills: folders with a `SKILL.md` that tell an agent how to do something. The names and descriptions are in the
//! tool's description; the text is read when it is asked for.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::SkillMatter;
use posse_core::text::prefix;
use posse_core::tool::{ToolEffect, ToolSpec};
use posse_messages::localized;
use posse_runtime::ports::ToolOutput;
use posse_sandbox::workspace::{Workspace, show};
use serde::Deserialize;

use crate::answer::{BoundedLines, NOTES_BYTES, count, decode, name};
use crate::files::{Answer, FileJob, describe};
use crate::walk::{EntryKind, WalkOptions, entries, walk};

/// Skill directories of a project, nearest first.
pub const PROJECT_FOLDERS: [&str; 2] = [".posse/skills", ".claude/skills"];
const SKILLS_MAX: usize = 200;
const FOLDER_ENTRIES_MAX: usize = 1000;
/// Front matter must be within these first bytes.
const HEAD_BYTES_MAX: u64 = 256 * 1024;
const NAME_BYTES_MAX: usize = 64;
const DESCRIPTION_BYTES_MAX: usize = 400;
/// The list is sent with every model call.
const LIST_BYTES_MAX: usize = 12_000;
const FILES_MAX: usize = 100;

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "name": { "type": "string", "description": "Name of the skill, as in the list." },
    "file": { "type": "string", "description": "A file of the skill's folder to read instead of its SKILL.md." }
  },
  "required": ["name"],
  "additionalProperties": false
}"#;

/// Parser of a file's front matter, provided by the composition root: the same one that reads agent files.
pub type ReadMatter = fn(&str) -> SkillMatter;

/// The skills a task can use. The default has none.
#[derive(Clone, Default)]
pub struct SkillCatalog {
    list: Vec<SkillFile>,
}

#[derive(Clone)]
struct SkillFile {
    name: String,
    description: String,
    /// The directory it is read beneath: the workspace, or a root of the user.
    base: Arc<Workspace>,
    folder: PathBuf,
    matter: ReadMatter,
}

/// Skill directories and their parser.
struct SkillSource<'a> {
    base: &'a Arc<Workspace>,
    matter: ReadMatter,
}

impl SkillCatalog {
    /// Finds the skills of a project and then those of further roots, each a folder of skill folders. Of two skills
    /// with one name the first counts; the warnings say which one was left out, and everything else that is odd.
    pub fn load(
        workspace: &Arc<Workspace>,
        roots: &[PathBuf],
        matter: ReadMatter,
    ) -> (SkillCatalog, Vec<String>) {
        let mut skills = SkillCatalog::default();
        let mut warnings = Vec::new();
        for folder in PROJECT_FOLDERS {
            skills.add_folder(&SkillSource { base: workspace, matter }, Path::new(folder), &mut warnings);
        }
        for root in roots {
            match Workspace::open(root) {
                Err(cause) if is_missing(&cause) => {}
                Ok(base) => {
                    skills.add_folder(&SkillSource { base: &base, matter }, Path::new(""), &mut warnings);
                }
                Err(cause) => warnings.push(
                    localized!("skills-not-used", root = root.display(), why = cause.message()).to_string(),
                ),
            }
        }
        (skills, warnings)
    }

    /// Iterates over the names of the skills.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|skill| skill.name.as_str())
    }

    fn add_folder(&mut self, source: &SkillSource<'_>, folder: &Path, warnings: &mut Vec<String>) {
        // No such folder is the usual case.
        let Ok(directory) = source.base.open_directory(folder) else { return };
        let Ok((found, more)) = entries(directory.as_fd(), FOLDER_ENTRIES_MAX) else { return };
        if more {
            warnings.push(
                localized!(
                    "skills-folder-large",
                    folder = show(folder),
                    folder_entries_max = FOLDER_ENTRIES_MAX
                )
                .to_string(),
            );
        }
        for (entry, kind) in found {
            if matches!(kind, EntryKind::Directory | EntryKind::Link)
                && !entry.as_encoded_bytes().starts_with(b".")
            {
                self.add(source, folder.join(entry), warnings);
            }
        }
    }

    fn add(&mut self, source: &SkillSource<'_>, folder: PathBuf, warnings: &mut Vec<String>) {
        let SkillSource { base, matter: read } = *source;
        let place = base.root().join(&folder);
        let place = place.display();
        let head = match read_text(base, &folder.join("SKILL.md"), HEAD_BYTES_MAX) {
            Ok(head) => head,
            Err(why) => return warnings.push(localized!("skill-not-used", place, why).to_string()),
        };
        let matter = read(&head);
        let folder_name = folder.file_name().map(name).unwrap_or_default();
        let mut skill_name = matter.name.unwrap_or_else(|| folder_name.clone());
        if !is_name(&skill_name) {
            warnings.push(localized!("skill-name-unusable", place).to_string());
            skill_name = folder_name;
        }
        let description = matter.description.unwrap_or_else(|| {
            warnings.push(localized!("skill-without-description", skill_name, place).to_string());
            matter.body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
        });
        if let Some(first) = self.list.iter().find(|s| s.name.eq_ignore_ascii_case(&skill_name)) {
            let kept = first.base.root().join(&first.folder);
            return warnings
                .push(localized!("skill-shadowed", skill_name, place, kept = kept.display()).to_string());
        }
        if self.list.len() == SKILLS_MAX {
            return warnings
                .push(localized!("skills-too-many", skill_name, skills_max = SKILLS_MAX).to_string());
        }
        let description = prefix(&description, DESCRIPTION_BYTES_MAX).to_owned();
        self.list.push(SkillFile { name: skill_name, description, base: base.clone(), folder, matter: read });
    }

    /// One line per skill; when they are too many, the rest by name only, and at last by number.
    fn listing(&self) -> String {
        if self.list.is_empty() {
            return "No skills are available.".to_owned();
        }
        let mut out = BoundedLines::new(SKILLS_MAX, LIST_BYTES_MAX * 2 / 3);
        let shown = self
            .list
            .iter()
            .take_while(|skill| {
                let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
                out.push(&format!("- {}: {description}", skill.name))
            })
            .count();
        let mut notes = Vec::new();
        if shown < self.list.len() {
            let rest: Vec<&str> = self.names().skip(shown).collect();
            let names = rest.join(", ");
            notes.push(match names.len() {
                len if len <= LIST_BYTES_MAX / 4 => format!("more skills, without description: {names}"),
                _ => format!(
                    "{} more; call with a wrong name to see the names",
                    count(rest.len() as u64, "skill")
                ),
            });
        }
        format!("Available skills:\n{}", out.finish(&notes))
    }

    fn find(&self, wanted: &str) -> Result<&SkillFile, String> {
        let wanted = wanted.trim();
        self.list.iter().find(|skill| skill.name.eq_ignore_ascii_case(wanted)).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            match names.as_slice() {
                [] => "there are no skills".to_owned(),
                names => format!(
                    "there is no skill `{}`; there are: {}",
                    show(Path::new(prefix(wanted, NAME_BYTES_MAX))),
                    names.join(", ")
                ),
            }
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkillArguments {
    name: String,
    file: Option<String>,
}

pub(crate) fn spec(skills: &SkillCatalog) -> ToolSpec {
    let description = format!(
        "Read a skill: instructions for a kind of work, with the files that belong to it. Call it before you begin \
         work that a skill describes.\n{}",
        skills.listing()
    );
    describe("skill", ToolEffect::Pure, &description, SCHEMA)
}

pub(crate) fn run(job: &FileJob, arguments: SkillArguments) -> Answer {
    let skill = job.context.skills.find(&arguments.name)?;
    let room = job.room - NOTES_BYTES;
    if let Some(file) = arguments.file.as_deref().filter(|file| !file.is_empty()) {
        let folder = Workspace::path(&skill.base, file)?;
        let text = read_text(&skill.base, &skill.folder.join(folder), u64::MAX)?;
        return Ok(ToolOutput::text(cut(&text, room)));
    }
    let text = read_text(&skill.base, &skill.folder.join("SKILL.md"), u64::MAX)?;
    let files = skill.files(job, room / 4);
    let body = cut((skill.matter)(&text).body.trim(), room - files.len());
    Ok(ToolOutput::text(format!("{body}\n\n{files}")))
}

impl SkillFile {
    /// The other files of the folder. Those inside the workspace can be read by path, the others by this tool.
    fn files(&self, job: &FileJob, bytes_max: usize) -> String {
        let Ok(directory) = self.base.open_directory(&self.folder) else { return String::new() };
        let mut out = BoundedLines::new(FILES_MAX, bytes_max);
        let mut left_out = 0;
        let report =
            walk(&self.base, &self.folder, directory, WalkOptions::default(), &job.cancel, &mut |entry| {
                let relative = entry.path.strip_prefix(&self.folder).unwrap_or(entry.path);
                if entry.kind == EntryKind::File
                    && relative != Path::new("SKILL.md")
                    && !out.push(&name(relative.as_os_str()))
                {
                    left_out += 1;
                }
            });
        let mut notes = report.notes();
        if left_out > 0 {
            notes.push(format!("… {} more", count(left_out, "file")));
        }
        let listed = out.finish(&notes);
        let place = match Arc::ptr_eq(&self.base, &job.context.workspace) {
            true => format!("folder `{}`", show(&self.folder)),
            false => "folder outside the workspace; read its files with this tool's `file`".to_owned(),
        };
        match listed.is_empty() {
            true => format!("[{place}; no other files]"),
            false => format!("[{place}; other files:]\n{listed}"),
        }
    }
}

fn cut(text: &str, room: usize) -> String {
    let shown = prefix(text, room);
    match text.len() - shown.len() {
        0 => text.to_owned(),
        left_out => {
            let total = count(text.len() as u64, "byte");
            format!("{shown}\n[{left_out} of {total} left out here]")
        }
    }
}

/// A text file of at most 1 MiB, of which only the first `head` bytes are wanted.
fn read_text(base: &Workspace, path: &Path, head: u64) -> Result<String, String> {
    const SKILL_BYTES_MAX: u64 = 1024 * 1024;
    let mut open = base.open_file(path)?;
    let content =
        open.whole(SKILL_BYTES_MAX).map_err(|cause| format!("cannot read `{}`: {cause}", show(path)))?;
    let Some(content) = content else {
        let max = count(SKILL_BYTES_MAX, "byte");
        return Err(format!("`{}` has more than {max}", show(path)));
    };
    let wanted = usize::try_from(head).unwrap_or(usize::MAX).min(content.len());
    Ok(decode(&content[..wanted], usize::MAX).text)
}

fn is_missing(cause: &posse_core::Error) -> bool {
    let source = std::error::Error::source(cause).and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|source| source.kind() == std::io::ErrorKind::NotFound)
}

fn is_name(raw: &str) -> bool {
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | ' ');
    !raw.is_empty() && raw.len() <= NAME_BYTES_MAX && raw.chars().all(legal)
}
