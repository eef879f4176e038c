# demo     the whole of it in a minute, from a fresh clone
# test     everything, on real nginx and both databases
# check    formatting, lints, documentation
# bench    client CPU per request against other tools, in alternation; a part
#          of it and other rounds by BENCH="tls h2 --rounds 3"
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

bench: setup target/peers/bin/oha
	tests/setup.sh wrk nghttp2-client
	cargo bench -p benchd --bench engine -- $(BENCH)

target/peers/bin/oha:
	cargo install oha --locked --root target/peers --target-dir target/peers/build || \
	    { echo "oha is not to be had here: build it elsewhere and put it to $@" >&2; exit 1; }

openapi:
	cargo run --quiet -p benchd -- openapi > openapi/openapi.json.new
	mv openapi/openapi.json.new openapi/openapi.json

setup:
	tests/setup.sh nginx postgresql apache2-utils iproute2 curl
