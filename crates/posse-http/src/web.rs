//! Files of the dashboard. They are in the program as they are in `web/`: there is no build step.

/// A file of the dashboard.
#[derive(Debug)]
pub struct WebFile {
    /// Path below `/assets/`; the page itself is `index.html`.
    pub name: &'static str,
    pub content_type: &'static str,
    pub bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! web_files {
    ($($content_type:ident $name:literal)*) => {
        &[$(WebFile { name: $name, content_type: $content_type, bytes: include_bytes!(concat!("../web/", $name)) },)*]
    };
}

/// Every file of the dashboard, by name.
pub const FILES: &[WebFile] = web_files! {
    SCRIPT "actions.js"
    SCRIPT "api.js"
    SCRIPT "asks.js"
    SCRIPT "components.js"
    SCRIPT "diff.js"
    SCRIPT "export.js"
    SCRIPT "format.js"
    PICTURE "icon.svg"
    SCRIPT "icons.js"
    HTML "index.html"
    SCRIPT "keys.js"
    SCRIPT "lib.js"
    SCRIPT "main.js"
    SCRIPT "markdown.js"
    SCRIPT "pages/agents.js"
    SCRIPT "pages/approvals.js"
    SCRIPT "pages/budget.js"
    SCRIPT "pages/changes.js"
    SCRIPT "pages/context.js"
    SCRIPT "pages/detail.js"
    SCRIPT "pages/events.js"
    SCRIPT "pages/evidence.js"
    SCRIPT "pages/lanes.js"
    SCRIPT "pages/leases.js"
    SCRIPT "pages/login.js"
    SCRIPT "pages/overview.js"
    SCRIPT "pages/tasks.js"
    SCRIPT "pages/timeline.js"
    SCRIPT "pages/transcript.js"
    SCRIPT "pages/trees.js"
    SCRIPT "palette.js"
    SCRIPT "route.js"
    SCRIPT "settings.js"
    SCRIPT "shell.js"
    SCRIPT "state.js"
    SCRIPT "store.js"
    STYLE "style.css"
    STYLE "tokens.css"
    SCRIPT "vendor/hooks.mjs"
    SCRIPT "vendor/htm.mjs"
    SCRIPT "vendor/preact.mjs"
    SCRIPT "vendor/signals-core.mjs"
    SCRIPT "vendor/signals.mjs"
    SCRIPT "virtual.js"
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::FILES;

    fn names_in(directory: &Path, prefix: &str, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).expect("a readable directory") {
            let entry = entry.expect("an entry");
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                names_in(&entry.path(), &format!("{name}/"), names);
            } else if ["html", "js", "mjs", "css", "svg"].iter().any(|end| name.ends_with(&format!(".{end}")))
            {
                names.push(name);
            }
        }
    }

    #[test]
    fn every_file_is_in_the_program() {
        let mut names = Vec::new();
        names_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("web"), "", &mut names);
        names.sort();
        let listed: Vec<&str> = FILES.iter().map(|file| file.name).collect();
        assert_eq!(listed, names);
    }

    #[test]
    fn no_page_calls_another_server_or_sets_html() {
        for file in FILES.iter().filter(|file| !file.name.starts_with("vendor/")) {
            let text = std::str::from_utf8(file.bytes).expect("UTF-8");
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "dangerouslySetInnerHTML",
                "document.write",
                "eval(",
                "style=\"",
            ] {
                assert!(!text.contains(word), "{} has `{word}`", file.name);
            }
            for address in text.match_indices("://").map(|(at, _)| &text[at..]) {
                assert!(
                    address.starts_with("://www.w3.org/2000/svg"),
                    "{} names {}",
                    file.name,
                    &address[..address.len().min(40)]
                );
            }
        }
    }
}
