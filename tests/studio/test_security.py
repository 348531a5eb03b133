"""Who may talk to the studio: not another page, not another name of this machine, not without the token."""

from __future__ import annotations

import http.client
import re
from collections.abc import Mapping

import httpx
import pytest

from regard.studio.serving import Studio
from tests.studio.client import Client

LOOK = {"run": "translation", "inputs": {"source": "a"}}


def raw(
    studio: Studio, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[int, str]:
    """A request whose path and headers are sent as they are."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def cookie(client: Client) -> str:
    ((name, value),) = client.cookies.items()
    return f"{name}={value}"


def test_the_address_gives_a_cookie_that_scripts_and_other_pages_do_not_get(studio: Studio) -> None:
    with httpx.Client() as visitor:
        answer = visitor.get(studio.url)
        assert answer.status_code == 303 and answer.headers["location"] == "/"
        given = answer.headers["set-cookie"].lower()
        assert "httponly" in given and "samesite=strict" in given and "path=/" in given
        assert "domain" not in given
        assert visitor.get(f"http://127.0.0.1:{studio.port}/").status_code == 200


def test_a_link_of_another_page_enters_by_a_page_of_its_own(studio: Studio) -> None:
    """A strict cookie is not sent on a redirect that began elsewhere."""
    answer = httpx.get(studio.url, headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})
    assert answer.status_code == 200 and 'http-equiv="refresh"' in answer.text
    assert "set-cookie" in answer.headers and studio.url.rpartition("=")[2] not in answer.text


@pytest.mark.parametrize("path", ["/", "/static/regard.js", "/api/runs", "/api/jobs/abcdefgh", "/nothing"])
def test_without_the_token_nothing_is_served(studio: Studio, path: str) -> None:
    plain = httpx.get(f"http://127.0.0.1:{studio.port}{path}")
    assert plain.status_code == 401 and "token" in plain.text
    name = f"regard-studio-{studio.port}"
    for value in ("wrong", "", studio.url.rpartition("=")[2][:-1], "ü"):
        status, _ = raw(
            studio, "GET", path, {"host": f"127.0.0.1:{studio.port}", "cookie": f"{name}={value}"}
        )
        assert status == 401
    assert httpx.get(f"http://127.0.0.1:{studio.port}/?token=wrong").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}", ""]
)
def test_another_name_for_this_machine_is_refused(studio: Studio, client: Client, host: str) -> None:
    """DNS rebinding: a page of evil.example reaches 127.0.0.1 under its own name."""
    headers = {"host": host.format(port=studio.port), "cookie": cookie(client), "x-regard": "1"}
    for method, path in (
        ("GET", "/"),
        ("GET", "/api/runs"),
        ("POST", "/api/look"),
        ("GET", studio.url.rpartition("/")[2]),
    ):
        assert raw(studio, method, f"/{path.lstrip('/')}", headers)[0] == 421
    for known in ("127.0.0.1", "localhost"):
        headers["host"] = f"{known}:{studio.port}"
        assert raw(studio, "GET", "/", headers)[0] == 200


def test_two_host_headers_are_refused(studio: Studio, client: Client) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=30)
    connection.putrequest("GET", "/", skip_host=True)
    for host in (f"127.0.0.1:{studio.port}", "evil.example"):
        connection.putheader("host", host)
    connection.putheader("cookie", cookie(client))
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "https://127.0.0.1:{port}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_of_other_pages_are_refused(studio: Studio, client: Client, headers: dict[str, str]) -> None:
    sent = {name: value.format(port=studio.port) for name, value in headers.items()} | {"x-regard": "1"}
    assert client.post("/api/look", json=LOOK, headers=sent).status_code == 403
    assert client.get("/api/runs", headers=sent).status_code == 403
    assert client.get("/static/regard.js", headers=sent).status_code == 403


def test_a_form_of_another_page_cannot_send_the_header(client: Client) -> None:
    assert client.post("/api/look", json=LOOK).status_code == 403
    assert client.delete("/api/jobs/abcdefgh").status_code == 403
    sent = {"x-regard": "1", "content-type": "text/plain"}
    assert client.post("/api/look", content=b"{}", headers=sent).status_code == 400


def test_the_page_may_load_only_itself(client: Client) -> None:
    for path in ("/", "/static/regard.js", "/api/runs", "/nothing"):
        headers = client.get(path).headers
        policy = dict(one.strip().split(" ", 1) for one in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["connect-src"] == "'self'" and policy["img-src"] == "'self' data:"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert (
            "unsafe" not in headers["content-security-policy"]
            and "*" not in headers["content-security-policy"]
        )
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store" and "access-control-allow-origin" not in headers
        assert "server" not in headers
    page = client.get("/").text
    assert not re.search(r"https?://|<script(?![^>]*src=\"/)| on\w+=|<style", page)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/regard.js/..",
        "/etc/passwd",
        "/api/runs/../../etc/passwd",
        "/api/jobs/..%2f..%2fetc%2fpasswd",
        "/static/regard.js%00.txt",
    ],
)
def test_paths_lead_nowhere(studio: Studio, client: Client, path: str) -> None:
    status, body = raw(
        studio, "GET", path, {"host": f"127.0.0.1:{studio.port}", "cookie": cookie(client), "x-regard": "1"}
    )
    assert status in (400, 404) and "root:" not in body and "import" not in body


@pytest.mark.parametrize("run", ["../translation", "/tmp", "nothing", "translation/", ".", "hf:owner/name"])
def test_only_the_runs_that_were_named_are_served(
    client: Client, folders: dict[str, object], run: str
) -> None:
    for name in (run, str(folders["translation"])):
        error = client.refused("look", run=name, inputs={"source": "a"})
        assert error["where"] == "run"
    assert [one["name"] for one in client.get("/api/runs").json()["runs"]] == list(folders)


def test_a_text_for_an_image_names_no_file(client: Client) -> None:
    for text in ("/etc/passwd", "data:image/png;base64,AAAA", "image.png"):
        error = client.refused("look", run="caption", inputs={"image": text})
        assert "does not open files" in error["message"] and "row" in error["fix"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "DELETE", "TRACE"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    assert client.request(method, "/api/look", headers={"x-regard": "1"}).status_code == 405


def test_the_studio_listens_on_this_machine_alone(studio: Studio) -> None:
    assert studio._bound.getsockname()[0] == "127.0.0.1"


def test_the_token_is_not_shown(studio: Studio) -> None:
    assert len(studio.url.rpartition("=")[2]) >= 40
    assert studio.url.rpartition("=")[2] not in repr(studio._launch)
