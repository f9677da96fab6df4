//! `cargo bench -p classad`: the program of `examples/bench.rs`.

#[path = "../examples/bench.rs"]
mod bench;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    bench::main()
}
