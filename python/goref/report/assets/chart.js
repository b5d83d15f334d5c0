// SPDX-License-Identifier: Apache-2.0
// The chart with all that is around it: tabs, words about a box, and the matches
// of the search.
"use strict";

goref.chart = (() => {
  const { byId, counted, el, percent } = goref.dom;
  const { column } = goref.names;
  const { chain, facts, sizeOf, title } = goref.tree;
  const MEANINGS = {
    dominators: "A box is what it alone keeps alive.",
    references: "Each object is billed to its nearest root.",
    grown: "A box is what the paths through it grew by.",
    shrunk: "A box is what the paths through it shrank by.",
    holders: "The types of the heap; below each, who holds its objects.",
  };

  // The whole name, and the way to it; buttons for what has a card.
  function describe(tree, node) {
    const way = chain(node.parent).slice(1)
      .map((one) => title(one, column(one.n, 32)));
    const shown = way.length > 6
      ? [...way.slice(0, 2), "…", ...way.slice(-3)] : way;
    return [
      el("p", { class: "trail" },
        el("strong", {}, title(node)), " ",
        node.depth ? goref.copy.button(node.n, "the name") : null,
        ...(goref.panel?.links(node) || [])),
      el("p", {}, facts(tree, node).join("; ")),
      way.length
        ? el("p", { class: "way" }, `in ${shown.join(" › ")}`) : null,
    ].filter(Boolean);
  }

  // Bytes below two matches count once.
  function said(tree, matches) {
    if (!matches.length) {
      return "No name in the chart matches.";
    }
    const all = new Set(matches);
    const outer = matches.filter((node) =>
      !chain(node.parent).some((one) => all.has(one)));
    const held = outer.reduce((sum, node) => sum + node.b, 0);
    const [verb, hold] = matches.length === 1
      ? ["matches", "holds"] : ["match", "hold"];
    const made = tree.sign ? ":" : `, and ${hold}`;
    return `${counted(matches.length, "name")} ${verb}${made} `
      + `${sizeOf(tree, held)} (`
      + `${percent(held, tree.whole)}). Enter goes to the next one.`;
  }

  class Chart {
    constructor(tabs) {
      this.tabs = tabs;
      this.icicle = new goref.icicle.Icicle(byId("icicle"), {
        node: (node) => this.sayNode(node),
        zoom: (node) => this.sayZoom(node),
      });
      tabs.forEach((tab, i) => {
        tab.addEventListener("click", () => this.choose(tab));
        tab.addEventListener("keydown", (event) => this.key(event, i));
      });
      byId("zoom-out").addEventListener("click", () => this.icicle.zoomOut());
      this.open(tabs[0]);
    }

    open(tab) {
      this.tab = tab;
      const name = tab.dataset.tree;
      this.tabs.forEach((one) => {
        one.setAttribute("aria-selected", String(one === tab));
        one.tabIndex = one === tab ? 0 : -1;
      });
      byId("icicle").setAttribute("aria-labelledby", tab.id);
      byId("meaning").textContent = MEANINGS[name];
      this.icicle.open(name);
      byId("zoom-out").disabled = true;
      this.sayFound([...this.icicle.matches]);
    }

    choose(tab) {
      this.open(tab);
      goref.state.set("zoom", null);
      goref.state.set("view",
        tab === this.tabs[0] ? null : tab.dataset.tree, true);
    }

    key(event, at) {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        const other = this.tabs.at((at + step) % this.tabs.length);
        this.choose(other);
        other.focus();
      }
    }

    // ------------------------------------------------------ what it says

    sayNode(node) {
      byId("selected").replaceChildren(
        ...describe(this.icicle.tree, node));
    }

    sayZoom(node) {
      byId("zoom-out").disabled = !node.parent;
      const at = this.icicle.tree.nodes.indexOf(node);
      goref.state.set("zoom", at ? String(at) : null, true);
    }

    sayFound(matches) {
      byId("found").textContent = this.icicle.found
        ? said(this.icicle.tree, matches) : "";
    }

    find(found) {
      const matches = this.icicle.search(found);
      this.sayFound(matches);
      return matches.length;
    }

    // ------------------------------------------------------------ restoring

    view(name) {
      const tab = this.tabs.find((one) => one.dataset.tree === name)
        || this.tabs[0];
      if (tab !== this.tab) {
        this.open(tab);
      }
    }

    zoom(at) {
      const { nodes } = this.icicle.tree;
      const node = nodes[Number(at) || 0] || nodes[0];
      if (node !== this.icicle.at) {
        this.icicle.show(node, node);
      }
    }
  }

  function start() {
    const tabs = [...document.querySelectorAll("#chart [role='tab']")];
    if (!tabs.length) {
      return null;
    }
    byId("chart").hidden = false;
    const chart = new Chart(tabs);
    goref.state.keep("view", (name) => chart.view(name));
    goref.state.keep("zoom", (at) => chart.zoom(at));
    goref.search.add({ link: "charts",
      find: (found) => chart.find(found),
      next: () => chart.icicle.nextMatch() });
    return chart;
  }

  return { start };
})();
