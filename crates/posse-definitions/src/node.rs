//! A parsed value. Maps keep their order, because in some formats the last matching rule wins.

use std::fmt;

use posse_messages::{LocalizedText, localized};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::{Number, Value};
use serde_saphyr::Spanned;

/// A value of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum YamlNode {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<YamlNode>),
    Map(Vec<YamlEntry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlEntry {
    pub key: String,
    /// Line in the file, starting at 1.
    pub line: u32,
    pub value: YamlNode,
}

impl YamlNode {
    /// Names the type for a message.
    pub fn kind(&self) -> LocalizedText {
        match self {
            YamlNode::Null => localized!("kind-empty"),
            YamlNode::Bool(_) => localized!("kind-flag"),
            YamlNode::Number(_) => localized!("kind-number"),
            YamlNode::Text(_) => localized!("kind-text"),
            YamlNode::List(_) => localized!("kind-list"),
            YamlNode::Map(_) => localized!("kind-map"),
        }
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> Value {
        match self {
            YamlNode::Null => Value::Null,
            YamlNode::Bool(flag) => Value::Bool(*flag),
            YamlNode::Number(number) => Value::Number(number.clone()),
            YamlNode::Text(text) => Value::String(text.clone()),
            YamlNode::List(items) => Value::Array(items.iter().map(YamlNode::to_json).collect()),
            YamlNode::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
            ),
        }
    }

    /// Moves all line numbers down, for a part that was parsed on its own.
    pub fn shift(&mut self, lines: u32) {
        match self {
            YamlNode::List(items) => items.iter_mut().for_each(|item| item.shift(lines)),
            YamlNode::Map(entries) => {
                for entry in entries {
                    entry.line = entry.line.saturating_add(lines);
                    entry.value.shift(lines);
                }
            }
            YamlNode::Null | YamlNode::Bool(_) | YamlNode::Number(_) | YamlNode::Text(_) => {}
        }
    }
}

impl From<Value> for YamlNode {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => YamlNode::Null,
            Value::Bool(flag) => YamlNode::Bool(flag),
            Value::Number(number) => YamlNode::Number(number),
            Value::String(text) => YamlNode::Text(text),
            Value::Array(items) => YamlNode::List(items.into_iter().map(YamlNode::from).collect()),
            Value::Object(entries) => YamlNode::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| YamlEntry { key, line: 0, value: value.into() })
                    .collect(),
            ),
        }
    }
}

impl Serialize for YamlNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            YamlNode::Null => serializer.serialize_unit(),
            YamlNode::Bool(flag) => serializer.serialize_bool(*flag),
            YamlNode::Number(number) => number.serialize(serializer),
            YamlNode::Text(text) => serializer.serialize_str(text),
            YamlNode::List(items) => serializer.collect_seq(items),
            YamlNode::Map(entries) => {
                serializer.collect_map(entries.iter().map(|entry| (&entry.key, &entry.value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = YamlNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Null)
    }
    fn visit_none<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlNode, D::Error> {
        YamlNode::deserialize(deserializer)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<YamlNode, E> {
        Ok(YamlNode::Bool(flag))
    }
    fn visit_i64<E>(self, number: i64) -> Result<YamlNode, E> {
        Ok(YamlNode::Number(number.into()))
    }
    fn visit_u64<E>(self, number: u64) -> Result<YamlNode, E> {
        Ok(YamlNode::Number(number.into()))
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<YamlNode, E> {
        Number::from_f64(number).map(YamlNode::Number).ok_or_else(|| E::custom("not a finite number"))
    }
    fn visit_str<E>(self, text: &str) -> Result<YamlNode, E> {
        Ok(YamlNode::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<YamlNode, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(YamlNode::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlNode, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let line = u32::try_from(key.referenced.line()).unwrap_or(u32::MAX);
            entries.push(YamlEntry { key: key.value, line, value: map.next_value()? });
        }
        Ok(YamlNode::Map(entries))
    }
}
