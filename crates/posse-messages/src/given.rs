//! Arguments of messages. Whole numbers stay numbers, so that a message can choose its plural. A [`LocalizedText`] stays in
//! both its languages. Everything else becomes the text it displays as.

use std::fmt::Display;

use fluent_bundle::FluentValue;

use crate::localized::LocalizedText;

/// Beyond this a number is not exact in Fluent, which counts in floating point.
const EXACT_MAX: u64 = 1 << 53;

/// An argument of a message, with its conversion chosen by type.
pub struct Given<'a, T: ?Sized>(pub &'a T);

/// The value of an argument in the language of this process, and in English where that differs.
#[derive(Debug, Clone)]
pub struct Argument {
    pub local: FluentValue<'static>,
    pub english: Option<FluentValue<'static>>,
}

impl Argument {
    pub(crate) fn in_english(&self) -> &FluentValue<'static> {
        self.english.as_ref().unwrap_or(&self.local)
    }
}

impl<T: Into<FluentValue<'static>>> From<T> for Argument {
    fn from(value: T) -> Self {
        Self { local: value.into(), english: None }
    }
}

/// Is found before [`Text`], because that needs one more reference.
pub trait Number {
    fn value(&self) -> Argument;
}

/// Conversion of text arguments.
pub trait Text {
    fn value(&self) -> Argument;
}

impl<T: Display + ?Sized> Text for &Given<'_, T> {
    fn value(&self) -> Argument {
        Argument::from(self.0.to_string())
    }
}

impl Number for Given<'_, LocalizedText> {
    fn value(&self) -> Argument {
        let english = self.0.english_if_other().map(|text| FluentValue::from(text.to_owned()));
        Argument { english, ..Argument::from(self.0.to_string()) }
    }
}

impl Number for Given<'_, &LocalizedText> {
    fn value(&self) -> Argument {
        Given(*self.0).value()
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Number for Given<'_, $number> {
            fn value(&self) -> Argument {
                let n = *self.0;
                match u64::try_from(n) {
                    Ok(whole) if whole <= EXACT_MAX => Argument::from(n),
                    Ok(_) | Err(_) => Argument::from(n.to_string()),
                }
            }
        }

        impl Number for Given<'_, &$number> {
            fn value(&self) -> Argument {
                Given(*self.0).value()
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 usize i32 i64 }
