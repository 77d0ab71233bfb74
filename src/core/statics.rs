//! Texts that live as long as the program, and enums whose values have one.

use serde::Serializer;

/// Writes one as the name of a variant, which JavaScript gets as the same string object every time:
/// `#[serde(serialize_with = "statics::name")]`.
///
/// # Errors
/// Errors of the serializer.
pub(crate) fn name<S: Serializer>(text: &&'static str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_unit_variant("", 0, text)
}

/// Declares an enum with the list of its values, and a method with the word of each. It is not [`one_of!`], whose enums
/// are types of settings: those have an id of links and a label of the form behind a trait that generic code reads,
/// these one word that a `const fn` of their own gives. One macro for both would have two grammars and save no line.
///
/// [`one_of!`]: crate::field::one_of
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $name:ident: $word:ident {
        $($(#[$about:meta])* $variant:ident = $text:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            /// All of them, in order.
            #[allow(dead_code)] // not every list is asked for
            $vis const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            #[doc = concat!("Its ", stringify!($word), ".")]
            #[must_use]
            $vis const fn $word(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

pub use named;
