// SPDX-License-Identifier: Apache-2.0
// The card of an object: its type and sizes, what its fields hold, the way to it
// from a root, and who holds it.
"use strict";

goref.cards = (() => {
  const { bytes, el, number, percent, retained } = goref.dom;
  const { code } = goref.names;
  const ADDRESSES = 3; // of holders that are alike
  const { report } = goref.tree;
  const found = report.objects?.cards || [];
  const byAddress = new Map(found.map((card) => [card.at, card]));
  const isExact = !report.partial?.length && !report.heap?.folded?.objects;
  const reached = report.suspects || report.dominators;
  const whole = (reached?.reached_bytes || 0)
    + (reached?.reached_c_bytes || 0);

  const size = (count) => (count === null || count === undefined ? ""
    : el("span", { class: "num", title: `${number(count)} B` },
      bytes(count)));

  // The parts in Go and in C, if C has one; those of a block are C's, mostly.
  const inC = (card) => (card.retained_c_bytes && card.retained_bytes
    ? ` (Go ${bytes(card.retained_bytes)}, C ${bytes(card.retained_c_bytes)})`
    : "");

  // An address, which leads to its card if there is another one.
  function address(at, own) {
    const code_ = at ? el("code", {}, at) : null;
    const link = at && at !== own
      ? goref.panel.link("object", at, code_) : null;
    return link || code_;
  }

  // heads: [title, class]. rows: lists of contents.
  function table(caption, heads, rows) {
    const cell = (content, i) =>
      el("td", { role: "cell", class: heads[i][1] || null },
        ...[content].flat());
    const head = ([title, kind]) =>
      el("th", { scope: "col", role: "columnheader", class: kind || null },
        title);
    return el("div",
      { class: "scroll", tabindex: "0", role: "region",
        "aria-label": caption },
      el("table", { role: "table" }, // also if its rows are grids
        el("thead", { role: "rowgroup" },
          el("tr", { role: "row" }, heads.map(head))),
        el("tbody", { role: "rowgroup" }, rows.map((row) =>
          el("tr", { role: "row" }, row.map(cell))))));
  }

  const facts = (rows) => el("dl", { class: "inline" },
    rows.filter(([, content]) => content).map(([title, content]) =>
      [el("dt", {}, title), el("dd", {}, ...[content].flat())]));

  const part = (title, ...content) =>
    el("div", { class: "part" }, el("h3", {}, title), ...content);

  const typed = (name, isC) => (name
    ? [goref.origins.mark(name, isC), code(name)]
    : el("span", { class: "more" }, "not known"));
  const live = report.types?.c_bytes ? "live memory" : "live heap";

  function left(shown, count, what) {
    const rest = (count || 0) - shown;
    const words = `${number(rest)} more ${what}${rest === 1 ? "" : "s"}.`;
    return rest > 0 ? el("p", { class: "note" }, words) : null;
  }

  const typeLink = (name) =>
    goref.panel.link("type", name, "all of this type",
      `all of this type: ${name}`);

  function about(card) {
    const { command } = report;
    const resident = card.resident_bytes;
    return [
      facts([
        ["Size", size(card.bytes)],
        ["Retains", [size(retained(card)), inC(card),
          whole ? `, ${percent(retained(card), whole)} of the ${live}`
            : ""]],
        ["Resident", resident === null || resident === undefined ? null
          : [size(resident),
             ` (${percent(resident, card.bytes)} of its size)`]],
        ["Type", [typed(card.type, card.is_c), " ",
          card.type ? goref.copy.button(card.type, "the type") : null,
          typeLink(card.type)]],
        ["Address", [el("code", {}, card.at), " ",
          goref.copy.button(card.at, "the address")]],
      ]),
      command ? el("p", { class: "command" },
        el("code", {}, `${command} why ${card.at} --paths 3`),
        goref.copy.button(`${command} why ${card.at} --paths 3`,
          "the command")) : null,
    ];
  }

  function fields(card) {
    const rows = card.fields || [];
    if (!rows.length) {
      return null;
    }
    return part("Fields, and what they hold",
      table("Fields", [["Field"], ["Type", "minor"], ["Points to"],
                       ["Retained", "n"]],
        rows.map((row) => [code(row.name || "?", 32), typed(row.type, row.is_c),
          address(row.at), size(retained(row))])),
      left(rows.length, card.nfields, "field"));
  }

  // A root, a field or an element, with its type.
  function step(hop, own) {
    const name = hop.step || hop.name || "?";
    const kind = hop.kind === "object" ? "" : `${hop.kind} `;
    const type = hop.type && hop.type !== name ? code(hop.type) : null;
    return el("li", {}, code(name), " ",
      kind || type ? el("span", { class: "more" }, kind, type) : null, " ",
      address(hop.at, own));
  }

  function path(card) {
    const hops = (card.path || []).map((hop) => step(hop, card.at));
    if (!hops.length) {
      return null;
    }
    if (card.path_left_out) {
      hops.splice(Math.floor(hops.length / 2), 0, el("li", { class: "more" },
        `${number(card.path_left_out)} more in between`));
    }
    return part("Path from a root", el("ol", { class: "path" }, hops));
  }

  // Holders of one name that hold it in the same way are one row. The first of
  // them retains most.
  function alike(rows) {
    const groups = new Map();
    rows.forEach((row) => {
      const key = JSON.stringify([row.kind, row.name, row.type, row.step]);
      groups.set(key, [...(groups.get(key) || []), row]);
    });
    return [...groups.values()];
  }

  function holder(group, own) {
    const [first] = group;
    const some = group.slice(0, ADDRESSES).map((row) => address(row.at, own));
    const more = group.length - some.length;
    return [
      [group.length > 1 ? `${number(group.length)} × ` : null,
        goref.origins.mark(first.type || first.name, first.is_c),
        code(first.name || "?", 40), " ",
        first.step ? code(first.step, 24) : null],
      [...some.filter(Boolean).flatMap((one) => [one, " "]),
        more > 0 ? el("span", { class: "more" },
          `${number(more)} more`) : null],
      [group.length > 1 ? "at most " : null, size(retained(first))],
    ];
  }

  // A holder that alone keeps an object alive retains at least as much as the
  // object does. The first holder retains most of all.
  function shared(card) {
    const [first] = card.holders;
    if (!isExact || !(card.nholders > 1)
        || !Number.isFinite(retained(first))
        || retained(first) >= retained(card)) {
      return null;
    }
    const what = card.holders.length === card.nholders
      && card.holders.every((row) => row.kind === "object")
      ? "objects" : "holders";
    return el("p", { class: "note" },
      `${number(card.nholders)} ${what} hold it; `
      + "none alone keeps it alive.");
  }

  function holders(card) {
    const rows = card.holders || [];
    if (!rows.length) {
      return null;
    }
    return part("Held by", shared(card),
      table("Holders", [["Holder", "name"], ["At"], ["Holder retains", "n"]],
        alike(rows).map((group) => holder(group, card.at))),
      left(rows.length, card.nholders, "holder"));
  }

  goref.panel.add("object", {
    has: (at) => byAddress.has(at),
    make(at) {
      const card = byAddress.get(at);
      return {
        title: [card.type ? code(card.type) : "Object", " ",
          el("code", {}, at)],
        parts: [...about(card), path(card), holders(card), fields(card)],
      };
    },
  });

  return { address, facts, found, part, size, table, typed };
})();
