//! Slots in the tree for data of the functions, whose types the tree does not know.

use std::any::Any;
use std::sync::{Arc, OnceLock};

/// Cache of one call, shared by all copies of the call: empty until the first evaluation fills it; absent for most functions.
#[derive(Clone, Default)]
pub(crate) struct CallCache(Option<Arc<OnceLock<Box<dyn Any + Send + Sync>>>>);

impl CallCache {
    /// An empty cache.
    pub(crate) fn empty() -> Self {
        Self(Some(Arc::default()))
    }

    /// The cache of the same call with other arguments.
    pub(crate) fn renewed(&self) -> Self {
        Self(self.0.as_ref().map(|_| Arc::default()))
    }

    /// Whether a value can be stored.
    pub(crate) fn is_free(&self) -> bool {
        self.0.as_ref().is_some_and(|cell| cell.get().is_none())
    }

    /// The value, if it is of this type.
    pub(crate) fn get<T: 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.get()?.downcast_ref()
    }

    /// Stores a value, unless another thread has stored one.
    pub(crate) fn set<T: Send + Sync + 'static>(&self, value: T) {
        if let Some(cell) = &self.0 {
            let _ = cell.set(Box::new(value));
        }
    }
}
