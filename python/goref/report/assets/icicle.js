// SPDX-License-Identifier: Apache-2.0
// The chart: a box for each node, as wide as its bytes, below what holds it. Only
// boxes that can be seen are made, so the size of the tree does not matter.
"use strict";

goref.icicle = (() => {
  const { bytes, el, number, percent } = goref.dom;
  const { column } = goref.names;
  const { chain, facts, make, sizeOf, title } = goref.tree;
  const ROW = 25; // pixels
  const LEAST = 2; // pixels of a box
  const ABOVE = 4; // boxes above the one that the chart is zoomed to
  const NAMED = 40; // pixels of a box with a name

  class Icicle {
    // says: what it tells about what is chosen, and where it is zoomed to.
    constructor(box, says) {
      this.box = box;
      this.says = says;
      this.trees = new Map();
      this.found = null; // what is searched for
      this.matches = new Set();
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
      this.search(this.found);
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
      const isMatch = this.matches.has(node);
      const classes = ["box", `of-${node.color}`, how,
        width >= NAMED ? "named" : "", isMatch ? "match" : "",
        this.found && !isMatch ? "other" : ""];
      const size = sizeOf(this.tree, node.b);
      const name = title(node, column(node.n));
      const label = width >= NAMED
        ? [el("span", { class: "name" }, name), " ",
           el("span", { class: "size" }, size)]
        : [];
      const [, ...others] = facts(this.tree, node);
      const box = el("div", {
        class: classes.filter(Boolean).join(" "), role: "treeitem",
        tabindex: "-1", "aria-level": node.depth + 1,
        "aria-selected": "false",
        "aria-label": [`${name} ${size}`, percent(node.b, this.tree.whole),
          ...others].join(", "),
        title: `${title(node)}\n${facts(this.tree, node).join("\n")}`,
      }, ...label);
      box.addEventListener("click", () => this.zoom(node));
      box.addEventListener("pointerenter", () => this.says.node(node));
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
      this.says.node(node);
      if (isFocused) {
        box.focus({ preventScroll: false });
      }
    }

    // The box that the chart is zoomed to leads back out.
    zoom(node) {
      this.show(node === this.at && node.parent ? node.parent : node, node);
    }

    zoomOut() {
      if (this.at.parent) {
        this.zoom(this.at);
      }
    }

    show(at, chosen) {
      this.at = at;
      this.chosen = chosen;
      this.draw();
      this.says.zoom(at);
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

    search(found) {
      this.found = found;
      const matches = found
        ? this.tree.nodes.filter((node) => node.depth && found.has(node.n))
        : [];
      matches.sort((a, b) => b.b - a.b);
      this.matches = new Set(matches);
      this.next = 0;
      this.draw();
      return matches;
    }

    nextMatch() {
      const all = [...this.matches];
      if (all.length) {
        const node = all[this.next % all.length];
        this.next += 1;
        this.show(node.parent || node, node);
      }
    }
  }

  return { Icicle };
})();
