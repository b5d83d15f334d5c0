// SPDX-License-Identifier: Apache-2.0
// Light or dark: the system's choice until the button is pressed. In print, all
// of the page is shown.
"use strict";

goref.theme = (() => {
  const KEY = "goref-theme";
  const button = goref.dom.byId("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");

  // A file that was opened by a double click may have no storage.
  function kept() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // It holds until the page is closed.
    }
  }

  function current() {
    const chosen = document.documentElement.dataset.theme;
    return chosen || (prefersDark.matches ? "dark" : "light");
  }

  function show() {
    const other = current() === "dark" ? "light" : "dark";
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Use ${other} colors`);
  }

  function toggle() {
    const theme = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    keep(theme);
    show();
  }

  const known = kept();
  if (known === "dark" || known === "light") {
    document.documentElement.dataset.theme = known;
  }
  button.hidden = false;
  button.addEventListener("click", toggle);
  prefersDark.addEventListener("change", show);
  show();

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll(
      "details:not([open], .folded)")];
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => {
    closed.forEach((details) => { details.open = false; });
  });

  return { current };
})();
