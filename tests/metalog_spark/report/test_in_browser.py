"""The report in a real Chromium: it opens without errors, is complete, and can be used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from metalog.text.visible_text import shown
from metalog_spark.report.contents import Access, AccessCell, Column, ColumnKind, Section
from metalog_spark.report.page import page
from metalog_spark.report.rows import Rows
from metalog_spark.report.sections import access, denied, unused
from metalog_spark.report.triage.accepted import marked, read_accepted
from tests.support.spark.browser import Browser, browser, missing_for_browser
from tests.support.spark.report_contents import (
    ALLOWED,
    CELLS,
    CHANGES,
    COMMAND,
    DENIED,
    HOSTILE,
    QUOTED,
    ROWS,
    small_contents,
)
from tests.support.suite.waiting import eventually

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.once]

DESKTOP = (1280, 900)
PHONE = (390, 844)
ROWS_SHOWN = "return document.querySelectorAll('#unused tbody tr:not([hidden])').length"
FILTER = """
const [text, type, state] = arguments;
const set = (id, value) => { document.getElementById(id).value = value; };
set('filter-text', text); set('filter-type', type); set('filter-state', state);
document.getElementById('filter').requestSubmit();
"""
A4 = 695
"""The size of a sheet without margins."""
BROKEN = """
const broken = [];
for (const cell of document.querySelectorAll('.rows td')) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (texts.currentNode.parentElement.closest('details')) continue;
    for (const word of texts.currentNode.data.matchAll(/[^\\s-]+-?/g)) {
      const range = new Range();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
}
return broken;
"""
"""The words that go over several lines. A text ends where the page permits a line to break."""
IS_SEEN = "return document.querySelector(arguments[0]).offsetHeight > 0"
KEEP_CHARTS = """
window.charts = {};
let library;
const init = (box, ...others) => (window.charts[box.id] = library.init(box, ...others));
const kept = { get: () => ({ ...library, init }), set: (made) => { library = made; } };
Object.defineProperty(window, 'echarts', kept);
"""
LABELS = "return window.charts['access-chart'].getOption()[arguments[0]][0].data"
ZOOM = """
const { dataZoom } = window.charts['access-chart'].getOption();
return dataZoom.slice(0, 2).flatMap(({ start, end }) => [start, end]);
"""
PIXEL = """
const [chart, x, y] = arguments;
const canvas = document.querySelector(`#${chart} canvas`);
const scale = canvas.width / canvas.clientWidth;
const dot = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
dot.drawImage(canvas, x * scale, y * scale, 1, 1, 0, 0, 1, 1);
return [...dot.getImageData(0, 0, 1, 1).data].slice(0, 3);
"""
COLORS = """
const style = getComputedStyle(document.documentElement);
const asked = document.createElement('canvas').getContext('2d');
return arguments[0].map((name) => {
  asked.fillStyle = style.getPropertyValue(name);
  return [1, 3, 5].map((at) => parseInt(asked.fillStyle.slice(at, at + 2), 16));
});
"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if missing := missing_for_browser():
        pytest.skip(missing)
    with browser(tmp_path_factory.mktemp("chromium")) as started:
        keep = {"source": KEEP_CHARTS}
        started.window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", keep)
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_bytes(page(small_contents(), shown))
    return path


@pytest.fixture
def opened(chromium: Browser, report: Path) -> Iterator[Browser]:
    """The report, just opened on a desktop; the console stays silent throughout."""
    chromium.resize(*DESKTOP)
    chromium.open(report)
    yield chromium
    assert chromium.said() == []


def test_it_loads_itself_and_nothing_else(chromium: Browser, report: Path) -> None:
    chromium.loaded()
    chromium.open(report)
    assert chromium.said() == []
    assert chromium.loaded() == [report.as_uri()]


def test_names_are_text(opened: Browser) -> None:
    assert opened.run("return document.images.length") == 0
    assert opened.run("return document.scripts.length") == 3
    texts = opened.run("return [...document.querySelectorAll('bdi')].map(e => e.textContent)")
    assert {HOSTILE, QUOTED} <= set(texts)


def test_what_gets_in_is_not_run(chromium: Browser, report: Path) -> None:
    chromium.open(report)
    chromium.run(
        """
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.ran = true">');
        """
    )
    assert chromium.run("return window.ran") is None
    blocked = chromium.said()
    assert blocked
    assert all("Content Security Policy" in each for each in blocked)


def test_the_numbers_are_those_of_the_tables(opened: Browser) -> None:
    columns = opened.run(
        """
        const number = (cell) => Number(cell.textContent.replaceAll(',', ''));
        const rows = [...document.querySelectorAll('#answers tbody tr')];
        return [1, 2, 3].map((at) => rows.map((row) => number(row.cells[at])));
        """
    )
    assert columns == [list(ALLOWED), list(DENIED), list(CHANGES)]
    first = opened.run("return document.querySelector('.numbers b').textContent")
    assert int(first.replace(",", "")) == sum(ALLOWED) + sum(DENIED)
    assert opened.run(ROWS_SHOWN) == len(ROWS)


def test_a_filter_leaves_what_fits(opened: Browser) -> None:
    opened.run(FILTER, "alert(2)", "", "")
    assert opened.run(ROWS_SHOWN) == 1
    assert read(opened, "#unused .count") == "1 of the 2 rows shown."
    assert read(opened, "#access-read").startswith(f"1 of {len(CELLS)} cells")
    opened.run(FILTER, "", "GROUP", "")
    assert opened.run(ROWS_SHOWN) == 1
    assert read(opened, "#access-read").startswith("1 of 5 cells: 1 principal, 1 pattern.")
    opened.run(FILTER, "", "TOPIC", "")
    assert opened.run(ROWS_SHOWN) == 1
    opened.run(FILTER, "", "", "deny")
    assert opened.run(ROWS_SHOWN) == 2
    assert read(opened, "#access-read").startswith("1 of 5 cells")
    opened.run(FILTER, "no such thing", "", "")
    assert opened.run(ROWS_SHOWN) == 0
    assert read(opened, "#access-read").startswith("0 of 5 cells")
    opened.run(FILTER, "", "", "")
    assert read(opened, "#unused .count") == "2 rows"


def test_the_charts_draw_what_the_tables_say(opened: Browser) -> None:
    frame = opened.run(
        "const c = document.querySelector('#window-chart canvas');"
        "return [c.clientWidth, c.clientHeight]"
    )
    accent, tint, paper = opened.run(COLORS, ["--accent", "--tint", "--paper"])
    left, step = axis_of(opened)
    states = [
        opened.run(PIXEL, "window-chart", left + (day + 0.5) * step, 4 + 6.5) for day in range(4)
    ]
    assert states == [accent, accent, tint, accent]
    highest = 4 + 2 * 13 + 14 + 28 + 14
    assert opened.run(PIXEL, "window-chart", left + 2.5 * step, highest + 40) == accent
    assert opened.run(PIXEL, "window-chart", left + 1.5 * step, highest + 40) != accent
    assert frame[1] > highest + 110
    assert paper not in states


@pytest.mark.parametrize("changes", [CHANGES, (0, 0, 0, 0)])
def test_an_axis_names_its_highest_bar(
    opened: Browser, tmp_path: Path, changes: tuple[int, ...]
) -> None:
    window = small_contents().window._replace(changes=changes)
    path = tmp_path / "axis.html"
    path.write_bytes(page(small_contents(window=window), shown))
    opened.open(path)
    axes = "const axes = window.charts['window-chart'].getOption().yAxis.slice(1);"
    labels = opened.run(f"{axes} return axes.map((axis) => axis.axisLabel.formatter(axis.max))")
    assert labels == [f"ACL changes\n{max(changes)}", "allowed\n3 m", f"denied\n{max(DENIED)}"]


def axis_of(opened: Browser) -> tuple[float, float]:
    """The start and width of the first day, found by pointing at the chart."""
    said = opened.run(
        """
        const box = document.getElementById('window-chart');
        const frame = box.getBoundingClientRect();
        const read = document.getElementById('window-read');
        const days = [];
        for (let x = 0; x < frame.width; x += 1) {
          const place = { clientX: frame.left + x, clientY: frame.top + 9 };
          box.dispatchEvent(new PointerEvent('pointermove', place));
          days.push(read.textContent.split(':')[0]);
        }
        box.dispatchEvent(new PointerEvent('pointerleave'));
        return days;
        """
    )
    first, last = said.index("1 Mar 2025"), len(said) - said[::-1].index("4 Mar 2025")
    return first, (last - first) / 4


def test_the_charts_are_read_by_keyboard(opened: Browser) -> None:
    chart = opened.window.find_element(By.ID, "window-chart")
    chart.send_keys(Keys.ARROW_RIGHT)
    assert read(opened, "#window-read") == "1 Mar 2025: 120 allowed, 3 denied, 0 ACL changes."
    chart.send_keys(Keys.ARROW_RIGHT)
    assert read(opened, "#window-read") == (
        f"2 Mar 2025: 0 allowed, 7 denied, 2 ACL changes; nothing seen: {HOSTILE}."
    )
    chart.send_keys(Keys.ESCAPE)
    assert read(opened, "#window-read") == "Four days."
    matrix = opened.window.find_element(By.ID, "access-chart")
    matrix.send_keys(Keys.ARROW_DOWN)
    assert read(opened, "#access-read") == f"User:app on TOPIC {HOSTILE}: READ, WRITE; used READ."
    matrix.send_keys(Keys.ARROW_RIGHT)
    assert read(opened, "#access-read") == (
        "User:app on TOPIC names that begin with pay-: READ; used READ."
    )


def test_the_matrix_zooms(opened: Browser) -> None:

    def picture() -> object:
        return opened.run("return document.querySelector('#access-chart canvas').toDataURL()")

    whole = picture()
    opened.window.find_element(By.ID, "zoom-in").click()
    assert eventually(lambda: picture() != whole)
    opened.window.find_element(By.ID, "zoom-out").click()
    opened.run("document.getElementById('access-chart').blur()")
    assert eventually(lambda: picture() == whole)


def test_commands_are_copied_as_they_are(opened: Browser) -> None:
    opened.run("document.querySelector('#excess details').open = true")
    opened.window.find_element(By.CSS_SELECTOR, "#excess .copy").click()
    assert opened.run("return getSelection().toString()") == COMMAND


@pytest.mark.parametrize("width", [320, PHONE[0], 768])
def test_a_narrow_page_is_not_wider_than_its_window(opened: Browser, width: int) -> None:
    opened.resize(width, PHONE[1])
    opened.run("for (const each of document.querySelectorAll('details')) each.open = true")
    assert opened.run("return document.documentElement.scrollWidth") <= width


def test_who_scrolls_past_a_long_table_need_not_see_its_rows(
    opened: Browser, tmp_path: Path
) -> None:
    long = tmp_path / "long.html"
    long.write_bytes(page(small_contents(rows=ROWS * 100), shown))
    opened.open(long)
    for window in (DESKTOP, PHONE):
        opened.resize(*window)
        assert opened.run("return document.getElementById('unused').offsetHeight") < window[1] * 1.3
        assert opened.run("return document.querySelector('#unused table').offsetHeight") > 5_000


def test_it_is_dark_where_dark_is_wanted(opened: Browser) -> None:
    brightness = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    assert min(opened.run(brightness)) > 200
    opened.resize(*DESKTOP, dark=True)
    assert max(opened.run(brightness)) < 60
    left, step = axis_of(opened)
    [accent] = opened.run(COLORS, ["--accent"])
    assert opened.run(PIXEL, "window-chart", left + step / 2, 4 + 6.5) == accent


def test_it_prints(opened: Browser) -> None:
    from base64 import b64decode

    printed = b64decode(opened.window.print_page())
    assert printed.startswith(b"%PDF-")
    assert 1 <= len(re.findall(rb"/Type /Page\b", printed)) <= 6


def test_on_paper_no_table_is_wider_than_the_sheet(opened: Browser, tmp_path: Path) -> None:
    """A4 without its margins; paper cuts wider tables off, where a screen scrolls."""
    columns = (
        *(Column(f"Word {number}") for number in range(6)),
        Column("Name", ColumnKind.NAME),
        Column("Name again", ColumnKind.NAME),
        Column("First", ColumnKind.MOMENT),
        Column("Last", ColumnKind.MOMENT),
        Column("Sum", ColumnKind.NUMBER),
    )
    seen = datetime(2025, 3, 1, 12, 30)
    row = (*("DESCRIBE_CONFIGS",) * 6, QUOTED, HOSTILE, seen, seen, 1_000_000)
    paper = tmp_path / "paper.html"
    wide = Section("wide", "Wide", "All that a table may have.", columns, [row], 1)
    paper.write_bytes(page(small_contents(sections=(wide,)), shown))
    opened.open(paper)
    opened.resize(695, 1000)
    opened.window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        width = opened.run("return document.querySelector('#wide table').offsetWidth")
        assert width <= opened.run("return document.body.clientWidth")
    finally:
        opened.window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("width", [PHONE[0], DESKTOP[0]])
def test_different_principals_have_different_names_beside_the_matrix(
    opened: Browser, tmp_path: Path, width: int
) -> None:
    apps = ("api", "projector", "processor", "projections", "x" * 50 + "1", "x" * 50 + "2")
    teams = ("fraud", "payments-of-all-the-markets")
    names = [f"User:CN={team}-{app},O=Fernhill Books,C=IE" for team in teams for app in apps]
    names += ["User:CN=fraud", *(f"User:{'y' * 30}{end}{'y' * 30}" for end in "abc")]
    opened.open(with_access(tmp_path, names, columns=3))
    opened.resize(width, PHONE[1])
    labels = opened.run(LABELS, "yAxis")
    assert len({*labels}) == len(labels) == len(names)
    room = min(axis_width(opened) // 6.8, 50)
    assert max(map(len, labels)) <= room
    assert max(map(len, names)) > room


def with_access(folder: Path, names: list[str], columns: int) -> Path:
    """Each principal has a pattern of its own, and each but the first has all of a few."""
    count = len(names)
    patterns = tuple(("TOPIC", "LITERAL", f"topic-{n:04}") for n in range(count + columns))
    cells = [AccessCell(n, n, "READ", "", 0.0, False) for n in range(count)]
    cells += [
        AccessCell(row, count + column, "READ", "READ", 1.0, False)
        for row in range(1, count)
        for column in range(columns)
    ]
    access = Access(tuple(names), patterns, tuple(sorted(cells, key=lambda each: each[:2])), "All")
    path = folder / "access.html"
    path.write_bytes(page(small_contents(access=access), shown))
    return path


def axis_width(opened: Browser) -> float:
    width: float = opened.run(
        "return window.charts['access-chart'].getOption().yAxis[0].axisLabel.width"
    )
    return width


def test_the_matrix_on_paper_has_whole_rows_and_says_which(opened: Browser, tmp_path: Path) -> None:
    names = [f"User:app-{n:03}" for n in range(90)]
    opened.open(with_access(tmp_path, names, columns=30))
    before = opened.run(LABELS, "xAxis"), opened.run(ZOOM)
    assert not opened.run(IS_SEEN, "#access-paper")
    opened.run("dispatchEvent(new Event('beforeprint'))")
    rows, columns = opened.run(LABELS, "yAxis"), opened.run(LABELS, "xAxis")
    assert rows == names[: len(rows)]
    assert len(columns) == len(rows) + 30
    cells = 1 + (len(rows) - 1) * 31
    assert read(opened, "#access-paper") == (
        f"On paper are {cells} of {1 + 89 * 31:,} cells: the first {len(rows)} of 90 principals, "
        f"and {len(columns)} of 120 patterns. The file itself has all."
    )
    assert opened.run(ZOOM) == [0, 100, 0, 100]
    width = opened.run("return document.querySelector('#access-chart canvas').clientWidth")
    assert width < A4
    [paper] = opened.run(COLORS, ["--paper"])
    assert paper == [255, 255, 255]
    opened.run("dispatchEvent(new Event('afterprint'))")
    assert (opened.run(LABELS, "xAxis"), opened.run(ZOOM)) == before
    [paper] = opened.run(COLORS, ["--paper"])
    assert paper != [255, 255, 255]


def test_on_paper_a_long_table_says_that_it_ends(opened: Browser, tmp_path: Path) -> None:
    long = tmp_path / "long.html"
    long.write_bytes(page(small_contents(rows=ROWS * 100), shown))
    opened.open(long)
    after = "return getComputedStyle(document.getElementById('unused'), '::after').content"
    seen = (
        "return [...document.querySelectorAll('#unused tbody tr')]"
        ".filter((row) => row.offsetHeight).length"
    )
    said = '"Of these rows only the first 60 are printed."'
    for text, printed in (("", (60, said)), ("alert(2)", (60, said)), ("no such", (0, "none"))):
        opened.run(FILTER, text, "", "")
        opened.window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        try:
            assert (opened.run(seen), opened.run(after)) == printed
            assert opened.run(IS_SEEN, "#cut + .on-paper")
        finally:
            opened.window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_name_is_copied_without_the_marks_for_its_lines(opened: Browser, tmp_path: Path) -> None:
    name = "catalog.prices_of-all.v1"
    row = ("INFO", name, "TOPIC", name, 1, None, ())
    path = tmp_path / "names.html"
    path.write_bytes(page(small_contents((row,)), shown))
    opened.open(path)
    opened.run("getSelection().selectAllChildren(document.querySelector('#unused bdi'))")
    assert opened.run("return getSelection().toString()") == name


@pytest.mark.parametrize(("width", "words"), [(1280, 24 * 7), (1024, 12 * 7)])
def test_the_widest_table_fits_a_desk(
    opened: Browser, tmp_path: Path, width: int, words: int
) -> None:
    """With an ACL in words; on a wide screen, a name and its grant on one line each."""
    opened.resize(width, 900)
    seen = datetime(2025, 3, 1, 12, 30)
    acl = "User:search-reporter: ALLOW READ on TOPIC PREFIXED orders.placed.v1"
    names = ("User:shipping-tracker", "DESCRIBE, allowed today", "TOPIC", "customers.consents.v1")
    row = ("WARNING", *names, 1_286, 1_286, seen, seen, acl, "it is allowed today")
    row = (*row, ("metalog pipeline requests",) * 11)
    columns = denied(Rows()).columns
    path = tmp_path / "denied.html"
    wide = Section("denied", "Denied", "All.", columns, [row], 1)
    path.write_bytes(page(small_contents(sections=(wide,)), shown))
    opened.open(path)
    box = "const box = document.querySelector('.rows');"
    assert opened.run(f"{box} return box.scrollWidth - box.clientWidth") == 0
    assert opened.run("return document.querySelector('td.a').clientWidth") >= words


@pytest.mark.parametrize("width", [1440, 1024])
def test_lines_break_between_words_and_after_separators(
    opened: Browser, tmp_path: Path, width: int
) -> None:
    """Unless a word is wider than its column."""
    seen = datetime(2025, 3, 1, 12, 30)
    certificate = "User:CN=orders-service.prod.example.com,OU=Payments Platform,O=Fernhill,C=IE"
    near = f"{certificate}: ALLOW DESCRIBE_CONFIGS on TRANSACTIONAL_ID PREFIXED orders.placed.v1"
    wanted = "IDEMPOTENT_WRITE from 3 hosts, 2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff last"
    denial = (certificate, wanted, "TRANSACTIONAL_ID", "customers_consents", 7, 7, seen, seen, near)
    rows = [("WARNING", *denial, "it is allowed today", ("metalog",) * 11)]
    tables = [Section("denied", "Denied", "All.", denied(Rows()).columns, rows, 1)]
    grant = (certificate, "ALLOW DESCRIBE_CONFIGS", "TRANSACTIONAL_ID PREFIXED", "shops.till-04")
    use = "unknown: only controllers log its operation, and their log is missing for some hours"
    rows = [("WARNING", *grant, use, 7, seen, None, ("metalog",))]
    tables.append(Section("unused", "Unused", "All.", unused(Rows(), (), 0, "").columns, rows, 1))
    path = tmp_path / "words.html"
    path.write_bytes(page(small_contents(sections=tuple(tables)), shown))
    opened.resize(width, 900)
    opened.open(path)
    assert opened.run(BROKEN) == []
    long = "x" * 300
    tables[1] = tables[1]._replace(rows=[("INFO", long, *grant[1:], use, 7, seen, None, ())])
    path.write_bytes(page(small_contents(sections=tuple(tables)), shown))
    opened.open(path)
    assert opened.run(BROKEN) == [long]


@pytest.mark.parametrize("width", [1440, 1024])
def test_who_may_what_fits_a_desk(opened: Browser, tmp_path: Path, width: int) -> None:
    """Also the last column, for a principal that may do everything from several hosts."""
    operations = ("ALTER", "ALTER_CONFIGS", "CREATE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS")
    said = ("reads, writes, administers", ", ".join((*operations, "READ", "WRITE")))
    hosts = "10.11.112.113, 2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff"
    name = "customers.consents.v1"
    row = ("WARNING", "User:shipping-tracker", "DELEGATION_TOKEN, prefixed", name, *said)
    table = access([], "the end")
    path = tmp_path / "may.html"
    rows = [(*row, said[1], hosts, 1_234_567_890, datetime(2025, 3, 1, 12, 30))]
    wide = Section("may", table.title, table.says, table.columns, rows, 1)
    path.write_bytes(page(small_contents(sections=(wide,)), shown))
    opened.resize(width, 900)
    opened.open(path)
    box = "const box = document.querySelector('.rows');"
    assert opened.run(f"{box} return box.scrollWidth - box.clientWidth") == 0


def test_a_column_of_what_is_accepted_fits_a_desk(opened: Browser, tmp_path: Path) -> None:
    """In the widest table, with long words in each cell."""
    principal, near = "User:warehouse-shipping-tracker", "ALLOW ALL on TOPIC * from any host"
    wanted = "DESCRIBE_CONFIGS from 3 hosts, 2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff last"
    name, when = "shipping.orders.placed.v1-retry", datetime(2025, 3, 1, 12, 30)
    row = ("WARNING", principal, wanted, "TRANSACTIONAL_ID", name, 1_234_567, 123_456)
    table = denied(Rows())
    rows = [(*row, when, when, f"{principal}: {near}", ("kafka-acls",) * 2, ("metalog",) * 11)]
    text = f"- {{section: denied, principal: '{principal}', reason: '{near}', until: 2026-12-31}}"
    wide = Section("denied", table.title, table.says, table.columns, rows, 1)
    wide = marked(wide, read_accepted(text, "a.yaml"), date(2026, 1, 1)).section
    path = tmp_path / "denied.html"
    path.write_bytes(page(small_contents(sections=(wide,)), shown))
    opened.resize(1440, 900)
    opened.open(path)
    box = "const box = document.querySelector('.rows');"
    assert opened.run(f"{box} return box.scrollWidth - box.clientWidth") == 0


def read(opened: Browser, selector: str) -> str:
    text: str = opened.run(f"return document.querySelector('{selector}').textContent")
    return text
