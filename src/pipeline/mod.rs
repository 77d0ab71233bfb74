//! What order the pipeline runs in.
