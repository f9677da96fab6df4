//! Accounts, usage, quotas and preemption: who is served next, and who has to make room.
