//! Parts of the program that are not seen first: each folder names its own by `parts!`. With the feature `split` each
//! part is a file of its own, loaded into the same memory with its first call (`tools/split.mjs`); without it the same
//! functions are in the one file.

/// A part that did not arrive; the next call asks for it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing;

#[cfg(feature = "split")]
impl From<leptos::wasm_split::SplitLoaderError> for Missing {
    fn from(_: leptos::wasm_split::SplitLoaderError) -> Self {
        Self
    }
}

/// Functions by the part that holds them: `views` is loaded with the first view beside the Run, `work` with the first
/// job of a worker, `second` with what few visits open.
macro_rules! parts {
    ($($part:ident: $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $value:expr;)*) => { $(
        #[cfg(feature = "split")]
        #[leptos::wasm_split::wasm_split($part, wasm_split_path = ::leptos::wasm_split, fallible)]
        pub(crate) fn $name($($argument: $type),*) -> Result<$result, $crate::web::late::Missing> {
            Ok($value)
        }

        #[cfg(not(feature = "split"))]
        #[allow(clippy::unused_async)] // with the feature it waits for its file
        pub(crate) async fn $name($($argument: $type),*) -> Result<$result, $crate::web::late::Missing> {
            Ok($value)
        }
    )* };
}

pub(crate) use parts;
