// SPDX-License-Identifier: Apache-2.0
// The card of an object: its type and sizes, what its fields hold, the way to it
// from a root, and who holds it.
"use strict";

goref.cards = (() => {
  const { bytes, el, number, percent } = goref.dom;
  const { code } = goref.names;
  const { report } = goref.tree;
  const found = report.objects?.cards || [];
  const byAddress = new Map(found.map((card) => [card.at, card]));
  const whole = report.suspects?.reached_bytes
    || report.dominators?.reached_bytes || 0;

  const size = (count) => (count === null || count === undefined ? ""
    : el("span", { class: "num", title: `${number(count)} B` },
      bytes(count)));

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
      el("td", { class: heads[i][1] || null }, ...[content].flat());
    const head = ([title, kind]) =>
      el("th", { scope: "col", class: kind || null }, title);
    return el("div",
      { class: "scroll", tabindex: "0", role: "region",
        "aria-label": caption },
      el("table", {},
        el("thead", {}, el("tr", {}, heads.map(head))),
        el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell))))));
  }

  const facts = (rows) => el("dl", { class: "inline" },
    rows.filter(([, content]) => content).map(([title, content]) =>
      [el("dt", {}, title), el("dd", {}, ...[content].flat())]));

  const part = (title, ...content) =>
    el("div", { class: "part" }, el("h3", {}, title), ...content);

  const typed = (name) => (name ? [goref.origins.mark(name), code(name)]
    : el("span", { class: "more" }, "not known"));

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
        ["Type", [typed(card.type), " ",
          card.type ? goref.copy.button(card.type, "the type") : null,
          typeLink(card.type)]],
        ["Address", [el("code", {}, card.at), " ",
          goref.copy.button(card.at, "the address")]],
        ["Size", size(card.bytes)],
        ["Retains", [size(card.retained_bytes),
          whole ? `, ${percent(card.retained_bytes, whole)} of the heap`
            : ""]],
        ["Resident", resident === null || resident === undefined ? null
          : [size(resident),
             ` (${percent(resident, card.bytes)} of its size)`]],
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
        rows.map((row) => [code(row.name || "?", 32), typed(row.type),
          address(row.at), size(row.retained_bytes)])),
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

  function holders(card) {
    const rows = card.holders || [];
    if (!rows.length) {
      return null;
    }
    return part("Held by",
      table("Holders", [["Holder"], ["In", "minor"], ["At"],
                        ["Retained", "n"]],
        rows.map((row) => [[goref.origins.mark(row.type || row.name),
          code(row.name || "?", 40)],
        row.step ? code(row.step, 24) : "", address(row.at),
        size(row.retained_bytes)])),
      left(rows.length, card.nholders, "holder"));
  }

  goref.panel.add("object", {
    has: (at) => byAddress.has(at),
    make(at) {
      const card = byAddress.get(at);
      return {
        title: ["Object ", el("code", {}, at)],
        parts: [...about(card), path(card), fields(card), holders(card)],
      };
    },
  });

  return { address, facts, found, part, size, table, typed };
})();
