//! Tasks as one HTML file: the dashboard's own modules, with the answers of the API beside them. The file needs no server
//! and asks none: its policy allows what is in it and nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::web::FILES;

/// Name of modules in the import map. Modules in `data:` addresses cannot import by relative paths.
const PREFIX: &str = "posse/";
const START: &str = "import \"posse/export.js\";";

/// Writes the page. `data` has `exported_at`, `version`, `root`, `tasks`, and `answers` by path below `/v1`.
pub fn page(title: &str, data: &Value) -> String {
    let (style, modules) = (style(), import_map().to_string());
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {} {} data:; base-uri 'none'; form-action 'none'",
        hash(&style),
        hash(&modules),
        hash(START)
    );
    // A `<` in a string of JSON is only a character, in a page it may end the script.
    let data = data.to_string().replace('<', "\\u003c");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n<style>{style}</style>\n\
         <script type=\"importmap\">{modules}</script>\n</head>\n<body>\n<div id=\"app\" data-exported></div>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script type=\"module\">{START}</script>\n</body>\n</html>\n",
        title = escaped(title)
    )
}

fn style() -> String {
    ["tokens.css", "style.css"].map(text_of).concat()
}

fn text_of(name: &str) -> &'static str {
    let file = FILES.iter().find(|file| file.name == name);
    file.and_then(|file| std::str::from_utf8(file.bytes).ok()).unwrap_or_default()
}

fn import_map() -> Value {
    let is_module = |name: &str| name.ends_with(".js") || name.ends_with(".mjs");
    let imports: Map<String, Value> = FILES
        .iter()
        .filter(|file| is_module(file.name))
        .map(|file| {
            let address = STANDARD.encode(with_names(file.name, text_of(file.name)));
            (format!("{PREFIX}{}", file.name), json!(format!("data:text/javascript;base64,{address}")))
        })
        .collect();
    json!({ "imports": imports })
}

/// Replaces relative imports of a module by names of the import map.
fn with_names(module: &str, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\".") {
        let (before, path) = (&rest[..at], &rest[at + 1..]);
        let imports = before.trim_end().ends_with("from") || before.ends_with("import(");
        let end = path.find('"').unwrap_or(path.len());
        let is_relative = path.starts_with("./") || path.starts_with("../");
        if imports && is_relative {
            out.push_str(before);
            out.push_str(&format!("\"{PREFIX}{}", resolved(module, &path[..end])));
            rest = &path[end..];
        } else {
            out.push_str(&rest[..at + 1]);
            rest = path;
        }
    }
    out.push_str(rest);
    out
}

/// Resolves a relative path against the name of a module.
fn resolved(module: &str, path: &str) -> String {
    let mut parts: Vec<&str> = module.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_every_module_are_in_the_map() {
        let map = import_map();
        let imports = map["imports"].as_object().unwrap();
        for file in FILES.iter().filter(|file| imports.contains_key(&format!("{PREFIX}{}", file.name))) {
            let text = with_names(file.name, text_of(file.name));
            for (at, _) in text.match_indices("\"posse/") {
                let name: String = text[at + 1..].chars().take_while(|c| *c != '"').collect();
                assert!(imports.contains_key(&name), "{} imports {name}", file.name);
            }
            assert!(!text.contains("from \"."), "{} has a relative import", file.name);
            assert!(!text.contains("import(\"."), "{} has a relative import", file.name);
        }
        assert!(imports.contains_key("posse/vendor/preact.mjs"), "vendored modules are in the map");
    }

    #[test]
    fn data_cannot_leave_its_script() {
        let data = json!({ "text": "</script><script>alert(1)</script>" });
        let page = page("</title><script>", &data);
        assert_eq!(page.matches("</script>").count(), 3, "one end for each script of the page");
        assert!(!page.contains("<script>"), "and no other begins");
    }
}
