// SPDX-License-Identifier: Apache-2.0
// The panel at the side, for a close look: at an object, or at a type. The files
// after this one say what it shows. Its subject stands in the address, so the
// reader's way leads back.
"use strict";

goref.panel = (() => {
  const { el } = goref.dom;
  const shows = new Map(); // kind -> { has, make }
  const close = el("button", { type: "button", class: "ghost" }, "Close");
  const title = el("h2", { id: "panel-title", tabindex: "-1" });
  const body = el("div", { class: "panel-body" });
  const dialog = el("dialog",
    { id: "panel", class: "panel", "aria-labelledby": "panel-title" },
    el("header", {}, title, close), body);
  let from = null; // what had the focus before

  // has(key): is there anything to show? make(key): { title, parts }.
  const add = (kind, show) => { shows.set(kind, show); };
  const has = (kind, key) => Boolean(shows.get(kind)?.has(key));

  function show(word) {
    const [kind, key] = split(word);
    if (!has(kind, key)) {
      hide();
      return;
    }
    const made = shows.get(kind).make(key);
    title.replaceChildren(...[made.title].flat());
    body.replaceChildren(...made.parts.filter(Boolean));
    if (!dialog.open) {
      from = document.activeElement;
      dialog.showModal();
    }
    body.scrollTop = 0;
    title.focus();
  }

  function hide() {
    if (dialog.open) {
      dialog.close();
    }
  }

  // `object 0xc000010000', `type main.T'
  function split(word) {
    const at = (word || "").indexOf(" ");
    return at < 0 ? ["", ""] : [word.slice(0, at), word.slice(at + 1)];
  }

  function open(kind, key) {
    const word = `${kind} ${key}`;
    show(word);
    goref.state.set("open", word, true);
  }

  // A button that opens the panel; null if there is nothing to open.
  function link(kind, key, content, label) {
    if (!has(kind, key)) {
      return null;
    }
    const button = el("button", { type: "button", class: "link",
      "aria-haspopup": "dialog", "aria-label": label }, content);
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      open(kind, key);
    });
    return button;
  }

  // Buttons for all that can be opened of a node of a tree.
  function links(node) {
    const name = node.type || node.n;
    const type = [name, name.replace(/ data$/, "")]
      .find((one) => has("type", one));
    return [
      node.at ? link("object", node.at, "object",
        `object ${node.at}`) : null,
      type ? link("type", type, "type", `type ${type}`) : null,
    ].filter(Boolean);
  }

  // Names and addresses on the page become links.
  function upgrade(selector, kind, keyOf) {
    document.querySelectorAll(selector).forEach((one) => {
      const made = has(kind, keyOf(one))
        ? link(kind, keyOf(one), null) : null;
      if (made) {
        one.replaceWith(made);
        made.append(one);
      }
    });
  }

  function start() {
    document.body.append(dialog);
    dialog.addEventListener("close", () => {
      from?.focus?.({ preventScroll: true });
      goref.state.set("open", null);
    });
    close.addEventListener("click", hide);
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) {
        hide(); // beside the panel
      }
    });
    upgrade("code[data-card]", "object", (one) => one.dataset.card);
    upgrade("#types-table td > code", "type",
      (one) => one.parentElement.dataset.value);
    goref.state.keep("open", (word) => show(word));
  }

  return { add, link, links, start };
})();
