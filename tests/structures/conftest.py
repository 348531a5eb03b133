"""Each test of the shared suite runs for every case and backend of the subclass."""

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = getattr(metafunc.cls, "cases", None)
    if cases is not None and "case" in metafunc.fixturenames:
        metafunc.parametrize("case", list(cases.values()), ids=list(cases))
    if cases is not None and "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", metafunc.cls.backends)
