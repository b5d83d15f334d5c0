// SPDX-License-Identifier: Apache-2.0
// A copy is whole: names that are short on the page, and commands. A page from a
// file may have no clipboard of its own; then a selection is copied.
"use strict";

goref.copy = (() => {
  const { el } = goref.dom;
  const SAID = 1500; // milliseconds

  function bySelection(text, beside) {
    const before = document.activeElement;
    const field = el("textarea", { class: "away", "aria-hidden": "true" });
    field.value = text;
    beside.after(field);
    field.select();
    let isDone = false;
    try {
      isDone = document.execCommand("copy");
    } catch {
      // Nothing was copied.
    }
    field.remove();
    before?.focus({ preventScroll: true });
    return isDone;
  }

  async function copy(text, beside) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return bySelection(text, beside);
    }
  }

  function say(button, isDone) {
    const { title } = button;
    button.textContent = isDone ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = title; }, SAID);
  }

  // what: a name for what it copies, for those who do not see it.
  function button(text, what) {
    const made = el("button", {
      type: "button", class: "copy", title: "Copy",
      "aria-label": `Copy ${what}`,
    }, "Copy");
    made.addEventListener("click", async (event) => {
      event.stopPropagation();
      say(made, await copy(text, made));
    });
    return made;
  }

  // ------------------------------------------------------ what is selected

  // The range with its whole names; null if there is none that is short.
  function whole(range) {
    const inside = range.commonAncestorContainer;
    const element = inside.nodeType === Node.ELEMENT_NODE
      ? inside : inside.parentElement;
    const name = element.closest("code[title]");
    if (name) {
      return String(range) === name.textContent ? name.title : null;
    }
    const names = [...element.querySelectorAll("code[title]")]
      .filter((one) => range.intersectsNode(one));
    names.forEach((one, i) => { one.dataset.copied = i; });
    const copied = range.cloneContents();
    names.forEach((one) => { delete one.dataset.copied; });
    copied.querySelectorAll("[data-copied]").forEach((one) => {
      const { textContent, title } = names[one.dataset.copied];
      if (one.textContent === textContent) {
        one.textContent = title;
      }
    });
    return names.length ? copied : null;
  }

  // As a browser does it, an element must be in the page to have lines.
  function linesOf(copied, beside) {
    const box = el("div", { class: "away lines", "aria-hidden": "true" },
      copied);
    beside.append(box);
    const text = box.innerText;
    box.remove();
    return text;
  }

  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed
        || event.target.closest?.("textarea, input")) {
      return;
    }
    const found = whole(selection.getRangeAt(0));
    if (found !== null) {
      const text = typeof found === "string"
        ? found : linesOf(found, document.body);
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
    }
  });

  // --------------------------------------- the name that is pointed at

  // A button beside a name of a table or a list, as long as it is pointed at;
  // the panel and the chart have buttons that stay.
  function follow(main) {
    let beside = null;
    const hover = el("span", { class: "hover-copy" });
    main.addEventListener("pointerover", (event) => {
      const name = event.target.closest("td code, li code, .shares code");
      if (event.pointerType !== "mouse" || hover.contains(event.target)
          || name === beside) {
        return;
      }
      beside = name;
      hover.remove();
      if (name && !name.closest(".command")) {
        const made = button(name.title || name.textContent, "the name");
        made.tabIndex = -1;
        hover.replaceChildren(made);
        (name.closest("button, summary") || name).after(hover);
      }
    });
  }

  follow(goref.dom.byId("main"));
  document.querySelectorAll(".command").forEach((one) => {
    const command = one.querySelector("code").textContent;
    one.append(button(command, "the command"));
  });

  return { button, copy };
})();
