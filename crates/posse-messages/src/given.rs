//! Arguments of messages. Whole numbers stay numbers, so that a message can choose its plural; everything else is the text it
//! shows itself as.

use std::fmt::Display;

use fluent_bundle::FluentValue;

/// Beyond this a number is not exact in Fluent, which counts in floating point.
const EXACT_MAX: u64 = 1 << 53;

pub struct Given<'a, T: ?Sized>(pub &'a T);

/// Is found before [`Text`], because that needs one more reference.
pub trait Number {
    fn value(&self) -> FluentValue<'static>;
}

pub trait Text {
    fn value(&self) -> FluentValue<'static>;
}

impl<T: Display + ?Sized> Text for &Given<'_, T> {
    fn value(&self) -> FluentValue<'static> {
        FluentValue::from(self.0.to_string())
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Number for Given<'_, $number> {
            fn value(&self) -> FluentValue<'static> {
                let n = *self.0;
                match u64::try_from(n) {
                    Ok(whole) if whole <= EXACT_MAX => FluentValue::from(n),
                    Ok(_) | Err(_) => FluentValue::from(n.to_string()),
                }
            }
        }

        impl Number for Given<'_, &$number> {
            fn value(&self) -> FluentValue<'static> {
                Given(*self.0).value()
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 usize i32 i64 }
