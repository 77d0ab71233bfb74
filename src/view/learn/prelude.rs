//! Names that the lessons share: a lesson's parts, its sliders and bars, what pictures are drawn with, and the view's
//! own.

pub(super) use super::bars::{Bar, Scale, gib, model, run, total, usable};
pub(super) use super::caption::{colours, data};
pub(super) use super::counts;
pub(super) use super::dials::{Dials, SEQUENCE, Slider, TENSOR, slider};
pub(super) use super::gauge::Gauge;
pub(super) use super::lesson::{Lesson, LessonStep, Live, second};
pub(super) use super::plot::{Axis, Line, Marks, Plot, Spacing};
pub(super) use crate::charts::drawing::{Anchor, Box, Drawing};
pub(super) use crate::charts::ink::Ink;
pub(super) use crate::prelude::*;
pub(super) use shardscope_core::traffic::Traffic;
