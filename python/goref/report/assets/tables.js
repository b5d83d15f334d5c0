// SPDX-License-Identifier: Apache-2.0
// Tables that can be sorted and searched, and that begin with a few rows.
"use strict";

goref.tables = (() => {
  const { counted, el, number } = goref.dom;
  const ORDERS = { a: "ascending", d: "descending" };

  class Sortable {
    constructor(box) {
      this.box = box;
      this.shown = Number(box.dataset.shown);
      this.body = box.querySelector("tbody");
      this.heads = [...box.querySelectorAll("th")];
      this.rows = [...this.body.rows];
      this.first = { rows: [...this.rows],
        orders: this.heads.map((head) => head.getAttribute("aria-sort")) };
      this.sorted = ""; // like 3d: by which column, and how
      this.isWhole = this.rows.length <= this.shown;
      this.found = null; // what is searched for
      this.heads.forEach((head, column) => this.addButton(head, column));
      this.addTools();
      this.show();
    }

    addButton(head, column) {
      const button = el("button", { type: "button" }, ...head.childNodes);
      button.addEventListener("click", () => this.turn(column));
      head.append(button);
    }

    addTools() {
      this.more = el("button", { type: "button", class: "ghost more-rows" });
      this.more.addEventListener("click", () => {
        this.isWhole = !this.isWhole;
        this.show();
      });
      this.status = el("p", { class: "note rows-found" });
      this.paper = el("p", { class: "note paper" });
      this.box.querySelector(".scroll")
        .after(this.status, this.more, this.paper);
    }

    // ------------------------------------------------------------ sorting

    // Numbers begin with the largest, names with the first.
    turn(column) {
      const head = this.heads[column];
      const first = head.classList.contains("n") ? "d" : "a";
      const was = head.getAttribute("aria-sort");
      const isFirst = was !== ORDERS[first];
      this.sort(column, isFirst ? first : { a: "d", d: "a" }[first]);
      keepSorts();
    }

    sort(column, order) {
      const head = this.heads[column];
      const value = (row) => row.cells[column].dataset.value;
      const sign = order === "a" ? 1 : -1;
      const compare = head.classList.contains("n")
        ? (a, b) => Number(value(a)) - Number(value(b))
        : (a, b) => (value(a) < value(b) ? -1 : Number(value(a) > value(b)));
      this.rows.sort((a, b) => sign * compare(a, b));
      this.heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ORDERS[order]);
      this.sorted = `${column}${order}`;
      this.body.append(...this.rows);
      this.show();
    }

    unsort() {
      if (!this.sorted) {
        return;
      }
      this.sorted = "";
      this.rows = [...this.first.rows];
      this.heads.forEach((head, i) => {
        const order = this.first.orders[i];
        head.removeAttribute("aria-sort");
        if (order) {
          head.setAttribute("aria-sort", order);
        }
      });
      this.body.append(...this.rows);
      this.show();
    }

    // ------------------------------------------------------------ the search

    texts(row) {
      return [...row.cells].flatMap((cell) =>
        [cell.dataset.value, cell.textContent]);
    }

    find(found) {
      this.found = found;
      this.show();
      return found ? this.wanted.length : 0;
    }

    show() {
      const { found } = this;
      this.wanted = this.rows.filter((row) =>
        !found || this.texts(row).some(found.has));
      const shown = new Set(
        this.isWhole ? this.wanted : this.wanted.slice(0, this.shown));
      this.rows.forEach((row) => { row.hidden = !shown.has(row); });
      this.more.hidden = this.wanted.length <= this.shown;
      this.more.textContent = this.isWhole
        ? "Show fewer rows" : `Show all ${number(this.wanted.length)} rows`;
      this.paper.textContent = shown.size < this.rows.length
        ? `${number(shown.size)} of ${counted(this.rows.length, "row")}; `
          + "the others are on the page, not on paper." : "";
      this.status.textContent = found
        ? `${number(this.wanted.length)} of `
          + `${counted(this.rows.length, "row")} match the search.` : "";
    }
  }

  const tables = new Map([...document.querySelectorAll(".sortable")]
    .map((box) => [box.id, new Sortable(box)]));

  function keepSorts() {
    const words = [...tables].filter(([, table]) => table.sorted)
      .map(([id, table]) => `${id}.${table.sorted}`);
    goref.state.set("sort", words.join(","));
  }

  goref.state.keep("sort", (words) => {
    tables.forEach((table) => table.unsort());
    (words || "").split(",").forEach((word) => {
      const [, id, column, order] = word.match(/^(.*)\.(\d+)([ad])$/) || [];
      const table = tables.get(id);
      if (table?.heads[column]) {
        table.sort(Number(column), order);
      }
    });
  });

  tables.forEach((table) => {
    goref.search.add({ link: table.box.closest("section").id,
                       find: (found) => table.find(found) });
  });

  // Groups of goroutines are searched like rows.
  const groups = [...document.querySelectorAll(".group")];
  if (groups.length) {
    goref.search.add({
      link: "goroutines",
      find(found) {
        const texts = (one) => [one.textContent,
          ...[...one.querySelectorAll("code[title]")].map((c) => c.title)];
        const wanted = groups.filter((one) =>
          !found || texts(one).some(found.has));
        groups.forEach((one) => { one.hidden = !wanted.includes(one); });
        return found ? wanted.length : 0;
      },
    });
  }

  return tables;
})();
