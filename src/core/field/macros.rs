//! The declarations of structs with settings.

/// A struct that a person fills, its defaults and its settings, whose keys begin with the prefix. A row without `=>` is
/// a struct with settings of its own; a row without `=` has the default of its type.
macro_rules! fields {
    (
        $(#[$meta:meta])*
        pub struct $name:ident in $prefix:literal {
            $($(#[doc = $hint:literal])+ $field:ident: $type:ty $(= $usual:expr)? $(=> $row:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        #[allow(clippy::doc_markdown)] // hints are shown as they stand
        pub struct $name {
            $($(#[doc = $hint])+ pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::field::fields!(@usual $($usual)?),)* }
            }
        }

        $crate::field::fields!(@settable $name {
            $($field: concat!($prefix, stringify!($field)), [$($row)?], concat!($($hint),+);)*
        });
    };
    (@settable $name:ident { $($field:ident: $key:expr, $row:tt, $hint:expr;)* }) => {
        impl $crate::field::Settable for $name {
            fn fields(_: &'static str, _: $crate::field::Row) -> Vec<$crate::field::FieldOf<Self>> {
                let mut fields = Vec::new();
                $(fields.extend($crate::field::at(
                    $key,
                    $crate::field::fields!(@row $row).hint($hint),
                    |whole: &Self| &whole.$field,
                    |whole: &mut Self| &mut whole.$field,
                ));)*
                fields
            }
        }
    };
    (@usual) => { Default::default() };
    (@usual $usual:expr) => { $usual };
    (@row []) => { $crate::field::Row::default() };
    (@row [$row:expr]) => { $row };
}

/// Shapes that a preset has, the parts of them that a person may set, and how the two are resolved. A row without `=`
/// has to be given; its default may name rows before it. A row without `=>` is a shape of its own. `as` is the key
/// where it differs from the name. Fields in the first braces cannot be set.
macro_rules! shape {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $({ $($(#[$about:meta])* $fixed:ident: $fixed_type:ty = $fixed_usual:expr,)* })?,
        $parts:ident in $prefix:literal {
            $($(#[doc = $hint:literal])+ $field:ident $(as $key:ident)?: $type:ty $(= $usual:expr)? $(=> $row:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(clippy::doc_markdown)] // hints are shown as they stand
        pub struct $name {
            $($($(#[$about])* pub $fixed: $fixed_type,)*)?
            $($(#[doc = $hint])+ pub $field: $type,)*
        }

        #[doc = concat!("Parts of [`", stringify!($name), "`] that were set one by one; none: the preset's.")]
        #[derive(Clone, Debug, Default, PartialEq)]
        #[allow(clippy::doc_markdown)] // the same
        pub struct $parts {
            $($(#[doc = $hint])+ pub $field: <$type as $crate::field::PresetShape>::Parts,)*
        }

        impl $name {
            /// The defaults, and what stands in for all that has to be given.
            #[allow(dead_code)] // for those that are written as constants
            pub(crate) const BARE: Self = {
                $($(let $fixed = $fixed_usual;)*)?
                $(let $field: $type = $crate::field::shape!(@bare $type $(, $usual)?);)*
                Self { $($($fixed,)*)? $($field,)* }
            };
        }

        impl $parts {
            /// The shapes that they mean over `base`.
            pub(crate) fn over(&self, base: Option<$name>, missing: &mut $crate::field::MissingParts) -> $name {
                $($(let $fixed = base.map_or($fixed_usual, |base| base.$fixed);)*)?
                $(let $field = $crate::field::PresetShape::resolve(
                    &self.$field,
                    base.map(|base| base.$field),
                    $crate::field::shape!(@key $prefix $field $($key)?),
                    $crate::field::shape!(@usual $($usual)?),
                    missing,
                );)*
                $name { $($($fixed,)*)? $($field,)* }
            }
        }

        impl From<$name> for $parts {
            fn from(shape: $name) -> Self {
                Self { $($field: $crate::field::PresetShape::spelled(shape.$field),)* }
            }
        }

        /// May be lacking; there where a part of it is set.
        impl $crate::field::PresetShape for Option<$name> {
            type Parts = $parts;
            const STAND_IN: Self = None;

            fn resolve(
                parts: &$parts,
                base: Option<Self>,
                _: &'static str,
                _: Option<Self>,
                missing: &mut $crate::field::MissingParts,
            ) -> Self {
                let base = base.flatten();
                (base.is_some() || *parts != $parts::default()).then(|| parts.over(base, missing))
            }

            fn spelled(self) -> $parts {
                self.map(Into::into).unwrap_or_default()
            }
        }

        $crate::field::fields!(@settable $parts {
            $($field: $crate::field::shape!(@key $prefix $field $($key)?), [$($row)?], concat!($($hint),+);)*
        });
    };
    (@key $prefix:literal $field:ident) => { concat!($prefix, stringify!($field)) };
    (@key $prefix:literal $field:ident $key:ident) => { concat!($prefix, stringify!($key)) };
    (@usual) => { None };
    (@usual $usual:expr) => { Some($usual) };
    (@bare $type:ty) => { <$type as $crate::field::PresetShape>::STAND_IN };
    (@bare $type:ty, $usual:expr) => { $usual };
}

pub(crate) use {fields, shape};
