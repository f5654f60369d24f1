//! The arguments of most tools are a flat object with typed fields. Whether a call plainly fits such a schema is seen without
//! compiling a validator, which takes milliseconds: it first compiles the schema of all schemas.

use serde_json::{Map, Value};

/// A schema that says nothing but the types of some fields and which of them are required.
pub(super) struct Plain {
    fields: Vec<(String, Kind)>,
    required: Vec<String>,
    /// No other fields are allowed.
    closed: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Integer,
    Number,
    Truth,
}

impl Plain {
    /// `None` if the schema says anything that is not understood here.
    pub fn of(schema: &Value) -> Option<Self> {
        let mut plain = Self { fields: Vec::new(), required: Vec::new(), closed: false };
        let mut is_object = false;
        for (keyword, value) in schema.as_object()? {
            match (keyword.as_str(), value) {
                ("type", Value::String(name)) if name == "object" => is_object = true,
                ("properties", Value::Object(fields)) => {
                    let kinds = fields.iter().map(|(name, field)| Some((name.clone(), kind(field)?)));
                    plain.fields = kinds.collect::<Option<_>>()?;
                }
                ("required", Value::Array(names)) => {
                    let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                    plain.required = names.collect::<Option<_>>()?;
                }
                ("additionalProperties", Value::Bool(allowed)) => plain.closed = !allowed,
                ("title" | "description", Value::String(_)) => {}
                _ => return None,
            }
        }
        is_object.then_some(plain)
    }

    /// True if the arguments are valid beyond doubt; for all others the real validator is asked.
    pub fn surely_fits(&self, arguments: &Map<String, Value>) -> bool {
        let known = |name: &String| self.fields.iter().find(|(field, _)| field == name);
        self.required.iter().all(|name| arguments.contains_key(name))
            && arguments.iter().all(|(name, value)| match known(name) {
                Some((_, kind)) => kind.holds(value),
                None => !self.closed,
            })
    }
}

fn kind(field: &Value) -> Option<Kind> {
    let mut kind = None;
    for (keyword, value) in field.as_object()? {
        match (keyword.as_str(), value) {
            ("type", Value::String(name)) => {
                kind = Some(match name.as_str() {
                    "string" => Kind::Text,
                    "integer" => Kind::Integer,
                    "number" => Kind::Number,
                    "boolean" => Kind::Truth,
                    _ => return None,
                });
            }
            ("title" | "description", Value::String(_)) | ("default", _) => {}
            _ => return None,
        }
    }
    kind
}

impl Kind {
    fn holds(self, value: &Value) -> bool {
        match self {
            Kind::Text => value.is_string(),
            // `1.0` is an integer too; that is for the validator to say.
            Kind::Integer => value.is_i64() || value.is_u64(),
            Kind::Number => value.is_number(),
            Kind::Truth => value.is_boolean(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Schemas of one field with one keyword more, and values: whatever is said to fit is valid.
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
                let Some(plain) = Plain::of(&schema) else { continue };
                let validator = jsonschema::validator_for(&schema).unwrap();
                for value in &values {
                    for arguments in [json!({"a": value}), json!({"a": value, "b": 1}), json!({})] {
                        let fits = plain.surely_fits(arguments.as_object().unwrap());
                        assert!(!fits || validator.is_valid(&arguments), "{schema} {arguments}");
                        fitting += usize::from(fits);
                    }
                }
            }
        }
        assert!(fitting > 40, "only {fitting} were said to fit");
        assert!(fields[5..].iter().all(|field| kind(field).is_none()));
        assert!(Plain::of(&json!({"type": "object", "minProperties": 1})).is_none());
        assert!(Plain::of(&json!({"properties": {}})).is_none());
    }
}
