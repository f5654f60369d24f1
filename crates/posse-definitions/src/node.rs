//! A parsed value. Maps keep their order, because in some formats the last matching rule wins.

use std::fmt;

use posse_messages::{LocalizedText, localized};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::{Number, Value};
use serde_saphyr::Spanned;

/// A value of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    /// Line in the file, starting at 1.
    pub line: u32,
    pub value: Node,
}

impl Node {
    /// Names the type for a message.
    pub fn kind(&self) -> LocalizedText {
        match self {
            Node::Null => localized!("kind-empty"),
            Node::Bool(_) => localized!("kind-flag"),
            Node::Number(_) => localized!("kind-number"),
            Node::Text(_) => localized!("kind-text"),
            Node::List(_) => localized!("kind-list"),
            Node::Map(_) => localized!("kind-map"),
        }
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Node::Null => Value::Null,
            Node::Bool(flag) => Value::Bool(*flag),
            Node::Number(number) => Value::Number(number.clone()),
            Node::Text(text) => Value::String(text.clone()),
            Node::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Node::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
            ),
        }
    }

    /// Moves all line numbers down, for a part that was parsed on its own.
    pub fn shift(&mut self, lines: u32) {
        match self {
            Node::List(items) => items.iter_mut().for_each(|item| item.shift(lines)),
            Node::Map(entries) => {
                for entry in entries {
                    entry.line = entry.line.saturating_add(lines);
                    entry.value.shift(lines);
                }
            }
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::Text(_) => {}
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Node::Null,
            Value::Bool(flag) => Node::Bool(flag),
            Value::Number(number) => Node::Number(number),
            Value::String(text) => Node::Text(text),
            Value::Array(items) => Node::List(items.into_iter().map(Node::from).collect()),
            Value::Object(entries) => Node::Map(
                entries.into_iter().map(|(key, value)| Entry { key, line: 0, value: value.into() }).collect(),
            ),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(flag) => serializer.serialize_bool(*flag),
            Node::Number(number) => number.serialize(serializer),
            Node::Text(text) => serializer.serialize_str(text),
            Node::List(items) => serializer.collect_seq(items),
            Node::Map(entries) => {
                serializer.collect_map(entries.iter().map(|entry| (&entry.key, &entry.value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Bool(flag))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.into()))
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        Number::from_f64(number).map(Node::Number).ok_or_else(|| E::custom("not a finite number"))
    }
    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }
    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let line = u32::try_from(key.referenced.line()).unwrap_or(u32::MAX);
            entries.push(Entry { key: key.value, line, value: map.next_value()? });
        }
        Ok(Node::Map(entries))
    }
}
