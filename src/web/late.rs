//! Parts of the program that are not seen first: each folder names its own by `parts!`. With the feature `split` each
//! part is a file of its own, loaded into the same memory with its first call (`tools/split.mjs`); without it the same
//! functions are in the one file.

use leptos::prelude::*;
use std::task::{Context, Poll, Waker};

/// A part that did not arrive; the next call asks for it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missing;

#[cfg(feature = "split")]
impl From<leptos::wasm_split::SplitLoaderError> for Missing {
    fn from(_: leptos::wasm_split::SplitLoaderError) -> Self {
        Self
    }
}

/// A value that a late function gives, for a view that follows it.
#[derive(Clone, Copy)]
pub(crate) struct Late {
    /// Changes once the part is here, or did not arrive.
    arrived: RwSignal<()>,
    /// It did not arrive, and the view has not said so yet.
    failed: StoredValue<bool>,
}

impl Late {
    pub(crate) fn new() -> Self {
        Self { arrived: RwSignal::new(()), failed: StoredValue::new(false) }
    }

    /// The value of `call`: at once where its part is here. Else none, and the part is asked for; the view that reads
    /// this is computed again once it is here.
    ///
    /// # Errors
    /// The part did not arrive. The next change of the view asks for it again.
    pub(crate) fn value<T: 'static>(
        self,
        call: impl Future<Output = Result<T, Missing>> + 'static,
    ) -> Result<Option<T>, Missing> {
        self.arrived.track();
        if self.failed.get_value() {
            self.failed.set_value(false);
            return Err(Missing);
        }
        let here = polled(call, move |failed| {
            // The view may be gone by now.
            let _ = self.failed.try_set_value(failed);
            let _ = self.arrived.try_set(());
        });
        here.transpose()
    }
}

/// The value of `call` if its part is here. Else none, and the part is asked for, for the next call.
pub(crate) fn at_once<T: 'static>(call: impl Future<Output = Result<T, Missing>> + 'static) -> Option<T> {
    polled(call, |_| ())?.ok()
}

/// The value of `call` if its part is here; else none, and `then` is told, once it is known, whether the part failed
/// to arrive.
fn polled<T: 'static>(
    call: impl Future<Output = Result<T, Missing>> + 'static,
    then: impl FnOnce(bool) + 'static,
) -> Option<Result<T, Missing>> {
    let mut call = Box::pin(call);
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => {
            leptos::task::spawn_local(async move { then(call.await.is_err()) });
            None
        }
    }
}

/// Functions by the part that holds them: `views` is loaded with the first tab or view beside the first screen, `work`
/// with the first job of a worker, `second` with what few visits open.
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
