# docker build -t regard-serve . && docker run -p 8000:8000 -v $PWD/runs/translation:/model -e REGARD_API_KEY=… regard-serve
FROM python:3.12-slim
RUN useradd --create-home regard
COPY pyproject.toml README.md LICENSE /src/
COPY regard /src/regard
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu "/src[serve]" && rm -r /src
USER regard
EXPOSE 8000
HEALTHCHECK CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/v2/health/ready', timeout=5)"
ENTRYPOINT ["regard", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--port", "8000", "--log", "-"]
