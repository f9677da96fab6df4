# syntax=docker/dockerfile:1
# Turns the sources into an image with two static binaries, the controller and the agent.

FROM rust:1.95.0-slim-bookworm AS build
# The image's own compiler, whatever components rust-toolchain.toml asks for besides it.
ENV RUSTUP_TOOLCHAIN=1.95.0 CARGO_TARGET_DIR=/target
# With the C library inside the binary the final image needs none. A named target keeps that away from build scripts.
ENV RUSTFLAGS="-C target-feature=+crt-static"
WORKDIR /source
COPY --exclude=.git --exclude=.work --exclude=target . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/target \
    cargo build --locked --release --package controller --package agent --target host-tuple \
    && cp /target/*/release/gangmatch-controller /target/*/release/gangmatch-agent / \
    && RUSTFLAGS= cargo xtask licenses /THIRD-PARTY-LICENSES

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /gangmatch-controller /gangmatch-agent /
COPY LICENSE NOTICE /licenses/
COPY --from=build /THIRD-PARTY-LICENSES /licenses/
# `nonroot`, as a number, so that Kubernetes can check runAsNonRoot.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/gangmatch-controller"]
