//! The generators, one file a family. Each is a function from a [`Spec`](super::Spec) to an [`Order`](super::Order);
//! `rows` says which schedule uses which.

pub(crate) mod chimera;
pub(crate) mod controllable;
pub(crate) mod custom;
pub(crate) mod dualpipe;
pub(crate) mod flush;
pub(crate) mod hanayo;
pub(crate) mod interleaved;
pub(crate) mod optimal;
mod pull;
mod rounds;
pub(crate) mod sequence;
pub(crate) mod slots;
mod weave;
mod within;
pub(crate) mod zb_auto;
pub(crate) mod zb_v;
pub(crate) mod zb_v_auto;
pub(crate) mod zero_bubble;
