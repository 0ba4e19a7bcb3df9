"""A skip is a failure where CI looks."""

import pytest

from tests.support.suite.no_skips import NOT_IN_CI, NoSkips

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    "source",
    [
        "import pytest\n@pytest.mark.skip(reason='no Java')\ndef test(): pass",
        "import pytest\ndef test(): pytest.skip('no Java')",
        "import pytest\n@pytest.fixture\ndef java(): pytest.skip('no Java')\ndef test(java): pass",
        "import pytest\npytest.skip('no Java', allow_module_level=True)",
        "import pytest\n@pytest.mark.parametrize('case', [])\ndef test(case): pass",
    ],
    ids=["mark", "call", "fixture", "file", "no cases"],
)
def test_a_skip_fails(pytester: pytest.Pytester, source: str) -> None:
    test = pytester.makepyfile(source)
    assert pytester.inline_run(test).ret in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
    run = pytester.inline_run(test, plugins=[NoSkips()])
    assert run.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    assert any(NOT_IN_CI in str(report.longrepr) for report in run.getreports())


def test_an_expected_failure_is_none(pytester: pytest.Pytester) -> None:
    test = pytester.makepyfile("import pytest\n@pytest.mark.xfail\ndef test(): assert False")
    assert pytester.inline_run(test, plugins=[NoSkips()]).ret == 0
