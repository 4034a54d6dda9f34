# The commands that CI runs, by name. `just` lists them.

default:
    @just --list

# All tests that need nothing but Rust.
test:
    cargo test --workspace

# Formatting, lints and doc links, with warnings denied.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Checks the dependencies: bans, licences, sources.
deny:
    cargo deny --workspace check bans licenses sources

# Tests against the real kube-apiserver, etcd, kubectl and client-go. The first run builds them.
oracle:
    oracle/build
    oracle/test

# Regenerates the schema tables from Kubernetes' Go types.
tables:
    cd oracle && go run ./cmd/tables ../crates/watchkeeper-wire/tables/kinds.txt

# Regenerates the documentation tables from the descriptions of the Kubernetes API.
docs-table:
    cd oracle && go run ./cmd/docs ../crates/watchkeeper-kinds/tables/docs.txt

# Every fuzz target from a new seed, for this many seconds.
fuzz seconds="60":
    fuzz/run --explore {{seconds}}

# Compares the codecs with serde_json.
bench:
    cargo run --profile dist -p watchkeeper-bench --bin wire

# Compares the API server with kube-apiserver and etcd.
bench-server:
    cargo run --manifest-path oracle/Cargo.toml --bin bench

# The memory of the API server beside kube-apiserver's, under responses that clients do not read.
bench-unread:
    cargo run --manifest-path oracle/Cargo.toml --bin bench -- unread

# Compares the client with client-go and kube-client, against kube-apiserver.
bench-client:
    cargo run --manifest-path oracle/Cargo.toml --bin bench -- client

# Compares the work queue with client-go's and with kube-rs's scheduler.
bench-queue:
    cargo run --manifest-path oracle/Cargo.toml --bin bench -- queue

# The gate, as CI runs it.
ci:
    .ci/run
