//! Fast path of argument checks: most tools take a flat object with typed fields, which is checked without compiling a
//! validator. That takes milliseconds, because it first compiles the meta-schema.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A schema that only has types of fields and required fields.
pub(super) struct PlainSchema {
    fields: Vec<PlainField>,
    /// No other fields are allowed.
    closed: bool,
}

struct PlainField {
    name: String,
    /// Type of the field; `None` if the schema only requires it.
    kind: Option<FieldKind>,
    required: bool,
}

/// Limit on fields: seen fields are bits of one integer.
const FIELDS_MAX: usize = 64;

#[derive(Clone, Copy)]
enum FieldKind {
    Text,
    Integer,
    Number,
    Truth,
}

impl PlainSchema {
    /// Parses a schema; `None` if it has any keyword that is not supported here.
    pub fn of(schema: &Value) -> Option<Self> {
        let mut plain = Self { fields: Vec::new(), closed: false };
        let mut is_object = false;
        for (keyword, value) in schema.as_object()? {
            match (keyword.as_str(), value) {
                ("type", Value::String(name)) if name == "object" => is_object = true,
                ("properties", Value::Object(fields)) => {
                    for (name, field) in fields {
                        plain.field(name).kind = Some(kind(field)?);
                    }
                }
                ("required", Value::Array(names)) => {
                    for name in names {
                        plain.field(name.as_str()?).required = true;
                    }
                }
                ("additionalProperties", Value::Bool(allowed)) => plain.closed = !allowed,
                ("title" | "description", Value::String(_)) => {}
                _ => return None,
            }
        }
        (is_object && plain.fields.len() <= FIELDS_MAX).then_some(plain)
    }

    fn field(&mut self, name: &str) -> &mut PlainField {
        let known = self.fields.iter().position(|field| field.name == name);
        let at = known.unwrap_or_else(|| {
            self.fields.push(PlainField { name: name.to_owned(), kind: None, required: false });
            self.fields.len() - 1
        });
        &mut self.fields[at]
    }

    /// Returns true if the text is an object that is certainly valid; all others go to the real validator. Every call
    /// passes here, so no value is kept.
    pub fn surely_fits(&self, arguments: &str) -> bool {
        let mut text = serde_json::Deserializer::from_str(arguments);
        let fits = text.deserialize_map(ArgumentFit(self)).unwrap_or(false);
        fits && text.end().is_ok()
    }
}

/// Reads arguments, and returns whether they fit.
struct ArgumentFit<'a>(&'a PlainSchema);

impl<'de> Visitor<'de> for ArgumentFit<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let PlainSchema { fields, closed } = self.0;
        let (mut fits, mut seen) = (true, 0u64);
        while let Some(at) = map.next_key_seed(FieldPlace(fields))? {
            seen |= at.map_or(0, |at| 1 << at);
            fits &= match at.and_then(|at| fields[at].kind) {
                Some(kind) => map.next_value_seed(kind)?,
                None => map.next_value::<IgnoredAny>().map(|_| !closed)?,
            };
        }
        let missing = fields.iter().enumerate().any(|(at, field)| field.required && seen & (1 << at) == 0);
        Ok(fits && !missing)
    }
}

/// Reads the name of a field, and returns its index.
struct FieldPlace<'a>(&'a [PlainField]);

impl<'de> DeserializeSeed<'de> for FieldPlace<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldPlace<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|field| field.name == name))
    }
}

/// Reads a value, and returns whether it has this type.
impl<'de> DeserializeSeed<'de> for FieldKind {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldKind {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(matches!(self, FieldKind::Text))
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(matches!(self, FieldKind::Integer | FieldKind::Number))
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(matches!(self, FieldKind::Integer | FieldKind::Number))
    }

    /// `1.0` is an integer too; that is left to the validator.
    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(matches!(self, FieldKind::Number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(matches!(self, FieldKind::Truth))
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<bool, A::Error> {
        IgnoredAny.visit_seq(list).map(|_| false)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<bool, A::Error> {
        IgnoredAny.visit_map(map).map(|_| false)
    }
}

fn kind(field: &Value) -> Option<FieldKind> {
    let mut kind = None;
    for (keyword, value) in field.as_object()? {
        match (keyword.as_str(), value) {
            ("type", Value::String(name)) => {
                kind = Some(match name.as_str() {
                    "string" => FieldKind::Text,
                    "integer" => FieldKind::Integer,
                    "number" => FieldKind::Number,
                    "boolean" => FieldKind::Truth,
                    _ => return None,
                });
            }
            ("title" | "description", Value::String(_)) | ("default", _) => {}
            _ => return None,
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Schemas of one field with one more keyword, and values: arguments that fit are valid.
    #[test]
    fn what_surely_fits_is_valid_and_what_is_not_understood_is_left_to_the_validator() {
        let fields = [
            json!({"type": "string"}),
            json!({"type": "string", "description": "d", "default": 7}),
            json!({"type": "integer"}),
            json!({"type": "number"}),
            json!({"type": "boolean", "title": "t"}),
            json!({"type": "string", "enum": ["x"]}),
            json!({"type": "integer", "minimum": 5}),
            json!({"type": ["string", "null"]}),
            json!({"type": "array"}),
            json!({"description": "any"}),
            json!(true),
        ];
        let values =
            [json!("x"), json!(""), json!(1), json!(1.5), json!(-3), json!(true), json!(null), json!([1])];
        let mut fitting = 0;
        for field in &fields {
            for (required, closed) in [(true, true), (true, false), (false, true)] {
                let mut schema = json!({"type": "object", "properties": {"a": field}});
                schema["additionalProperties"] = json!(!closed);
                if required {
                    schema["required"] = json!(["a"]);
                }
                let Some(plain) = PlainSchema::of(&schema) else { continue };
                let validator = jsonschema::validator_for(&schema).unwrap();
                for value in &values {
                    for arguments in [json!({"a": value}), json!({"a": value, "b": 1}), json!({})] {
                        let fits = plain.surely_fits(&arguments.to_string());
                        assert!(!fits || validator.is_valid(&arguments), "{schema} {arguments}");
                        fitting += usize::from(fits);
                    }
                }
            }
        }
        assert!(fitting > 40, "only {fitting} were said to fit");
        let two = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]});
        let two = PlainSchema::of(&two).unwrap();
        assert!(two.surely_fits(r#"{"b": [{}], "a": "x"}"#));
        for broken in [
            "",
            "[]",
            r#""a""#,
            r#"{"a":"x"}"#,
            r#"{"a":"x","a":"x"}"#,
            r#"{"a":"x","b":1} 2"#,
            r#"{"a":"x","b":"#,
        ] {
            assert!(!two.surely_fits(broken), "{broken}");
        }
        assert!(fields[5..].iter().all(|field| kind(field).is_none()));
        assert!(PlainSchema::of(&json!({"type": "object", "minProperties": 1})).is_none());
        assert!(PlainSchema::of(&json!({"properties": {}})).is_none());
    }
}
