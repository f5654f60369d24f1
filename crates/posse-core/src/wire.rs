//! Enums whose values have a name in files, requests and answers.

/// Defines an enum with the wire name of each variant.
#[macro_export]
macro_rules! wire_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$about:meta])* $variant:ident = $wire:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$about])* $variant,)+ }

        impl $name {
            /// Every value, in the order of the enum.
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// Returns the wire name.
            pub fn wire(self) -> &'static str {
                match self { $($name::$variant => $wire,)+ }
            }

            /// Parses a wire name.
            pub fn from_wire(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.wire() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.wire())
            }
        }
    };
}
