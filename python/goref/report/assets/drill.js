// SPDX-License-Identifier: Apache-2.0
// The dominator tree as a table whose rows open. Rows are made when they are
// first shown.
"use strict";

goref.drill = (() => {
  const { bar, byId, bytes, el, number, percent } = goref.dom;
  const { code } = goref.names;
  const { make } = goref.tree;
  const OPENED = 2; // of the first rows, at first
  const MOST = 15; // rows below one, until more are asked for
  const PAGES = 4; // of rows that the search asks for on the way
  const SHOWN = 8; // rows that the search opens the way to

  class Drill {
    constructor(table, tree) {
      this.tree = tree;
      this.body = table.tBodies[0];
      this.rows = new Map(); // row -> what it shows
      this.matches = new Set(); // of the search
      this.addBelow(null, tree.top, 0);
      [...this.body.rows].slice(0, OPENED).forEach((row) => this.open(row));
      const first = this.body.rows[0];
      if (first) {
        this.stop(first);
      }
      this.body.addEventListener("keydown", (event) => this.key(event));
      this.body.addEventListener("click", (event) => this.click(event));
      table.hidden = false;
    }

    // The rows below a node, behind a row; from is the first child to add.
    addBelow(row, node, from) {
      const made = node.k.slice(from, from + MOST)
        .map((child) => this.rowOf(child));
      const left = node.k.length - from - made.length;
      if (left > 0) {
        made.push(this.moreOf(node, from + made.length, left));
      } else if (node.rest && (node.k.length || node.x)) {
        made.push(this.restOf(node));
      }
      if (row) {
        row.after(...made);
      } else {
        this.body.append(...made);
      }
      return made;
    }

    rowOf(node) {
      const hasMore = Boolean(node.k.length || node.x);
      const name = el("td", { role: "gridcell" },
        el("span", { class: "twist", "aria-hidden": "true" },
          hasMore ? "▸" : ""),
        goref.origins.markOf(node.color), code(node.n),
        node.type || node.at
          ? el("span", { class: "more" }, code(node.type || node.at)) : null,
        ...goref.panel.links(node));
      name.querySelectorAll("button")
        .forEach((one) => { one.tabIndex = -1; });
      name.style.setProperty("--level", node.depth - 1);
      const row = el("tr", {
        role: "row", tabindex: "-1", "aria-level": node.depth,
        "aria-expanded": hasMore ? "false" : null,
      }, name,
      this.cell(bytes(node.b), `${number(node.b)} B`),
      this.cell(this.share(node.b)),
      this.cell(node.c > 1 ? number(node.c) : "", null, "minor"),
      this.cell(node.o ? bytes(node.o) : "", null, "minor"));
      this.rows.set(row, { node, level: node.depth });
      this.mark(row);
      return row;
    }

    share(part) {
      return [bar(part, this.tree.whole),
        el("span", { class: "pct" }, percent(part, this.tree.whole))];
    }

    cell(content, title, more) {
      return el("td", { role: "gridcell", title,
        class: more ? `n ${more}` : "n" }, ...[content].flat());
    }

    // Children that are in the report and not yet in the table.
    moreOf(node, from, left) {
      const row = this.note(node, `Show ${number(left)} more`);
      Object.assign(this.rows.get(row), { node, from });
      row.classList.add("link");
      return row;
    }

    restOf(node) {
      const text = node.x ? `${number(node.x)} more` : "smaller ones";
      const row = this.note(node, `(${text}, not in this report)`);
      row.cells[1].textContent = bytes(node.rest);
      row.cells[2].replaceChildren(...this.share(node.rest));
      return row;
    }

    note(node, text) {
      const name = el("td", { role: "gridcell" },
        el("span", { class: "twist" }), el("span", { class: "more" }, text));
      name.style.setProperty("--level", node.depth);
      const row = el("tr", { role: "row", tabindex: "-1", class: "rest",
        "aria-level": node.depth + 1 },
      name, this.cell(""), this.cell(""), this.cell("", null, "minor"),
      this.cell("", null, "minor"));
      this.rows.set(row, { level: node.depth + 1 });
      return row;
    }

    // ------------------------------------------------------ opening, closing

    isOpen(row) {
      return row.getAttribute("aria-expanded") === "true";
    }

    open(row) {
      const { node } = this.rows.get(row);
      if (row.getAttribute("aria-expanded") === "false") {
        row.setAttribute("aria-expanded", "true");
        row.querySelector(".twist").textContent = "▾";
        this.addBelow(row, node, 0);
      }
    }

    close(row) {
      const { level } = this.rows.get(row);
      let next = row.nextElementSibling;
      while (next && this.rows.get(next).level > level) {
        const gone = next;
        next = next.nextElementSibling;
        this.rows.delete(gone);
        gone.remove();
      }
      row.setAttribute("aria-expanded", "false");
      row.querySelector(".twist").textContent = "▸";
    }

    toggle(row) {
      const { node, from } = this.rows.get(row);
      if (from !== undefined) {
        const before = row.previousElementSibling;
        this.focus(this.extend(row)[0] || before);
      } else if (this.isOpen(row)) {
        this.close(row);
      } else {
        this.open(row);
      }
    }

    click(event) {
      const row = event.target.closest("tr");
      if (row && !String(getSelection()) && !event.target.closest("button")) {
        this.focus(row);
        this.toggle(row);
      }
    }

    // ------------------------------------------------------------ the search

    mark(row) {
      const { node, from } = this.rows.get(row);
      row.classList.toggle("match",
        from === undefined && this.matches.has(node));
    }

    find(found) {
      const matches = found ? this.tree.nodes.filter((node) =>
        node.depth && found.has(node.n)) : [];
      this.matches = new Set(matches);
      matches.sort((a, b) => b.b - a.b);
      matches.slice(0, SHOWN).forEach((node) => this.reveal(node));
      this.rows.forEach((_, row) => this.mark(row));
      return matches.length;
    }

    rowFor(node) {
      return [...this.rows].find(([row, one]) =>
        one.node === node && one.from === undefined && row)?.[0];
    }

    // Open what is above a node; it may be behind a row that shows more.
    reveal(node) {
      goref.tree.chain(node).slice(1).forEach((one) => {
        for (let tries = 0; !this.rowFor(one); tries += 1) {
          const more = [...this.rows].find(([, { node: above, from }]) =>
            above === one.parent && from !== undefined);
          if (!more || tries === PAGES) {
            return;
          }
          this.extend(more[0]);
        }
        if (one !== node) {
          this.open(this.rowFor(one));
        }
      });
    }

    extend(row) {
      const { node, from } = this.rows.get(row);
      const made = this.addBelow(row, node, from);
      row.remove();
      this.rows.delete(row);
      return made;
    }

    // -------------------------------------------------------------- keyboard

    // Tab stops at one row, and at the buttons in it.
    stop(row) {
      [...this.body.querySelectorAll("[tabindex='0']")]
        .forEach((one) => { one.tabIndex = -1; });
      [row, ...row.querySelectorAll("button")]
        .forEach((one) => { one.tabIndex = 0; });
    }

    focus(row) {
      if (row) {
        this.stop(row);
        row.focus();
      }
    }

    above(row) {
      const { level } = this.rows.get(row);
      let before = row.previousElementSibling;
      while (before && this.rows.get(before).level >= level) {
        before = before.previousElementSibling;
      }
      return before;
    }

    key(event) {
      const row = event.target.closest("tr");
      if (event.target !== row) {
        return; // a button in it
      }
      const actions = {
        ArrowDown: () => this.focus(row.nextElementSibling),
        ArrowUp: () => this.focus(row.previousElementSibling),
        ArrowRight: () => (this.isOpen(row)
          ? this.focus(row.nextElementSibling) : this.open(row)),
        ArrowLeft: () => (this.isOpen(row)
          ? this.close(row) : this.focus(this.above(row))),
        Enter: () => this.toggle(row),
        " ": () => this.toggle(row),
        Home: () => this.focus(this.body.firstElementChild),
        End: () => this.focus(this.body.lastElementChild),
      };
      if (row && actions[event.key]) {
        event.preventDefault();
        actions[event.key]();
      }
    }
  }

  function start() {
    const table = byId("drill");
    const tree = table ? make("dominators") : null;
    if (!tree) {
      return null;
    }
    const drill = new Drill(table, tree);
    goref.search.add({ link: "holders",
                       find: (found) => drill.find(found) });
    return drill;
  }

  return { start };
})();
