"""The report in a real browser: Debian's Chromium through Playwright, without a network."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hornboost.report import write_report
from report_pages import HOSTILE, bank_model, hostile_model, spending_model, tuned_model

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no chromium on the path; install it (apt-get install chromium)"
)
NONE_FIRED = re.compile("· 0 rules fired")


@dataclass
class Seen:
    """A page, and everything that it asked for or complained about."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: Path) -> Any:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        self.page.goto(path.as_uri())
        return self.page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    clf, X, y = bank_model()
    write_report(clf, X, y, folder / "bank.html", cv=3)
    clf, X, y = tuned_model()
    write_report(clf, X, y, folder / "tuned.html", cv=0)
    reg, X, y = spending_model()
    write_report(reg, X, y, folder / "spending.html", cv=2)
    clf, X, y = hostile_model()
    write_report(clf, X, y, folder / "hostile.html", cv=2, title=HOSTILE)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def seen(browser: Any) -> Iterator[Seen]:
    context = browser.new_context(viewport={"width": 1200, "height": 900}, color_scheme="light")
    yield Seen(context.new_page())
    context.close()


def test_the_page_renders_without_complaints_or_requests(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "bank.html")
    assert page.locator("#rule-cards .card").count() > 3
    assert page.locator("svg.chart").count() == 5
    assert page.locator("svg.schema .edge.lit").count() > 0
    assert seen.requests == [(folder / "bank.html").as_uri()]
    assert seen.complaints == []


def test_a_report_about_numbers_renders_and_explains(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "spending.html")
    assert page.locator("#quality svg.chart").count() == 3
    assert "root mean squared error" in page.inner_text(".tiles")
    page.select_option("#rule-class", "neg")
    assert page.locator("#rule-cards .card:visible").count() > 0
    page.select_option("#example-kind", "large error")
    page.locator("#example-list button").first.click()
    told = page.locator("#example-list .detail").first.inner_text()
    assert "spend is predicted as" in told
    assert "is the base value" in told
    assert seen.complaints == []


def test_rules_are_sorted_by_what_the_user_chooses(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "bank.html")

    def values(name: str) -> list[float]:
        return [
            float(value)
            for value in page.eval_on_selector_all(
                "#rule-cards .card", f"cards => cards.map(card => card.dataset.{name})"
            )
        ]

    influence = [-abs(vote) * covered for vote, covered in zip(values("vote"), values("covered"), strict=True)]
    assert influence == sorted(influence)
    page.select_option("#rule-sort", "vote")
    assert values("number") != sorted(values("number"))
    assert values("vote") == sorted(values("vote"), key=lambda vote: -abs(vote))
    for name, ascending in (("covered", False), ("precision", False), ("length", True), ("number", True)):
        page.select_option("#rule-sort", name)
        assert values(name) == sorted(values(name), reverse=not ascending)


def test_rules_are_filtered_by_text_and_class(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "bank.html")
    cards = page.locator("#rule-cards .card:visible")
    everything = cards.count()
    page.fill("#rule-search", "ORDER")
    texts = cards.all_inner_texts()
    assert 0 < len(texts) < everything
    assert all("order" in text.lower() for text in texts)
    assert page.inner_text("#rule-count") == f"{len(texts)} of {everything} rules"
    page.fill("#rule-search", "nothing like this")
    assert cards.count() == 0
    assert page.is_visible("#rule-none")
    page.fill("#rule-search", "")
    page.select_option("#rule-class", "neg")
    assert cards.count() == page.locator('#rule-cards .card[data-class="neg"]').count()


def test_the_theme_switches_between_system_light_and_dark_and_is_kept(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "bank.html")

    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = background()
    page.click("#theme")
    assert (page.inner_text("#theme span"), background()) == ("light", light)
    page.click("#theme")
    dark = background()
    assert page.inner_text("#theme span") == "dark"
    assert dark != light
    page.reload()
    assert background() == dark
    page.click("#theme")
    page.emulate_media(color_scheme="dark")
    assert background() == dark
    assert seen.complaints == []


def test_an_explanation_opens_by_keyboard_and_shows_votes_and_witnesses(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "bank.html")
    button = page.locator("#example-list button", has_not_text=NONE_FIRED).first
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    detail = page.locator("#example-list .detail").first
    assert detail.is_visible()
    assert detail.locator("table caption", has_text=re.compile("a row of ")).count() > 0
    page.keyboard.press("Enter")
    assert not detail.is_visible()


def test_examples_are_searched_by_key_and_a_rule_leads_to_its_examples(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "bank.html")
    link = page.locator("#rule-cards a[data-example]").first
    key = link.inner_text()
    link.click()
    opened = page.locator('#example-list button[aria-expanded="true"]')
    assert opened.count() == 1
    assert opened.locator(".key").inner_text() == key
    page.select_option("#example-kind", "wrong")
    assert page.locator("#example-list .example").count() == page.locator("#example-list .wrong").count() > 0
    page.select_option("#example-kind", "")
    page.fill("#example-search", key)
    assert key in page.locator("#example-list .key").all_inner_texts()
    page.fill("#example-search", "nothing like this")
    assert page.is_visible("#example-none")


def test_hostile_names_and_values_stay_text(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "hostile.html")
    for button in page.locator("#example-list button", has_not_text=NONE_FIRED).all()[:5]:
        button.click()
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, object, embed, b2").count() == 0
    assert "<script>window.hacked = 1</script>" in page.inner_text("h1")
    assert "<script>window.hacked = 1</script>" in page.locator("#example-list .detail td").first.inner_text()
    assert re.search(r"… \(1,000,\d\d\d characters\)", page.inner_text("#example-list"))
    assert seen.requests == [(folder / "hostile.html").as_uri()]
    assert seen.complaints == []


@pytest.mark.parametrize("which", ["bank", "tuned", "hostile"])
def test_nothing_is_wider_than_a_phone(browser: Any, folder: Path, which: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = Seen(context.new_page()).open(folder / f"{which}.html")
    page.locator("#example-list button").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    context.close()


@pytest.mark.parametrize("which", ["bank", "tuned"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_violation(seen: Seen, folder: Path, theme: str, which: str) -> None:
    from importlib.resources import files

    page = seen.open(folder / f"{which}.html")
    page.emulate_media(color_scheme=theme)
    if which == "tuned":
        page.get_by_role("slider", name="Number of rules").press("Home")
    page.locator("#example-list button").first.click()
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert found["passes"], "axe must have run"
    serious = [
        (one["id"], one["nodes"][0]["html"]) for one in found["violations"] if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_the_page_prints_every_rule_and_no_controls(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "bank.html")
    page.emulate_media(media="print")
    assert not page.is_visible("#rule-controls")
    assert page.locator("#rule-cards .card:visible").count() == page.locator("#rule-cards .card").count()
    assert page.pdf()[:5] == b"%PDF-"


def test_the_slider_shows_the_model_with_fewer_rules_and_dims_the_others(seen: Seen, folder: Path) -> None:
    page = seen.open(folder / "tuned.html")
    slider, cards = page.get_by_role("slider", name="Number of rules"), page.locator("#rule-cards .card")
    n = cards.count()
    figures = page.locator("#path-tiles .value")
    assert figures.first.inner_text() == str(n)
    assert page.locator(".card.later").count() == 0
    at_the_end = page.locator("#path .cursor").get_attribute("transform")
    slider.focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    page.locator("#path details summary").click()
    row = page.locator("#path-table tbody tr").nth(-3).locator("td").all_inner_texts()
    assert figures.all_inner_texts() == row
    assert slider.get_attribute("aria-valuetext") == f"{row[0]} rules"
    assert page.locator("#path .cursor").get_attribute("transform") != at_the_end
    later = {int(card.get_attribute("data-number")) for card in page.locator(".card.later").all()}
    assert later == set(range(int(row[0]) + 1, n + 1))
    page.locator("#rule-search").fill("o")
    assert page.locator(".card.later").count() == len(later)
    slider.focus()
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "1 rule"
    page.emulate_media(media="print")
    assert not slider.is_visible()
    assert page.locator(".card.later").first.evaluate("card => getComputedStyle(card).filter") == "none"
    assert seen.complaints == []


def test_without_a_script_the_losses_are_a_table_and_no_slider_is_shown(browser: Any, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "tuned.html").as_uri())
    assert not page.locator("#path-rules").is_visible()
    assert page.locator("#path-tiles .value").count() == 5
    page.locator("#path details summary").click()
    assert page.locator("#path-table tbody tr").first.is_visible()
    assert page.locator("tr.chosen").count() == 1
    context.close()
