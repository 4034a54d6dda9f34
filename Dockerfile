# The `watchkeeper` command and nothing else.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install --no-install-recommends -y make && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p watchkeeper-cli

FROM debian:bookworm-slim
COPY --from=build /source/target/release/watchkeeper /usr/local/bin/watchkeeper
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/watchkeeper"]
