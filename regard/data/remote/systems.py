"""File systems: where a URL's bytes come from, and what changes when they change.

s3 and gs use those of pyarrow, hf that of huggingface_hub, http and https the standard library, and other schemes what
fsspec has for them. Credentials come from the environment, as each of these libraries documents.
"""

from __future__ import annotations

import base64
import netrc
import os
from abc import ABC, abstractmethod
from fnmatch import fnmatchcase
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from regard.errors import MissingExtra, RegardError

SECONDS = 20
"""How long to wait for an answer."""
TRIES = 3
Stamp = dict[str, str | int]
"""Size, modification time and ETag of a file, as far as they are known."""


class Files(ABC):
    """The files of one scheme. Raises FileNotFoundError, PermissionError or another OSError."""

    @abstractmethod
    def stamp(self, url: str) -> Stamp:
        """What changes when the file changes."""

    @abstractmethod
    def open(self, url: str) -> IO[bytes]:
        """The bytes of the file."""

    def glob(self, pattern: str) -> dict[str, int]:
        """The URLs that match, in order, with their sizes."""
        raise RegardError(
            f"{urlsplit(pattern).scheme} lists no files.",
            where=pattern,
            fix="Name each file with its own -f.",
        )


class WebFiles(Files):
    """http and https, with the password of ~/.netrc."""

    def stamp(self, url: str) -> Stamp:
        try:
            with self._asked(url, "HEAD") as answer:
                headers = answer.headers
        except HTTPError as error:
            if error.code not in (400, 403, 405, 501):  # some servers know no HEAD
                raise _told(error) from None
            with self.open(url) as answer:
                headers = answer.headers  # type: ignore[attr-defined]
        known = {"size": "Content-Length", "modified": "Last-Modified", "etag": "ETag"}
        return {key: str(headers[name]) for key, name in known.items() if headers.get(name)}

    def open(self, url: str) -> IO[bytes]:
        try:
            opened: IO[bytes] = self._asked(url, "GET")
            return opened
        except HTTPError as error:
            raise _told(error) from None

    @staticmethod
    def _asked(url: str, method: str) -> Any:
        request = Request(url, method=method, headers={"User-Agent": "regard", "Accept-Encoding": "identity"})
        known = _netrc(urlsplit(url).hostname or "") if url.startswith("https:") else None
        if known is not None:
            text = base64.b64encode(f"{known[0]}:{known[2]}".encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {text}")
        return urlopen(request, timeout=SECONDS)


def _told(error: HTTPError) -> OSError:
    """The error of a server as that of a file."""
    error.close()
    said = f"{error.code} {error.reason}"
    if error.code in (404, 410):
        return FileNotFoundError(said)
    return PermissionError(said) if error.code in (401, 403, 407) else OSError(said)


def _netrc(host: str) -> tuple[str, Any, Any] | None:
    try:
        return netrc.netrc().authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return None


class SystemFiles(Files):
    """The files of a file system of fsspec."""

    def __init__(self, system: Any) -> None:
        self.system = system

    def _path(self, url: str) -> str:
        return str(self.system._strip_protocol(url))

    def stamp(self, url: str) -> Stamp:
        info = self.system.info(self._path(url))
        if info.get("type") == "directory":
            raise FileNotFoundError("this is a folder")
        lfs = info.get("lfs") or {}
        etag = (
            info.get("ETag")
            or info.get("etag")
            or (lfs.get("sha256") if lfs else None)
            or info.get("blob_id")
        )
        found = {"size": info.get("size"), "modified": _when(info), "etag": etag}
        return {key: value for key, value in found.items() if value is not None}

    def open(self, url: str) -> IO[bytes]:
        opened: IO[bytes] = self.system.open(self._path(url), "rb")
        return opened

    def glob(self, pattern: str) -> dict[str, int]:
        scheme = pattern.partition("://")[0]
        found = self.system.glob(self._path(pattern), detail=True)
        files = {name: info for name, info in found.items() if info.get("type") != "directory"}
        return {f"{scheme}://{name.lstrip('/')}": int(files[name].get("size") or 0) for name in sorted(files)}


def _when(info: dict[str, Any]) -> str | None:
    when = info.get("mtime") or info.get("last_modified") or info.get("LastModified") or info.get("created")
    return None if when is None else str(when)


class ArrowFiles(SystemFiles):
    """The files of a file system of pyarrow: s3 and gs."""

    def __init__(self, system: Any, scheme: str) -> None:
        from fsspec.implementations.arrow import ArrowFSWrapper

        super().__init__(ArrowFSWrapper(system))
        self.arrow, self.scheme = system, scheme

    def _path(self, url: str) -> str:
        return url.removeprefix(f"{self.scheme}://")

    def stamp(self, url: str) -> Stamp:
        found = super().stamp(url)
        with self.arrow.open_input_file(self._path(url)) as file:
            metadata = file.metadata() or {}
        etag = metadata.get(b"ETag") or metadata.get("ETag")
        return {**found, "etag": etag.decode() if isinstance(etag, bytes) else str(etag)} if etag else found

    def glob(self, pattern: str) -> dict[str, int]:
        from pyarrow.fs import FileSelector, FileType

        path = self._path(pattern)
        head = path.partition("*")[0].partition("?")[0].partition("[")[0].rpartition("/")[0]
        deep = "/" in path[len(head) + 1 :]
        listed = self.arrow.get_file_info(FileSelector(head, recursive=deep))
        files = {one.path: one.size or 0 for one in listed if one.type == FileType.File}
        parts = path.split("/")
        return {
            f"{self.scheme}://{name}": files[name] for name in sorted(files) if _fits(name.split("/"), parts)
        }


def _fits(name: list[str], pattern: list[str]) -> bool:
    return len(name) == len(pattern) and all(map(fnmatchcase, name, pattern))


def files_of(url: str) -> Files:
    """The file system of a URL."""
    scheme = urlsplit(url).scheme
    if scheme in ("http", "https"):
        return WebFiles()
    if scheme in ("s3", "gs"):
        return _arrow(url, scheme)
    if scheme == "hf":
        try:
            from huggingface_hub import HfFileSystem
        except ImportError:
            raise MissingExtra("huggingface_hub", "hub", f"Reading {url}") from None
        return SystemFiles(HfFileSystem(skip_instance_cache=True, use_listings_cache=False))
    try:
        import fsspec
    except ImportError:
        raise MissingExtra("fsspec", "remote", f"Reading {url}") from None
    try:
        return SystemFiles(fsspec.url_to_fs(url)[0])
    except (ImportError, ValueError) as error:
        raise RegardError(
            f"files of {scheme}:// cannot be opened: {error}.",
            where=url,
            fix="Use s3, gs, https or hf, or install what the message names.",
        ) from None


def _arrow(url: str, scheme: str) -> Files:
    try:
        import fsspec  # noqa: F401
        from pyarrow import fs
    except ImportError as error:
        raise MissingExtra(error.name or "pyarrow", "remote", f"Reading {url}") from None
    try:
        if scheme == "gs":
            return ArrowFiles(fs.GcsFileSystem(), scheme)
        options: dict[str, Any] = {"connect_timeout": SECONDS, "request_timeout": 3 * SECONDS}
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if endpoint:
            options |= {"endpoint_override": urlsplit(endpoint).netloc, "scheme": urlsplit(endpoint).scheme}
        elif not region:
            region = fs.resolve_s3_region(urlsplit(url).netloc)
        retrying = fs.AwsStandardS3RetryStrategy(max_attempts=TRIES)
        return ArrowFiles(
            fs.S3FileSystem(region=region or "us-east-1", retry_strategy=retrying, **options), scheme
        )
    except ImportError:
        raise RegardError(
            f"this pyarrow was built without {scheme}.", where=url, fix="Run: pip install -U pyarrow"
        ) from None
