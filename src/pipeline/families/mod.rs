//! The generators, one file a family. Each is a function from a [`Spec`](super::Spec) to an [`Order`](super::Order);
//! [`registry`](super::registry) says which id uses which.

pub(crate) mod custom;
pub(crate) mod flush;
pub(crate) mod interleaved;
mod weave;
