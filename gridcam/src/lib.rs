//! Matching algorithms over a queue of jobs, and the simulator GridCAM.
