# The commands that CI runs, by name. `just` lists them.

default:
    @just --list

# Everything that needs nothing but Rust.
test:
    cargo test --workspace

# Formatting, lints and doc links, with warnings denied.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# What we depend on: bans, licences, sources.
deny:
    cargo deny --workspace check bans licenses sources

# Against the real kube-apiserver, etcd, kubectl and client-go. The first run builds them.
oracle:
    oracle/build
    oracle/test

# Writes the schema tables anew from Kubernetes' Go types.
tables:
    cd oracle && go run ./cmd/tables ../crates/watchkeeper-wire/tables/kinds.txt

# Every fuzz target from a new seed, for so many seconds.
fuzz seconds="60":
    fuzz/run --explore {{seconds}}

# The codecs beside serde_json, as ratios in one run.
bench:
    cargo run --release -p watchkeeper-bench --bin wire

# The API server beside kube-apiserver and etcd, with one loader.
bench-server:
    cargo run --manifest-path oracle/Cargo.toml --bin bench

# The memory of the API server beside kube-apiserver's, under responses that nobody reads.
bench-unread:
    cargo run --manifest-path oracle/Cargo.toml --bin bench -- unread

# The client beside client-go and kube-client, at the real server.
bench-client:
    cargo run --manifest-path oracle/Cargo.toml --bin bench -- client

# The work queue beside client-go's and kube-rs's scheduler.
bench-queue:
    cargo run --manifest-path oracle/Cargo.toml --bin bench -- queue

# The gate, as CI runs it.
ci:
    .ci/run
