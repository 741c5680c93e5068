"""Take the README's picture of the laboratory, in Chromium.

python docs/lab_picture.py [FILE]
"""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURE = Path(__file__).parent / "pictures" / "lab.png"
#: Where the time handle stands, of 1000: neurons of the wedge grow, and the loss begins to fall.
PLACE = 700


def main(path: Path) -> None:
    command = [sys.executable, "-c", "from biasfree.cli import main; main()", "lab", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as driver:
        try:
            address = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(address[0] if address else "")
            png = taken(page)
            browser.close()
        finally:
            server.terminate()
    Image.open(io.BytesIO(png)).convert("RGB").save(path, optimize=True)  # without the transparency


def taken(page: Page) -> bytes:
    """The page with its exact run, the hints followed."""
    page.wait_for_selector("#status.exact", timeout=120_000)
    page.evaluate("document.querySelectorAll('.hint').forEach(each => each.remove())")
    slider = page.get_by_role("slider", name="Time of the run")
    slider.fill(str(PLACE))
    slider.blur()
    page.get_by_text("predicted").wait_for()  # the last words of the run
    return page.screenshot()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
