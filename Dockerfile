# The `watchkeeper` command and nothing else.
FROM rust:1-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked -p watchkeeper-cli

FROM debian:bookworm-slim
COPY --from=build /source/target/dist/watchkeeper /usr/local/bin/watchkeeper
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/watchkeeper"]
