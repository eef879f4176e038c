# demo     the whole of it in a minute, from a fresh clone
# test     everything, on real nginx and both databases
# check    formatting, lints, documentation
# bench    client CPU per request against wrk and ab, in alternation
# openapi  write openapi/openapi.json anew

.PHONY: demo test check bench openapi setup

demo:
	cargo build --release
	target/release/benchd demo

test: setup
	cargo test --workspace

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

bench: setup
	tests/setup.sh wrk
	cargo bench -p benchd --bench engine

openapi:
	cargo run --quiet -p benchd -- openapi > openapi/openapi.json.new
	mv openapi/openapi.json.new openapi/openapi.json

setup:
	tests/setup.sh nginx postgresql apache2-utils
