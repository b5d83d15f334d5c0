# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that opens pages of `goref report`, and what a person
would do with it."""

import functools
import hashlib
import importlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from toolchains import cache_dir

WIDE, NARROW = (1440, 1000), (390, 844)

# Texts that can be seen, with the contrast to what is behind them (WCAG 2).
# Texts that the search has dimmed and disabled controls do not count.
CONTRASTS = """
const channels = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const over = (top, below) => {
  const a = top.length > 3 ? top[3] : 1;
  return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a));
};
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  const layers = [];
  for (let one = element; one; one = one.parentElement) {
    layers.push(channels(getComputedStyle(one).backgroundColor));
  }
  return layers.reverse().reduce((below, top) => over(top, below),
                                 [255, 255, 255]);
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || !element.checkVisibility({ visibilityProperty: true })
      || element.closest("script, style, .away, .skip, :disabled, svg.bar")) {
    continue;
  }
  const style = getComputedStyle(element);
  const isDrawn = element instanceof SVGElement;
  const page = isDrawn && element.closest(".node")
    ? channels(getComputedStyle(element.closest(".node")
        .querySelector("rect:last-of-type")).fill) : behind(element);
  let ink = channels(isDrawn ? style.fill : style.color);
  for (let one = element; one; one = one.parentElement) {
    const { opacity } = getComputedStyle(one);
    if (Number(opacity) < 1) {
      ink = over([...ink.slice(0, 3), Number(opacity)], page);
    }
  }
  const [a, b] = [luminance(over(ink, page)), luminance(page)];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  found.push([contrast, text.slice(0, 40), element.className.toString()]);
}
return found;
"""


AXE = "axe-core@4.14.1"
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"


@functools.lru_cache(maxsize=None)
def axe_source():
    """The text of axe-core, which npm brings once; only tests use it."""
    kept = cache_dir() / f"{AXE}.js"
    if not kept.exists():
        if not shutil.which("npm"):
            pytest.skip("no npm, which would bring axe-core")
        kept.write_bytes(_packed(AXE, "package/axe.min.js"))
    text = kept.read_bytes()
    assert hashlib.sha256(text).hexdigest() == AXE_SHA256
    return text.decode("utf-8")


def _packed(package, name):
    """A file of a package of npm."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["npm", "pack", "--silent", package], cwd=folder, check=False,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"npm pack {package} failed")
        with tarfile.open(Path(folder) / done.stdout.split()[-1]) as archive:
            return archive.extractfile(name).read()


def start():
    """The driver of a new browser; the caller ends it."""
    missing = [n for n in ("chromium", "chromedriver") if not shutil.which(n)]
    if missing:
        pytest.skip(
            f"no {' and no '.join(missing)}: apt-get install chromium "
            "chromium-driver"
        )
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="apt-get install python3-selenium"
    )
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in (
        "--headless=new",
        "--no-sandbox",  # root has none
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ):
        options.add_argument(word)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    service = webdriver.chrome.service.Service(shutil.which("chromedriver"))
    return webdriver.Chrome(service=service, options=options)


class Page:
    """A page that is open in a browser."""

    def __init__(self, driver, path, size=WIDE, theme="light", media="screen"):
        self.driver = driver
        driver.get("about:blank")
        driver.get_log("performance")
        driver.get_log("browser")
        self.emulate(size, theme, media)
        driver.get(path.resolve().as_uri())
        self.settle()

    def settle(self):
        """Wait until the page has drawn what depends on its size."""
        self.driver.set_script_timeout(300)
        self.driver.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )

    def emulate(self, size, theme, media="screen"):
        width, height = size
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1,
             "mobile": size == NARROW},
        )  # fmt: skip
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"media": media, "features": [
                {"name": "prefers-color-scheme", "value": theme}]},
        )  # fmt: skip

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script):
        """Until a script returns something true."""
        self.driver.set_script_timeout(60)
        self.driver.execute_async_script(
            "const done = arguments[0];"
            f"const is = () => {{ {script} }};"
            "const look = () => (is() ? done()"
            " : requestAnimationFrame(look)); look();"
        )

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def texts(self, selector):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map((one) => one.textContent)",
            selector,
        )

    def click(self, selector):
        """As a person does: what lies above it would be hit instead."""
        element = self.one(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def move_to(self, element):
        """The pointer to the middle of an element."""
        actions = importlib.import_module("selenium.webdriver")
        chain = actions.ActionChains(self.driver)
        chain.move_to_element(element).perform()

    def search(self, text):
        """Search the page for a text; it replaces what stood there."""
        self.run("const field = arguments[0]; field.focus(); field.select();",
                 self.one("#search"))  # fmt: skip
        self.one("#search").send_keys(text or "\ue003")

    def press(self, *keys):
        """Keys for whatever has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    @property
    def focused(self):
        return self.driver.switch_to.active_element

    def document(self):
        """The document that the page embeds."""
        return json.loads(
            self.run(
                "return document.getElementById('goref-document').textContent"
            )
        )

    def axe(self):
        """The rules of axe-core that the page breaks as it is now, and where
        it does."""
        # Past the policy of the page.
        self.driver.execute_cdp_cmd(
            "Runtime.evaluate", {"expression": f"{axe_source()};0"}
        )
        found = self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, { resultTypes: ['violations'] })"
            ".then((found) => done(found.violations),"
            "      (problem) => done(String(problem)));"
        )
        assert isinstance(found, list), found
        return [
            (rule["id"], node["target"])
            for rule in found
            for node in rule["nodes"]
        ]

    def complaints(self):
        """The messages of the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """The addresses that were asked for."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def overflow(self):
        """Pixels by which the page is wider than the window."""
        return self.run(
            "const page = document.documentElement;"
            "return page.scrollWidth - page.clientWidth"
        )

    def contrasts(self):
        """(contrast, text, class) of all that can be seen."""
        return self.run(CONTRASTS)
