// SPDX-License-Identifier: Apache-2.0
// The chart: a box for each node, as wide as its bytes, below what holds it. Only
// boxes that can be seen are made, so the size of the tree does not matter.
"use strict";

goref.icicle = (() => {
  const { byId, bytes, counted, el, number, percent } = goref.dom;
  const { chain, facts, make, title } = goref.tree;
  const ROW = 25; // pixels
  const LEAST = 2; // pixels of a box
  const ABOVE = 4; // boxes above the one that the chart is zoomed to
  const NAMED = 28; // pixels of a box with a name

  class Icicle {
    constructor(box) {
      this.box = box;
      this.trees = new Map();
      this.query = "";
      this.drawn = new Map(); // node -> box
      box.addEventListener("keydown", (event) => this.key(event));
      this.width = 0; // of the boxes that are drawn, in pixels
      // Drawing changes the height: only the width counts.
      new ResizeObserver(() => {
        if (box.clientWidth !== this.width) {
          this.draw();
        }
      }).observe(box);
    }

    open(name) {
      if (!this.trees.has(name)) {
        this.trees.set(name, make(name));
      }
      this.tree = this.trees.get(name);
      this.at = this.tree.top; // what the chart is zoomed to
      this.chosen = this.tree.top; // what the keyboard is at
      this.search(this.query);
    }

    // ------------------------------------------------------------ drawing

    draw() {
      const width = this.box.clientWidth;
      if (!this.tree || !width) {
        return;
      }
      this.width = width;
      const hadFocus = this.box.contains(document.activeElement);
      this.drawn.clear();
      const boxes = [];
      const above = chain(this.at.parent);
      above.splice(1, above.length - 1 - ABOVE);
      above.forEach((node, row) => {
        boxes.push(this.boxOf(node, row, 0, width, "above"));
      });
      const scale = width / (this.at.b || 1);
      const stack = [[this.at, above.length, 0]];
      let last = 0;
      while (stack.length) {
        const [node, row, left] = stack.pop();
        boxes.push(this.boxOf(node, row, left, node.b * scale, ""));
        last = Math.max(last, row);
        let x = left;
        node.k.forEach((child) => {
          if (child.b * scale >= LEAST) {
            stack.push([child, row + 1, x]);
          }
          x += child.b * scale;
        });
        if (node.rest * scale >= LEAST && (node.k.length || node.x)) {
          boxes.push(this.restOf(node, row + 1, x, node.rest * scale));
          last = Math.max(last, row + 1);
        }
      }
      this.box.replaceChildren(...boxes);
      this.box.style.height = `${(last + 1) * ROW}px`;
      if (!this.drawn.has(this.chosen)) {
        this.chosen = this.at;
      }
      this.choose(this.chosen, hadFocus);
    }

    place(box, row, left, width) {
      box.style.top = `${row * ROW}px`;
      box.style.left = `${left}px`;
      box.style.width = `${Math.max(width - 1, 1)}px`;
      return box;
    }

    boxOf(node, row, left, width, how) {
      const isMatch = this.query && this.matches.has(node);
      const classes = ["box", `of-${node.colour}`, how,
        width >= NAMED ? "named" : "", isMatch ? "match" : "", this.query && !isMatch ? "other" : ""];
      const label = width >= NAMED
        ? [el("span", { class: "name" }, title(node)),
           el("span", { class: "size" }, bytes(node.b))]
        : [];
      const box = el("div", {
        class: classes.filter(Boolean).join(" "), role: "treeitem",
        tabindex: "-1", "aria-level": node.depth + 1,
        "aria-selected": "false",
        "aria-label": `${title(node)}, ${facts(this.tree, node).join(", ")}`,
        title: `${title(node)}\n${facts(this.tree, node).join("\n")}`,
      }, ...label);
      box.addEventListener("click", () => this.zoom(node));
      box.addEventListener("pointerenter", () => this.describe(node));
      this.drawn.set(node, box);
      return this.place(box, row, left, width);
    }

    restOf(node, row, left, width) {
      const count = node.x ? `${number(node.x)} more` : "many small ones";
      const text = `${count}: ${bytes(node.rest)}, `
        + `${percent(node.rest, this.tree.whole)}; not in this report`;
      const label = width >= NAMED ? `(${count})` : "";
      const box = el("div", {
        class: `box of-rest${label ? " named" : ""}`, title: text,
      }, label);
      return this.place(box, row, left, width);
    }

    // ------------------------------------------------- choosing, zooming

    choose(node, isFocused) {
      const before = this.box.querySelector("[tabindex='0']");
      if (before) {
        before.tabIndex = -1;
        before.setAttribute("aria-selected", "false");
      }
      this.chosen = node;
      const box = this.drawn.get(node);
      box.tabIndex = 0;
      box.setAttribute("aria-selected", "true");
      this.describe(node);
      if (isFocused) {
        box.focus({ preventScroll: false });
      }
    }

    // The box that the chart is zoomed to leads back out.
    zoom(node) {
      this.at = node === this.at && node.parent ? node.parent : node;
      this.chosen = node;
      this.draw();
      byId("zoom-out").disabled = !this.at.parent;
    }

    zoomOut() {
      if (this.at.parent) {
        this.zoom(this.at);
      }
    }

    describe(node) {
      const path = chain(node).slice(1).map((one) => title(one));
      byId("selected").replaceChildren(
        el("p", { class: "trail" }, path.join(" › ") || node.n),
        el("p", {}, facts(this.tree, node).join("; ")),
      );
    }

    // ------------------------------------------------------------ keyboard

    // Drawn boxes beside a node, from left to right.
    beside(node, step) {
      const all = node.parent && node !== this.at
        ? node.parent.k.filter((one) => this.drawn.has(one)) : [node];
      return all[all.indexOf(node) + step];
    }

    key(event) {
      const node = this.chosen;
      const moves = {
        ArrowDown: () => node.k.find((one) => this.drawn.has(one)),
        ArrowUp: () => node.parent,
        ArrowLeft: () => this.beside(node, -1),
        ArrowRight: () => this.beside(node, 1),
        Home: () => this.tree.top,
      };
      const actions = {
        Enter: () => this.zoom(node),
        " ": () => this.zoom(node),
        Escape: () => this.zoomOut(),
        Backspace: () => this.zoomOut(),
      };
      const target = moves[event.key]?.();
      if (!moves[event.key] && !actions[event.key]) {
        return;
      }
      event.preventDefault();
      actions[event.key]?.();
      if (target && this.drawn.has(target)) {
        this.choose(target, true);
      }
    }

    // -------------------------------------------------------------- search

    search(query) {
      this.query = query.trim().toLowerCase();
      const found = this.query
        ? this.tree.nodes.filter((node) => node.depth
          && node.n.toLowerCase().includes(this.query)) : [];
      found.sort((a, b) => b.b - a.b);
      this.matches = new Set(found);
      this.next = 0;
      const status = byId("found");
      status.textContent = this.query ? this.said(found) : "";
      this.draw();
    }

    // Bytes below two matches count once.
    said(found) {
      if (!found.length) {
        return "No name matches.";
      }
      const outer = found.filter((node) =>
        !chain(node.parent).some((one) => this.matches.has(one)));
      const held = outer.reduce((sum, node) => sum + node.b, 0);
      const verb = found.length === 1 ? "es, and holds" : " and hold";
      return `${counted(found.length, "name")}`
        + ` match${verb} ${bytes(held)} (`
        + `${percent(held, this.tree.whole)}). Enter goes to the next one.`;
    }

    nextMatch() {
      const all = [...this.matches];
      if (all.length) {
        const node = all[this.next % all.length];
        this.next += 1;
        this.at = node.parent || node;
        this.chosen = node;
        this.draw();
        byId("zoom-out").disabled = !this.at.parent;
      }
    }
  }

  function start() {
    const tabs = [...document.querySelectorAll("#chart [role='tab']")];
    if (!tabs.length) {
      return null;
    }
    byId("chart").hidden = false;
    const icicle = new Icicle(byId("icicle"));
    const show = (tab) => {
      tabs.forEach((one) => {
        one.setAttribute("aria-selected", String(one === tab));
        one.tabIndex = one === tab ? 0 : -1;
      });
      byId("icicle").setAttribute("aria-labelledby", tab.id);
      icicle.open(tab.dataset.tree);
      byId("zoom-out").disabled = true;
    };
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => show(tab));
      tab.addEventListener("keydown", (event) => {
        if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
          const other = tabs[(i + 1) % tabs.length];
          show(other);
          other.focus();
        }
      });
    });
    const input = byId("search");
    input.addEventListener("input", () => icicle.search(input.value));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        icicle.nextMatch();
      }
    });
    byId("zoom-out").addEventListener("click", () => icicle.zoomOut());
    show(tabs[0]);
    return icicle;
  }

  return start();
})();
