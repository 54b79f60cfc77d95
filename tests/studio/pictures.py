"""Take the pictures of docs/studio: each page in light, dark and on a phone, on the example.

python -m tests.studio.pictures docs/studio
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from tests.studio.driving import Server, browsing

LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1100, "height": 760}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1100, "height": 760}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 760}},
}
STEPS = ("table", "schema", "plan", "run", "release", "ledger")


def release_the_example(page):
    """The clicks that docs/studio.md counts, and one more; returns the address of the table."""
    page.get_by_role("button", name="Use the example").click()
    page.get_by_role("button", name="Propose a schema").click()
    page.wait_for_url("**/schema")
    page.get_by_text("Accept all columns that are left").click()
    page.locator("#because-all").fill("the code book of the register")
    page.get_by_role("button", name="Accept all of them").click()
    page.get_by_role("button", name="Accept and check the table").click()
    page.get_by_text("Every value fits").wait_for()
    page.get_by_role("link", name="Go on to the plan").click()
    page.locator("#kway").select_option("2")  # pairs, so that nobody waits long for pictures
    page.get_by_role("button", name="Keep this plan and go on").click()
    page.get_by_label("Yes, spend it.").check()
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/release/*", timeout=900_000)
    return page.url.rpartition("/release/")[0]


def take(folder: Path) -> None:
    """Walk through the studio and take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        server = Server(Path(work))
        try:
            with browsing(playwright, server) as watched:
                page = watched.open()
                table = release_the_example(page)
                cookies = watched.context.cookies()
                for look, settings in LOOKS.items():
                    context = watched.context.browser.new_context(**settings)
                    context.add_cookies(cookies)
                    seen = context.new_page()
                    for name in STEPS:
                        seen.goto(f"{table}/{name}")
                        if name == "schema":
                            seen.locator("#column-0 > summary").click()
                        if name == "release":
                            seen.locator("#question").fill("age in 30..39")
                            seen.locator("#by-0").select_option("employment")
                            seen.get_by_role("button", name="Ask").click()
                            seen.locator("#answer table").wait_for()
                        seen.screenshot(path=folder / f"{name}-{look}.png")
                        # few colours, a third of the size
                        with Image.open(folder / f"{name}-{look}.png") as picture:
                            picture.quantize(64).save(folder / f"{name}-{look}.png", optimize=True)
                        if len(sys.argv) > 2:  # whole pages too, to look at
                            seen.screenshot(
                                path=Path(sys.argv[2]) / f"{name}-{look}.png", full_page=True
                            )
                    context.close()
        finally:
            server.kill()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
