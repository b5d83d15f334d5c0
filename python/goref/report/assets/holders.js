// SPDX-License-Identifier: Apache-2.0
// A type, looked at from the other side: who holds its objects, and which are the
// largest.
"use strict";

goref.holders = (() => {
  const { bar, el, number, percent, retained } = goref.dom;
  const { code } = goref.names;
  const { address, facts, found, part, size, table } = goref.cards;
  const { report } = goref.tree;
  const rows = new Map((report.types?.rows || []).map((r) => [r.key, r]));
  const holders = report.type_holders || {};
  const largest = report.objects?.by_type || {};

  const own = (object, key) =>
    (Object.hasOwn(object, key) ? object[key] : null);

  function share(part_, whole) {
    return [bar(part_, whole),
      el("span", { class: "pct" }, percent(part_, whole))];
  }

  function heldBy(type) {
    const held = own(holders, type);
    if (!held?.rows.length) {
      return null;
    }
    const { left_out_objects: more, left_out_bytes: rest } = held;
    const whole = held.bytes;
    const shown = held.rows.map((row) => [
      [goref.origins.mark(row.name, goref.origins.isCKind(row.kind)),
       code(row.name, 38)], row.kind,
      number(row.objects), size(row.bytes), share(row.bytes, whole)]);
    if (more) {
      shown.push([
        el("span", { class: "more" }, `${number(held.left_out)} others`), "",
        number(more), size(rest), share(rest, whole)]);
    }
    return part("Who holds it",
      table("Holders", [["Holder", "name"], ["Kind", "minor"],
                        ["Objects", "n minor"],
                        ["Size", "n"], ["Share", "n minor"]], shown));
  }

  function objects(type) {
    const cards = (own(largest, type) || []).map((i) => found[i])
      .filter(Boolean);
    if (!cards.length) {
      return null;
    }
    return part(cards.length > 1 ? `The ${cards.length} largest` : "The object",
      table("Largest objects", [["Object"], ["Retained", "n"], ["Size", "n"],
                                ["Resident", "n minor"]],
        cards.map((card) => [address(card.at), size(retained(card)),
          size(card.bytes), size(card.resident_bytes)])));
  }

  goref.panel.add("type", {
    has: (type) => Boolean(own(holders, type)?.rows.length
      || own(largest, type)?.length),
    make(type) {
      const row = rows.get(type);
      const isC = Boolean(row?.c_bytes) && row.c_bytes === row.bytes;
      return {
        title: [goref.origins.mark(type, isC), code(type)],
        parts: [
          el("p", { class: "whole" }, el("code", {}, type), " ",
            goref.copy.button(type, "the type")),
          row ? facts([
            ["Objects", number(row.objects)],
            ["Size", size(row.bytes)],
            ["Retained", row.retained_bytes === null ? null
              : ["at least ", size(retained(row))]],
          ]) : null,
          heldBy(type), objects(type),
        ],
      };
    },
  });
})();
