# One image for all processes of Likewise: `likewise serve`, `worker`, `dispatcher`, `migrate`.
#
# PyTorch's default build for Linux carries CUDA. For a much smaller image name an index of CPU
# builds:  docker compose build --build-arg PIP_EXTRA_INDEX_URL=...

FROM python:3.12-slim AS environment
ARG PIP_EXTRA_INDEX_URL
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/opt/environment/bin:$PATH
RUN python -m venv /opt/environment
WORKDIR /likewise
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY requirements requirements
COPY tools/torch.sh tools/torch.sh
# The dependencies alone first: a change of code does not install them again.
RUN pip install --require-hashes --no-deps -r requirements/app.lock \
 && sh tools/torch.sh python
COPY alembic.ini ./
COPY migrations migrations
COPY demo demo
COPY emulators emulators
COPY learning learning
COPY likewise likewise
COPY workers workers
COPY app app
COPY docs/*.md docs/
# In place: templates and migrations are read from the source folder.
RUN pip install --no-deps --no-build-isolation -e . \
 && python -m likewise.encoder_weights \
 && python -m app.openapi /tmp/openapi.json

FROM node:24-slim AS frontend
WORKDIR /likewise/frontend
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY frontend ./
COPY --from=environment /tmp/openapi.json openapi.json
RUN npm run types --silent && npm run build

FROM python:3.12-slim
ENV PATH=/opt/environment/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    OMP_WAIT_POLICY=PASSIVE LIKEWISE_DATA=/data XDG_RUNTIME_DIR=/tmp
RUN useradd --uid 10001 --user-group --home-dir /data --create-home likewise
WORKDIR /likewise
COPY --from=environment /opt/environment /opt/environment
COPY --from=environment /likewise /likewise
COPY --from=frontend /likewise/app/static/build app/static/build
USER likewise
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=5 \
    CMD ["python", "-c", "from os import environ; from urllib.request import urlopen; urlopen('http://127.0.0.1:' + environ.get('LIKEWISE_PORT', '8000') + '/healthz', timeout=4)"]
ENTRYPOINT ["likewise"]
CMD ["serve"]
