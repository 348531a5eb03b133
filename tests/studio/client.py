"""A client of a studio, for tests and measurements."""

from __future__ import annotations

from typing import Any

import httpx

from regard.studio.serving import Studio


class Client(httpx.Client):
    """A client with the cookie of a studio."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(base_url=f"http://127.0.0.1:{studio.port}", timeout=60)
        assert self.get(studio.url).status_code == 303

    def ask(self, what: str, **request: Any) -> httpx.Response:
        return self.post(f"/api/{what}", json=request, headers={"x-regard": "1"})

    def look(self, run: str, inputs: Any, **request: Any) -> dict[str, Any]:
        answer = self.ask("look", run=run, inputs=inputs, **request)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def refused(self, what: str, **request: Any) -> dict[str, str]:
        answer = self.ask(what, **request)
        assert answer.status_code == 400, answer.text
        error: dict[str, str] = answer.json()["error"]
        assert error["message"] and "Traceback" not in answer.text
        return error

    def done(self, answer: httpx.Response) -> dict[str, Any]:
        """The result of a job, waited for."""
        assert answer.status_code == 200, answer.text
        if "job" not in answer.json():  # it was asked before
            return {"result": answer.json()}
        while True:
            found: dict[str, Any] = self.get(f"/api/jobs/{answer.json()['job']}").json()
            if "result" in found or "error" in found:
                return found
