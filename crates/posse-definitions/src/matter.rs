//! The frontmatter of a skill, parsed like that of an agent.

use posse_core::definition::SkillMatter;

use crate::frontmatter::{markdown, plain_lines};
use crate::node::YamlNode;

/// Parses a skill file. Never fails: unclosed or unreadable frontmatter counts as none.
pub fn matter(text: &str) -> SkillMatter {
    let document = markdown(&plain_lines(text.trim_start_matches('\u{feff}')));
    let entries = match &document.front {
        Some(YamlNode::Map(entries)) => entries.as_slice(),
        _ => &[],
    };
    let field = |key: &str| {
        let entry = entries.iter().find(|entry| entry.key.eq_ignore_ascii_case(key))?;
        let text = match &entry.value {
            YamlNode::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            YamlNode::Number(_) | YamlNode::Bool(_) => entry.value.to_json().to_string(),
            YamlNode::Null | YamlNode::List(_) | YamlNode::Map(_) => return None,
        };
        (!text.is_empty()).then_some(text)
    };
    SkillMatter { name: field("name"), description: field("description"), body: document.body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // R030
    #[test]
    fn a_skill_is_read_as_people_write_it_by_the_parser_of_agents() {
        for (text, expected_name, expected_description, expected_body) in [
            ("---\nname: a\ndescription: b: c\n---\nbody", Some("a"), Some("b: c"), "body"),
            (
                "\u{feff}---\r\nname: \"a\"\r\ndescription: 'it''s'\r\n---\r\nbody",
                Some("a"),
                Some("it's"),
                "body",
            ),
            ("---\ndescription: >-\n  one\n  two\nname: a\n---\n", Some("a"), Some("one two"), ""),
            ("---\nmetadata:\n  name: inner\ntools:\n- x: y\n---\nb", None, None, "b"),
            ("no front matter", None, None, "no front matter"),
            ("---\nname: never closed\n", None, None, "---\nname: never closed"),
            ("", None, None, ""),
        ] {
            let matter = matter(text);
            assert_eq!(matter.name.as_deref(), expected_name, "{text:?}");
            assert_eq!(matter.description.as_deref(), expected_description, "{text:?}");
            assert_eq!(matter.body, expected_body, "{text:?}");
        }
        // The same frontmatter makes an agent, with the same words.
        let text = "---\nname: a\ndescription: b: c\n---\nYou do.\n";
        let document = markdown(text);
        assert_eq!(document.body, matter(text).body);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(---\n)?[-a:\"'>\r\n é]{0,80}") {
            matter(&text);
        }
    }
}
