//! The RN-Tree: matching jobs to nodes without a centre, as simulated by its paper.
