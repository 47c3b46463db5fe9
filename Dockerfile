# docker build -t sparserank .
# docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" sparserank select /data/train.txt --out /data/run
FROM python:3.13-slim AS wheel
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /src

FROM python:3.13-slim
# LightGBM needs the OpenMP library.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[tables,report,trees]" && useradd --uid 1000 --create-home sparserank
# Any user may write compiled kernels and the list of fonts there. On another processor, kernels are compiled again.
ENV NUMBA_CACHE_DIR=/var/cache/sparserank/numba MPLCONFIGDIR=/var/cache/sparserank/matplotlib
RUN sparserank demo --out /tmp/demo && rm -r /tmp/demo && chmod -R a+rwX /var/cache/sparserank
USER 1000
WORKDIR /data
ENTRYPOINT ["sparserank"]
