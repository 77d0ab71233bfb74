//! Settings that are one of a list: their ids in links and JSON, which never change, and their labels.

/// One possible value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The id in links and JSON.
    pub id: &'static str,
    /// The name on the page.
    pub label: &'static str,
}

/// A setting that is one of a fixed list.
pub trait OneOf: Copy + PartialEq + 'static {
    /// Values in the order of the page.
    const ALL: &'static [(Self, Choice)];

    fn choice(self) -> Choice {
        Self::ALL.iter().find(|(value, _)| *value == self).map_or(Choice { id: "", label: "" }, |(_, choice)| *choice)
    }
    fn id(self) -> &'static str {
        self.choice().id
    }
    /// The value with this id, upper or lower case.
    fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, choice)| choice.id.eq_ignore_ascii_case(id)).map(|(value, _)| *value)
    }
    fn choices() -> Vec<Choice> {
        Self::ALL.iter().map(|(_, choice)| *choice).collect()
    }
}

/// Declares an enum with the id and the label of each value.
#[macro_export]
macro_rules! one_of {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $id:literal $label:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$about])* $variant,)* }

        impl $crate::field::OneOf for $name {
            const ALL: &'static [(Self, $crate::field::Choice)] =
                &[$((Self::$variant, $crate::field::Choice { id: $id, label: $label }),)*];
        }
    };
}

pub use one_of;
