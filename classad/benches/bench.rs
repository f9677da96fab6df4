//! `cargo bench --bench bench`: the program of `examples/bench_language.rs`.

#[path = "../examples/bench_language.rs"]
mod bench;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    bench::main()
}
