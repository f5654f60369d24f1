//! A web page as text that a model can read: headings, lists, links and code as Markdown, nothing of what is not shown.
//! One pass, no tree: a page is data of somebody else, and the longest of them takes time in proportion to its length.

use posse_core::web::WebAddress;

/// Links inside of links do not exist; what claims more is broken.
const LINKS_MAX: usize = 8;
const LIST_DEPTH_MAX: usize = 12;

/// Elements whose content is not for readers.
const UNSEEN: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "object", "select", "textarea", "nav", "head",
];
/// Begin and end on a line of their own.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "table",
    "ul",
    "ol",
    "dl",
    "form",
    "figure",
    "blockquote",
    "details",
    "summary",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "hr",
    "body",
    "html",
    "address",
    "dt",
    "dd",
];

/// The text, of at most so many bytes, and whether there was more.
pub fn to_markdown(page: &str, base: &WebAddress, bytes_max: usize) -> (String, bool) {
    let mut writer = TextWriter::new(base, bytes_max);
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        writer.text(&rest[..at]);
        if writer.is_full {
            break;
        }
        rest = &rest[at..];
        rest = match HtmlTag::read(rest) {
            HtmlTag::Nothing(after) => after,
            HtmlTag::Character => {
                writer.text("<");
                &rest[1..]
            }
            HtmlTag::Open { name, attributes, after } => writer.open(&name, attributes, after),
            HtmlTag::Close { name, after } => {
                writer.close(&name);
                after
            }
        };
    }
    writer.text(rest);
    (writer.out.trim().to_owned(), writer.is_full)
}

/// The title, if the page has one.
pub fn title(page: &str) -> Option<String> {
    // It stands at the beginning, and a page without one is not searched to its end.
    let head = posse_core::text::prefix(page, 16 << 10);
    let lower = head.to_ascii_lowercase();
    let begin = lower.find("<title")?;
    let begin = begin + lower[begin..].find('>')? + 1;
    let end = begin + lower[begin..].find("</title")?;
    let title = decoded(&head[begin..end]).split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

enum HtmlTag<'a> {
    /// A comment or a declaration.
    Nothing(&'a str),
    /// A `<` that means itself.
    Character,
    Open {
        name: String,
        attributes: &'a str,
        after: &'a str,
    },
    Close {
        name: String,
        after: &'a str,
    },
}

impl<'a> HtmlTag<'a> {
    /// `text` begins with `<`.
    fn read(text: &'a str) -> Self {
        if let Some(comment) = text.strip_prefix("<!--") {
            return HtmlTag::Nothing(comment.find("-->").map_or("", |end| &comment[end + 3..]));
        }
        if text.starts_with("<!") || text.starts_with("<?") {
            return HtmlTag::Nothing(text.find('>').map_or("", |end| &text[end + 1..]));
        }
        let is_close = text.starts_with("</");
        let inner = &text[if is_close { 2 } else { 1 }..];
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return HtmlTag::Character;
        }
        let name_end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(inner.len());
        let name = inner[..name_end.min(32)].to_ascii_lowercase();
        let (attributes, after) = until_end(&inner[name_end..]);
        if is_close { HtmlTag::Close { name, after } } else { HtmlTag::Open { name, attributes, after } }
    }
}

/// Up to the `>` that is not in quotes; a tag that does not end goes to the end of the page.
fn until_end(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return (&text[..at], &text[at + 1..]),
            (None, _) => {}
        }
    }
    // A quote that is never closed hides the rest of the page; then the first `>` counts.
    text.find('>').map_or((text, ""), |at| (&text[..at], &text[at + 1..]))
}

fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_whitespace() || c == '=' || c == '/').unwrap_or(rest.len());
        if rest.is_empty() {
            return None;
        }
        let name = &rest[..end];
        rest = rest[end..].trim_start();
        let value = match rest.strip_prefix('=').map(str::trim_start) {
            None => {
                // A stray character would be met for ever.
                if name.is_empty() {
                    rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
                }
                ""
            }
            Some(text) => {
                let (value, after) = match text.chars().next() {
                    Some(quote @ ('"' | '\'')) => text[1..].split_once(quote).unwrap_or((&text[1..], "")),
                    _ => text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())),
                };
                rest = after;
                value
            }
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(decoded(value));
        }
    }
}

struct TextWriter<'a> {
    out: String,
    bytes_max: usize,
    is_full: bool,
    base: &'a WebAddress,
    /// Separator to write before the next text.
    gap: TextGap,
    pre: usize,
    lists: usize,
    /// Targets of open links and the start of their text.
    links: Vec<Option<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TextGap {
    None,
    Space,
    Line,
    Paragraph,
}

impl<'a> TextWriter<'a> {
    fn new(base: &'a WebAddress, bytes_max: usize) -> Self {
        let (out, gap) = (String::new(), TextGap::None);
        Self { out, bytes_max, is_full: false, base, gap, pre: 0, lists: 0, links: Vec::new() }
    }

    fn push(&mut self, text: &str) {
        if self.is_full {
            return;
        }
        let gap = if self.out.is_empty() { "" } else { ["", " ", "\n", "\n\n"][self.gap as usize] };
        let room = self.bytes_max.saturating_sub(self.out.len() + gap.len());
        let kept = posse_core::text::prefix(text, room);
        self.out.push_str(gap);
        self.out.push_str(kept);
        self.gap = TextGap::None;
        self.is_full = kept.len() < text.len();
    }

    fn want(&mut self, gap: TextGap) {
        // A paragraph inside of an item or a cell begins behind its mark.
        if self.out.ends_with("- ") || self.out.ends_with("| ") {
            return;
        }
        self.gap = self.gap.max(gap);
    }

    fn text(&mut self, raw: &str) {
        if raw.is_empty() || self.is_full {
            return;
        }
        let text = decoded(raw);
        if self.pre > 0 {
            self.push(&text);
            return;
        }
        let mut words = text.split_whitespace();
        if text.starts_with(char::is_whitespace) {
            self.want(TextGap::Space);
        }
        if let Some(first) = words.next() {
            self.push(first);
            for word in words {
                self.want(TextGap::Space);
                self.push(word);
            }
            if text.ends_with(char::is_whitespace) {
                self.want(TextGap::Space);
            }
        }
    }

    /// Returns where to go on.
    fn open<'p>(&mut self, name: &str, attributes: &str, after: &'p str) -> &'p str {
        let is_hidden = attribute(attributes, "hidden").is_some();
        if UNSEEN.contains(&name) || (is_hidden && name != "input") {
            return if attributes.trim_end().ends_with('/') { after } else { behind(name, after) };
        }
        if BLOCKS.contains(&name) && !self.is_inner_list(name) {
            self.want(TextGap::Paragraph);
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.push(&"#".repeat(level));
                self.want(TextGap::Space);
            }
            "br" => self.want(TextGap::Line),
            "hr" => self.push("---"),
            "tr" => self.want(TextGap::Line),
            "td" | "th" => self.push("| "),
            "ul" | "ol" => self.lists = (self.lists + 1).min(LIST_DEPTH_MAX),
            "li" => {
                self.want(TextGap::Line);
                self.push(&format!("{}- ", "  ".repeat(self.lists.saturating_sub(1))));
            }
            "pre" => {
                self.push("```\n");
                self.pre += 1;
            }
            "code" if self.pre == 0 => self.push("`"),
            "img" => {
                if let Some(text) = attribute(attributes, "alt").filter(|text| !text.trim().is_empty()) {
                    self.push(&format!("[image: {}]", text.trim()));
                }
            }
            "a" if self.links.len() < LINKS_MAX => {
                let target = attribute(attributes, "href").and_then(|href| self.base.join(&href).ok());
                let target = target.map(|target| target.to_string());
                if target.is_some() {
                    self.push("[");
                }
                self.links.push(target);
            }
            _ => {}
        }
        after
    }

    fn close(&mut self, name: &str) {
        match name {
            "a" => {
                if let Some(Some(target)) = self.links.pop() {
                    self.gap = TextGap::None;
                    self.push(&format!("]({target})"));
                }
            }
            "pre" if self.pre > 0 => {
                self.pre -= 1;
                if !self.out.ends_with('\n') {
                    self.want(TextGap::Line);
                }
                self.push("```");
            }
            "code" if self.pre == 0 => {
                self.gap = TextGap::None;
                self.push("`");
            }
            "ul" | "ol" => self.lists = self.lists.saturating_sub(1),
            "td" | "th" => self.want(TextGap::Space),
            _ => {}
        }
        if BLOCKS.contains(&name) && !self.is_inner_list(name) {
            self.want(TextGap::Paragraph);
        }
    }

    fn is_inner_list(&self, name: &str) -> bool {
        self.lists > 0 && matches!(name, "ul" | "ol")
    }
}

/// Returns the text behind a hidden element. Nested elements of the same name are not counted: such pages are rare,
/// and only text is left over.
fn behind<'p>(name: &str, text: &'p str) -> &'p str {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = text[from..].find("</").map(|at| from + at) {
        let end = at + 2 + name.len();
        if bytes.get(at + 2..end).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
            return until_end(&text[end..]).1;
        }
        from = at + 2;
    }
    ""
}

/// The longest name of a character that is looked for.
const ENTITY_BYTES_MAX: usize = 10;
/// Names of characters that pages write often, with their code points. A hard space is shown as a plain one.
const ENTITIES: &str = include_str!("entities.txt");

fn decoded(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let window = posse_core::text::prefix(rest, ENTITY_BYTES_MAX + 2);
        let found = window.find(';').and_then(|end| Some((character(&window[1..end])?, end + 1)));
        let (character, length) = found.unwrap_or(('&', 1));
        out.push(character);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    }
    let mut named = ENTITIES.lines().filter_map(|line| line.split_once(' '));
    let (_, code) = named.find(|(known, _)| *known == name)?;
    char::from_u32(u32::from_str_radix(code, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn markdown(page: &str) -> String {
        to_markdown(page, &WebAddress::parse("https://docs.rs/a/b").unwrap(), 100_000).0
    }

    #[test]
    fn a_page_becomes_what_a_reader_sees() {
        let page = r#"<!doctype html><html><head><title>T &amp; U</title><style>p{}</style></head><body>
            <nav><a href="/">Home</a></nav><script>alert("</p>")</script>
            <h1>Title</h1><p>Some <b>text</b> with a <a href="../c?x=1">link</a> &amp; more&nbsp;&#8212; &lt;b&gt;.</p>
            <ul><li>one<li>two<ul><li>deeper</li></ul></ul>
            <pre><code>let x = 1;
  y();</code></pre><p>inline <code>z</code>.</p><!-- a comment <p>unseen</p> -->
            <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
            <img src=x alt="A cat"><p hidden>unseen</p><template>unseen</template>
            <a href="javascript:alert(1)">click</a> 1 < 2</body></html>"#;
        let expected = "# Title\n\nSome text with a [link](https://docs.rs/c?x=1) & more — <b>.\n\n- one\n- two\n  - deeper\n\n\
                        ```\nlet x = 1;\n  y();\n```\n\ninline `z`.\n\n| a | b\n| 1 | 2\n\n[image: A cat] click 1 < 2";
        assert_eq!(markdown(page), expected);
        assert_eq!(title(page).as_deref(), Some("T & U"));
    }

    #[test]
    fn broken_pages_lose_nothing_but_their_form() {
        for (page, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("a < b", "a < b"),
            ("a <", "a <"),
            ("<p", ""),
            ("<p title=\"x>shown", "shown"),
            ("<!-- open", ""),
            ("<script>x", ""),
            ("</a></pre></ul>x", "x"),
            ("<ul><li><p>a</p></li><li><p>b</p></ul>c", "- a\n\n- b\n\nc"),
            ("<a href=/x>t", "[t"),
            ("<b =x y>t", "t"),
            ("&#x110000;&#0;&bogus;&", "&#x110000;&#0;&bogus;&"),
        ] {
            assert_eq!(markdown(page), expected, "{page}");
        }
        let (text, more) =
            to_markdown(&"word ".repeat(1_000), &WebAddress::parse("http://a.b").unwrap(), 100);
        assert!(more && text.len() <= 100);
    }

    #[test]
    fn a_hostile_page_takes_no_longer_than_it_is_long() {
        let began = std::time::Instant::now();
        for piece in ["<a href=\"", "<", "<!--", "</", "&", "<script", "<ul><li>", "<a href=x>", "<p a=b "] {
            markdown(&piece.repeat((1 << 18) / piece.len()));
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(page in "[<>/a-d!=\"' &;#x\\-]{0,200}", max in 0usize..60) {
            let base = WebAddress::parse("http://a.b").unwrap();
            let (text, _) = to_markdown(&page, &base, max);
            prop_assert!(text.len() <= max);
            let _ = title(&page);
        }
    }
}
