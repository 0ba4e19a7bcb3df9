# The command, and the node: docs/guide/container.md. `make image-check` runs these instructions
# where there is no container runtime.
ARG PYTHON=3.12
FROM python:${PYTHON}-slim AS build
WORKDIR /opt/source
COPY . .
# The node and zookeeper:// need three packages more than requirements.lock has.
RUN for name in asn1crypto kazoo prometheus-client; do \
    sed -n "/^$name==/,/[^\\]$/p" requirements-test.lock; done >>requirements.lock
RUN python -m venv /opt/metalog
RUN /opt/metalog/bin/python -m pip install --no-cache-dir --no-deps --require-hashes --requirement requirements.lock
RUN /opt/metalog/bin/python -m pip install --no-cache-dir --no-deps --no-build-isolation .
RUN /opt/metalog/bin/python -m pip uninstall --yes setuptools pip

FROM python:${PYTHON}-slim
COPY --from=build /opt/metalog /opt/metalog
RUN mkdir -p /var/lib/metalog && chown 10001:10001 /var/lib/metalog
ENV PATH=/opt/metalog/bin:/usr/local/bin:/usr/bin:/bin
ENV METALOG_HEALTH=http://127.0.0.1:9404/healthz
WORKDIR /var/lib/metalog
VOLUME /var/lib/metalog
USER 10001:10001
HEALTHCHECK --start-period=60s CMD python -c "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(os.environ['METALOG_HEALTH'], timeout=5)"
ENTRYPOINT ["metalog"]
CMD ["--help"]
