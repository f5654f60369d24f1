//! Typed access to the keys of one file. Each access records what became of the key, and adds a remark if the
//! value is invalid. A format is then a flat list of accesses.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use posse_core::definition::{FieldFate, FieldReport, Remark, RemarkSeverity};
use posse_core::text::{prefix, visible};
use posse_messages::{LocalizedText, localized};
use serde_json::{Number, Value};

use crate::frontmatter::{error, shown, warning};
use crate::node::{YamlEntry, YamlNode};

/// Keys that restrict rights. An unreadable value is an error, so that it cannot turn into "everything".
const RIGHTS: &[&str] = &[
    "tools",
    "allowedTools",
    "disallowedTools",
    "disallowed_tools",
    "permission",
    "permissions",
    "permissionMode",
    "permission_mode",
    "approval",
    "approvalMode",
    "approval_policy",
    "sandbox_mode",
    "access",
    "readonly",
    "write_paths",
    "read_roots",
    "network",
    "agents",
    "extends",
    "disable",
    "disabled",
];

/// Returns whether a key restricts rights, in any spelling.
pub fn is_right(key: &str) -> bool {
    RIGHTS.iter().any(|right| plain(right) == plain(key))
}

/// Maximum entries of one list.
const LIST_MAX: usize = 512;

/// The keys of a file, and what became of each.
pub struct FieldReader {
    entries: Vec<YamlEntry>,
    fates: Vec<Option<FieldFate>>,
    /// Every key requested so far: the keys of the format.
    asked: Vec<&'static str>,
    extra: BTreeMap<String, Value>,
    pub remarks: Vec<Remark>,
}

/// One spelling of an enumerated value: the text, the value, and what the report says it became. An empty
/// report text means that the value is used as written.
pub type Word<T> = (&'static str, T, fn() -> LocalizedText);

/// The report on all keys, after a format has read its own.
pub struct KeyReport {
    pub fields: Vec<FieldReport>,
    pub remarks: Vec<Remark>,
    pub extra: BTreeMap<String, Value>,
}

impl FieldReader {
    /// Creates fields from parsed entries and the remarks so far.
    pub fn new(entries: Vec<YamlEntry>, remarks: Vec<Remark>) -> Self {
        let fates = vec![None; entries.len()];
        Self { entries, fates, asked: Vec::new(), extra: BTreeMap::new(), remarks }
    }

    /// Returns whether the file has the key.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Returns the line of the key.
    pub fn line(&self, key: &str) -> Option<u32> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| entry.line)
    }

    /// Takes a value of any type; an empty one counts as missing.
    pub fn value(&mut self, key: &'static str) -> Option<YamlNode> {
        let at = self.find(key)?;
        self.fates[at] = Some(FieldFate::Honoured);
        match &self.entries[at].value {
            YamlNode::Null => {
                let allowed =
                    if key == "tools" { localized!("allowed-tools") } else { localized!("allowed-value") };
                self.reject(key, &localized!("kind-empty"), &allowed);
                None
            }
            value => Some(value.clone()),
        }
    }

    /// Takes a text.
    pub fn text(&mut self, key: &'static str) -> Option<String> {
        match self.value(key)? {
            YamlNode::Text(text) => Some(text),
            other => self.refuse(key, &other.kind(), &localized!("allowed-text")),
        }
    }

    /// Takes a list of texts, or one comma-separated text. Commas inside parentheses do not separate.
    pub fn texts(&mut self, key: &'static str) -> Option<Vec<String>> {
        let items = match self.value(key)? {
            YamlNode::Text(text) if text.trim().is_empty() => {
                return self.refuse(key, &localized!("found-empty-text"), &localized!("allowed-list"));
            }
            YamlNode::Text(text) => commas(&text),
            YamlNode::List(items) => {
                let mut texts = Vec::with_capacity(items.len().min(LIST_MAX));
                for item in items {
                    match item {
                        YamlNode::Text(text) => texts.push(text.trim().to_owned()),
                        other => {
                            let found = localized!("found-list-with", kind = other.kind());
                            return self.refuse(key, &found, &localized!("allowed-texts"));
                        }
                    }
                }
                texts
            }
            other => return self.refuse(key, &other.kind(), &localized!("allowed-texts-or-commas")),
        };
        if items.len() > LIST_MAX {
            let found = localized!("found-list-of", count = items.len());
            return self.refuse(key, &found, &localized!("allowed-entries", most = LIST_MAX));
        }
        Some(items)
    }

    /// Takes a list of tools. Rejoins an unquoted `[Agent(a, b)]`, which YAML splits into two texts.
    pub fn tools(&mut self, key: &'static str) -> Option<Vec<String>> {
        let items = self.texts(key)?;
        let mut entries: Vec<String> = Vec::with_capacity(items.len());
        for item in items {
            match entries.last_mut().filter(|last| last.contains('(') && !last.ends_with(')')) {
                Some(open) => {
                    open.push_str(", ");
                    open.push_str(&item);
                }
                None => entries.push(item),
            }
        }
        Some(entries)
    }

    /// Takes a Boolean.
    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        match self.value(key)? {
            YamlNode::Bool(flag) => Some(flag),
            other => self.refuse(key, &other.kind(), &localized!("kind-flag")),
        }
    }

    /// Takes a number in the given range.
    pub fn number(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        let allowed = localized!("allowed-number", least = range.start(), most = range.end());
        self.ranged(key, &allowed, |number| number.as_f64().filter(|number| range.contains(number)))
    }

    /// Takes a whole number in the given range.
    pub fn whole(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let allowed = localized!("allowed-whole", least = range.start(), most = range.end());
        self.ranged(key, &allowed, |number| number.as_u64().filter(|number| range.contains(number)))
    }

    fn ranged<T>(
        &mut self,
        key: &'static str,
        allowed: &LocalizedText,
        within: impl Fn(&Number) -> Option<T>,
    ) -> Option<T> {
        match self.value(key)? {
            YamlNode::Number(number) => {
                within(&number).or_else(|| self.refuse(key, &number.to_string().into(), allowed))
            }
            other => self.refuse(key, &other.kind(), allowed),
        }
    }

    /// Takes a map.
    pub fn map(&mut self, key: &'static str) -> Option<Vec<YamlEntry>> {
        match self.value(key)? {
            YamlNode::Map(entries) => Some(entries),
            other => self.refuse(key, &other.kind(), &localized!("kind-map")),
        }
    }

    /// Takes a map as nested fields: `budget.max_cost_usd`. Pass them to `merge_inner` afterwards.
    pub fn inner(&mut self, key: &'static str) -> Option<FieldReader> {
        let entries = self.map(key)?;
        Some(FieldReader::new(entries, Vec::new()))
    }

    /// Merges the remarks of nested fields and reports their unknown keys.
    pub fn merge_inner(&mut self, key: &'static str, inner: FieldReader) {
        let unknown: Vec<(String, u32)> = inner
            .entries
            .iter()
            .zip(&inner.fates)
            .filter(|(_, fate)| fate.is_none())
            .map(|(entry, _)| (entry.key.clone(), entry.line))
            .collect();
        for (name, line) in unknown {
            let text = localized!("inner-key-unknown", shown = shown(&format!("{key}.{name}")));
            self.remarks.push(warning(text, Some(line), None));
        }
        for mut remark in inner.remarks {
            remark.text = remark.text.map(|text| text.replacen('`', &format!("`{key}."), 1));
            self.remarks.push(remark);
        }
    }

    /// Takes one of the given words.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[Word<T>]) -> Option<T> {
        let text = match self.value(key)? {
            YamlNode::Text(text) => text,
            other => return self.refuse(key, &other.kind(), &listed(words)),
        };
        match words.iter().find(|(word, ..)| *word == text.trim()) {
            Some((_, value, into)) => {
                let into = into();
                if into != LocalizedText::default() {
                    self.mapped(key, into);
                }
                Some(*value)
            }
            None => self.refuse(key, &shown(&text).into(), &listed(words)),
        }
    }

    /// Takes one of the given words, each used as written.
    pub fn plain_word<T: Copy>(&mut self, key: &'static str, words: &[(&'static str, T)]) -> Option<T> {
        let words: Vec<Word<T>> =
            words.iter().map(|(word, value)| (*word, *value, LocalizedText::default as fn() -> _)).collect();
        self.word(key, &words)
    }

    /// Records that a taken value was mapped to something else.
    pub fn mapped(&mut self, key: &'static str, into: impl Into<LocalizedText>) {
        self.mark(key, FieldFate::Mapped(into.into()));
    }

    /// Records that a taken value is kept in the definition but has no effect.
    pub fn unused(&mut self, key: &'static str, why: impl Into<LocalizedText>) {
        self.mark(key, FieldFate::Ignored(why.into()));
    }

    /// Ignores a key of the format that Posse does not support, and keeps its value beside the definition.
    pub fn ignore(&mut self, key: &'static str, why: impl FnOnce() -> LocalizedText) {
        if let Some(at) = self.find(key) {
            self.fates[at] = Some(FieldFate::Ignored(why()));
            self.keep_extra(at);
        }
    }

    /// Records that a taken value is invalid: an error for a right, otherwise a warning.
    pub fn reject(&mut self, key: &'static str, found: &LocalizedText, allowed: &LocalizedText) {
        let severity = if RIGHTS.contains(&key) { RemarkSeverity::Error } else { RemarkSeverity::Warning };
        let text = localized!("field-rejected", key, found, allowed);
        self.remarks.push(Remark { severity, text, line: self.line_of(key), hint: None });
        self.mark(key, FieldFate::Ignored(localized!("field-can-be", allowed)));
        if let Some(at) = self.find(key) {
            self.keep_extra(at);
        }
    }

    /// Does the same as `reject` and returns `None`, for use as a return value.
    pub fn refuse<T>(
        &mut self,
        key: &'static str,
        found: &LocalizedText,
        allowed: &LocalizedText,
    ) -> Option<T> {
        self.reject(key, found, allowed);
        None
    }

    /// Adds a warning about the key.
    pub fn warn(&mut self, key: &'static str, text: impl Into<LocalizedText>) {
        let line = self.line_of(key);
        self.remarks.push(warning(text, line, None));
    }

    /// Adds an error about the key.
    pub fn fail(&mut self, key: &'static str, text: impl Into<LocalizedText>, hint: Option<&LocalizedText>) {
        let line = self.line_of(key);
        self.remarks.push(error(text, line, hint));
        self.mark(key, FieldFate::Ignored(localized!("field-is-reason")));
    }

    /// Takes every key not requested so far, with its value.
    pub fn rest(&mut self, into: fn() -> LocalizedText) -> Vec<(String, Value)> {
        let mut taken = Vec::new();
        for (entry, fate) in self.entries.iter().zip(&mut self.fates) {
            if fate.is_none() {
                *fate = Some(FieldFate::Mapped(into()));
                taken.push((entry.key.clone(), entry.value.to_json()));
            }
        }
        taken
    }

    /// Reports the unknown keys and returns the report.
    pub fn finish(mut self) -> KeyReport {
        for at in 0..self.entries.len() {
            if self.fates[at].is_none() {
                self.unknown(at);
            }
        }
        let fates = self.fates.into_iter().map(|fate| fate.unwrap_or(FieldFate::Honoured));
        let fields = self
            .entries
            .into_iter()
            .zip(fates)
            .map(|(entry, fate)| FieldReport { key: visible(prefix(&entry.key, 128)).into_owned(), fate });
        self.remarks.sort_by_key(|remark| remark.line);
        KeyReport { fields: fields.collect(), remarks: self.remarks, extra: self.extra }
    }

    fn unknown(&mut self, at: usize) {
        let key = self.entries[at].key.clone();
        let near = self.asked.iter().copied().find(|asked| is_near(asked, &key));
        let is_right = near.is_some_and(|near| RIGHTS.contains(&near)) || is_right(&key);
        let why = match near {
            Some(near) => localized!("key-unknown-near", near),
            None => localized!("key-unknown"),
        };
        // Someone meant to restrict a right here, so the report alone is not enough.
        if is_right {
            let text = localized!("right-unknown", shown = shown(&key));
            let hint = near.map(|near| localized!("did-you-mean", name = near));
            self.remarks.push(warning(text, Some(self.entries[at].line), hint.as_ref()));
        }
        self.fates[at] = Some(FieldFate::Ignored(why));
        self.keep_extra(at);
    }

    /// Finds a key. Rights are found in any spelling: `disallowed-tools` was meant to restrict something.
    fn find(&mut self, key: &'static str) -> Option<usize> {
        let is_new = !self.asked.contains(&key);
        if is_new {
            self.asked.push(key);
        }
        if let Some(at) = self.entries.iter().position(|entry| entry.key == key) {
            return Some(at);
        }
        let at = self.respelled(key)?;
        if is_new {
            let text = localized!("key-respelled", shown = shown(&self.entries[at].key), key);
            let line = Some(self.entries[at].line);
            self.remarks.push(warning(text, line, Some(&localized!("key-respelled-hint"))));
        }
        Some(at)
    }

    fn respelled(&self, key: &str) -> Option<usize> {
        let same = |entry: &YamlEntry| plain(&entry.key) == plain(key);
        let at = RIGHTS.contains(&key).then(|| self.entries.iter().position(same))??;
        // Another key of the format may have this spelling.
        let own = self.asked.iter().any(|asked| *asked == self.entries[at].key);
        (!own).then_some(at)
    }

    fn line_of(&self, key: &str) -> Option<u32> {
        self.line(key).or_else(|| self.respelled(key).map(|at| self.entries[at].line))
    }

    fn mark(&mut self, key: &'static str, fate: FieldFate) {
        if let Some(at) = self.find(key) {
            self.fates[at] = Some(fate);
        }
    }

    fn keep_extra(&mut self, at: usize) {
        let entry = &self.entries[at];
        self.extra.insert(entry.key.clone(), entry.value.to_json());
    }
}

fn listed<T>(words: &[Word<T>]) -> LocalizedText {
    let words: Vec<&str> = words.iter().map(|(word, ..)| *word).collect();
    words.join(", ").into()
}

/// Splits at commas, except inside parentheses as in `Agent(a, b)`.
fn commas(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match entries.last_mut() {
            Some(entry) if c != ',' || depth > 0 => entry.push(c),
            _ => entries.push(String::new()),
        }
    }
    entries.iter().map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect()
}

fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// Returns whether two keys differ by one typing error or by their word separators.
fn is_near(known: &str, key: &str) -> bool {
    let (known, key): (Vec<char>, Vec<char>) = (plain(known).chars().collect(), plain(key).chars().collect());
    let (short, long) = if known.len() <= key.len() { (&known, &key) } else { (&key, &known) };
    if long.len() - short.len() > 1 || short.len() < 3 {
        return known == key;
    }
    let same = short.iter().zip(long.iter()).take_while(|(a, b)| a == b).count();
    if short.len() < long.len() {
        return short[same..] == long[same + 1..];
    }
    let swapped = same + 1 < long.len()
        && short[same] == long[same + 1]
        && short[same + 1] == long[same]
        && short[same + 2..] == long[same + 2..];
    same == long.len() || swapped || short[same + 1..] == long[same + 1..]
}
