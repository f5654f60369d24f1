//! Values as compact JSON, byte for byte as `serde_json` writes them. Records are written at every turn, and most of a
//! record is keys and small numbers: here a key is one piece that needs no escape, and nothing is written through a trait.

use serde::Serialize;
use serde::ser::{
    Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Error, Result};

use super::{is_short, string};

/// Appends `value`. Fails where it says so itself, and for maps whose keys are not texts.
pub fn append(value: &impl Serialize, out: &mut Vec<u8>) -> Result<()> {
    value.serialize(Compact(out))
}

struct Compact<'a>(&'a mut Vec<u8>);

impl<'a> Compact<'a> {
    fn raw(self, text: &str) -> Result<()> {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn list(self) -> Result<Parts<'a>> {
        self.0.push(b'[');
        Ok(Parts { out: self.0, is_empty: true, close: "]" })
    }

    fn object(self) -> Result<Parts<'a>> {
        self.0.push(b'{');
        Ok(Parts { out: self.0, is_empty: true, close: "}" })
    }

    /// An object with one key, of which only the value is missing.
    fn variant(self, name: &'static str) -> Self {
        self.0.extend_from_slice(b"{\"");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
        self
    }

    /// What records hardly ever have.
    fn rare(self, value: impl Serialize) -> Result<()> {
        serde_json::to_writer(self.0, &value)
    }
}

impl<'a> Serializer for Compact<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    fn serialize_bool(self, value: bool) -> Result<()> {
        self.raw(if value { "true" } else { "false" })
    }
    fn serialize_i8(self, value: i8) -> Result<()> {
        self.serialize_i64(value.into())
    }
    fn serialize_i16(self, value: i16) -> Result<()> {
        self.serialize_i64(value.into())
    }
    fn serialize_i32(self, value: i32) -> Result<()> {
        self.serialize_i64(value.into())
    }
    fn serialize_i64(self, value: i64) -> Result<()> {
        if value < 0 {
            self.0.push(b'-');
        }
        self.serialize_u64(value.unsigned_abs())
    }
    fn serialize_u8(self, value: u8) -> Result<()> {
        self.serialize_u64(value.into())
    }
    fn serialize_u16(self, value: u16) -> Result<()> {
        self.serialize_u64(value.into())
    }
    fn serialize_u32(self, value: u32) -> Result<()> {
        self.serialize_u64(value.into())
    }
    fn serialize_u64(self, value: u64) -> Result<()> {
        let mut digits = [0; 20];
        let mut first = digits.len();
        let mut rest = value;
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.0.extend_from_slice(&digits[first..]);
        Ok(())
    }
    fn serialize_i128(self, value: i128) -> Result<()> {
        self.rare(value)
    }
    fn serialize_u128(self, value: u128) -> Result<()> {
        self.rare(value)
    }
    fn serialize_f32(self, value: f32) -> Result<()> {
        self.rare(value)
    }
    fn serialize_f64(self, value: f64) -> Result<()> {
        self.rare(value)
    }
    fn serialize_char(self, value: char) -> Result<()> {
        self.rare(value)
    }
    fn serialize_str(self, value: &str) -> Result<()> {
        if is_short(value) {
            self.0.push(b'"');
            self.0.extend_from_slice(value.as_bytes());
            self.0.push(b'"');
        } else {
            string(value, &mut |piece| self.0.extend_from_slice(piece));
        }
        Ok(())
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        self.rare(value)
    }
    fn serialize_none(self) -> Result<()> {
        self.raw("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<()> {
        self.raw("null")
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.raw("null")
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let Compact(out) = self.variant(variant);
        value.serialize(Compact(out))?;
        Compact(out).raw("}")
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>> {
        self.list()
    }
    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>> {
        self.list()
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>> {
        self.list()
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>> {
        Ok(Parts { close: "]}", ..self.variant(variant).list()? })
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>> {
        self.object()
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>> {
        self.object()
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>> {
        Ok(Parts { close: "}}", ..self.variant(variant).object()? })
    }
}

/// The inside of a list or an object.
struct Parts<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
    close: &'static str,
}

impl Parts<'_> {
    fn comma(&mut self) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.comma();
        value.serialize(Compact(self.out))
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
        if std::mem::take(&mut self.is_empty) {
            self.out.push(b'"');
        } else {
            self.out.extend_from_slice(b",\"");
        }
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        value.serialize(Compact(self.out))
    }

    fn close(self) -> Result<()> {
        Compact(self.out).raw(self.close)
    }
}

macro_rules! parts {
    ($($kind:ident, $part:ident($($key:ident: $type:ty)?), $add:ident;)*) => {$(
        impl $kind for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn $part<T: Serialize + ?Sized>(&mut self, $($key: $type,)? value: &T) -> Result<()> {
                self.$add($($key,)? value)
            }
            fn end(self) -> Result<()> {
                self.close()
            }
        }
    )*};
}

parts! {
    SerializeSeq, serialize_element(), element;
    SerializeTuple, serialize_element(), element;
    SerializeTupleStruct, serialize_field(), element;
    SerializeTupleVariant, serialize_field(), element;
    SerializeStruct, serialize_field(key: &'static str), field;
    SerializeStructVariant, serialize_field(key: &'static str), field;
}

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.comma();
        let begun = self.out.len();
        key.serialize(Compact(self.out))?;
        if self.out.get(begun) != Some(&b'"') {
            return Err(Error::custom("a key is not a text"));
        }
        self.out.push(b':');
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(Compact(self.out))
    }
    fn end(self) -> Result<()> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Number, Value};

    use super::*;

    #[derive(Serialize)]
    struct Unit;
    #[derive(Serialize)]
    struct Wrapped(i8);
    #[derive(Serialize)]
    struct Pair(u16, Option<bool>);
    #[derive(Serialize)]
    enum Variant {
        Bare,
        One(i64),
        Two(u8, i16),
        Named { a: u32, b: (i32, &'static str) },
    }
    #[derive(Serialize)]
    #[serde(tag = "tag", rename_all = "snake_case")]
    enum Tagged {
        Bare,
        Named { a: f32, b: () },
        Held(Held),
    }
    #[derive(Serialize)]
    struct Held {
        character: char,
        large: (i128, u128),
    }
    #[derive(Serialize)]
    #[serde(tag = "tag", content = "content")]
    enum Beside {
        One(String),
        Two(u64, u64),
    }
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Bare {
        One(f64),
        Two { c: [u8; 2] },
    }
    #[derive(Serialize)]
    struct Flat {
        first: i64,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }

    fn same(value: &impl Serialize) {
        let mut written = b"before".to_vec();
        append(value, &mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(written, format!("before{}", serde_json::to_string(value).unwrap()));
    }

    #[test]
    fn every_kind_of_value_is_written_as_by_the_general_serialiser() {
        same(&(Unit, Wrapped(-128), Pair(65535, None), Pair(0, Some(true)), Pair(1, Some(false))));
        same(&[Variant::Bare, Variant::One(i64::MIN), Variant::Two(255, -32768)]);
        same(&Variant::Named { a: 7, b: (i32::MIN, "é\n\"") });
        let held = Held { character: '"', large: (i128::MIN, u128::MAX) };
        same(&[Tagged::Bare, Tagged::Named { a: 0.1, b: () }, Tagged::Held(held)]);
        same(&[Beside::One("\u{1}".repeat(2000)), Beside::Two(u64::MAX, 10)]);
        same(&[Bare::One(1e300), Bare::One(f64::NAN), Bare::Two { c: [0, 9] }]);
        let rest =
            BTreeMap::from([("a\"b".to_owned(), Value::from(vec![1.5])), (String::new(), Value::Null)]);
        same(&Flat { first: 100, rest });
        same(&(Vec::<u8>::new(), BTreeMap::<String, u8>::new(), BTreeMap::from([(Variants::A, 1)])));
    }

    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Variants {
        A,
    }

    #[test]
    fn a_key_that_is_no_text_is_refused() {
        assert!(append(&BTreeMap::from([((1, 2), 3)]), &mut Vec::new()).is_err());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| Number::from_f64(number).map_or(Value::Null, Value::Number)),
            ".{0,80}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(".{0,8}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_is_written_as_by_the_general_serialiser(value in value()) {
            same(&value);
        }
    }
}
