//! What the store keeps for transports: attempts, dead letters, skips.

pub mod attempts;
pub mod dead_letters;
pub mod skip;
