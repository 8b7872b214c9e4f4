//! The runtime, through its public interface: programs made by a small builder, the machine driven by hand, the driver
//! with ports in memory.

mod build;
mod steps;
mod world;
