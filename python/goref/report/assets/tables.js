// SPDX-License-Identifier: Apache-2.0
// Tables that can be sorted and filtered, and that begin with a few rows.
"use strict";

goref.tables = (() => {
  const { counted, el, number } = goref.dom;

  class Sortable {
    constructor(box) {
      this.box = box;
      this.shown = Number(box.dataset.shown);
      this.body = box.querySelector("tbody");
      this.heads = [...box.querySelectorAll("th")];
      this.rows = [...this.body.rows];
      this.isWhole = this.rows.length <= this.shown;
      this.filter = "";
      this.heads.forEach((head, column) => this.addButton(head, column));
      if (!this.isWhole) {
        this.addTools();
      }
      this.show();
    }

    addButton(head, column) {
      const button = el("button", { type: "button" }, ...head.childNodes);
      button.addEventListener("click", () => this.sort(column));
      head.append(button);
    }

    addTools() {
      const caption = this.box.querySelector("caption").textContent;
      this.input = el("input", {
        type: "search", placeholder: "Filter rows", autocomplete: "off",
        spellcheck: "false", "aria-label": `Filter ${caption.toLowerCase()}`,
      });
      this.input.addEventListener("input", () => {
        this.filter = this.input.value.toLowerCase();
        this.show();
      });
      this.status = el("span", { class: "status", role: "status" });
      this.more = el("button", { type: "button", class: "ghost more-rows" });
      this.more.addEventListener("click", () => {
        this.isWhole = !this.isWhole;
        this.show();
      });
      this.box.prepend(el("div", { class: "tools" }, this.input, this.status));
      this.paper = el("p", { class: "note paper" });
      this.box.querySelector(".scroll").after(this.more, this.paper);
    }

    sort(column) {
      const head = this.heads[column];
      const isNumber = head.classList.contains("n");
      const was = head.getAttribute("aria-sort");
      const first = isNumber ? "descending" : "ascending";
      const other = isNumber ? "ascending" : "descending";
      const order = was === first ? other : first;
      const sign = order === "ascending" ? 1 : -1;
      const value = (row) => row.cells[column].dataset.value;
      const compare = isNumber
        ? (a, b) => Number(value(a)) - Number(value(b))
        : (a, b) => (value(a) < value(b) ? -1 : Number(value(a) > value(b)));
      this.rows.sort((a, b) => sign * compare(a, b));
      this.heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      this.body.append(...this.rows);
      this.show();
    }

    show() {
      const isWanted = (row) =>
        !this.filter || row.textContent.toLowerCase().includes(this.filter);
      const wanted = this.rows.filter(isWanted);
      const shown = new Set(
        this.isWhole ? wanted : wanted.slice(0, this.shown));
      this.rows.forEach((row) => { row.hidden = !shown.has(row); });
      if (this.more) {
        this.more.hidden = wanted.length <= this.shown;
        this.more.textContent = this.isWhole
          ? "Show fewer rows" : `Show all ${number(wanted.length)} rows`;
        this.paper.textContent = shown.size < this.rows.length
          ? `${number(shown.size)} of ${counted(this.rows.length, "row")}; `
            + "the others are on the page, not on paper." : "";
        this.status.textContent = this.filter
          ? counted(wanted.length, "row") : "";
      }
    }
  }

  return [...document.querySelectorAll(".sortable")]
    .map((box) => new Sortable(box));
})();
