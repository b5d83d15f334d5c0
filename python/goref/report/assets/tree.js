// SPDX-License-Identifier: Apache-2.0
// The embedded trees. A node has n (name), b (bytes with all below), o (its own
// bytes), c (how many are merged in it), p (the index of its parent), and x (rows
// below that the report leaves out), cb (the part of b in blocks of C) and is_c
// (it is a block or a root of C). It gets k (children, the largest first),
// parent, depth, color, and rest (bytes below that the report leaves out).
"use strict";

goref.tree = (() => {
  const { bytes, counted, data, percent } = goref.dom;
  const report = data("goref-document");

  // `basket. ([]*main.Item)' is a field, and its type says where it is from; a
  // variable is its package's.
  const TYPE = /\(([^()]*(?:\([^()]*\)[^()]*)*)\)$/;
  const VARIABLES = ["global", "local", "runtime"];

  function color(node) {
    if (node.kind === "top") {
      return "top";
    }
    if (node.is_c || goref.origins.isCKind(node.kind)) {
      return "c";
    }
    const type = node.type || (node.n.match(TYPE) || [])[1];
    const name = VARIABLES.includes(node.kind) ? node.n : type || node.n;
    return goref.origins.of(name);
  }

  // Parents come before children.
  function link(nodes) {
    nodes.forEach((node) => {
      node.parent = node.p === null ? null : nodes[node.p];
      node.depth = node.parent ? node.parent.depth + 1 : 0;
      node.color = color(node);
      node.k = [];
      node.rest = node.b - node.o;
      if (node.parent) {
        node.parent.k.push(node);
        node.parent.rest -= node.b;
      }
    });
    return nodes;
  }

  // Types, with what holds their objects below each: the same shape.
  function holders() {
    const { bytes: whole, rows } = report.types;
    const nodes = [{ p: null, n: "all types", b: whole, o: 0, c: 1,
                     kind: "top" }];
    rows.filter((row) => row.bytes).sort((a, b) => b.bytes - a.bytes)
      .forEach((row) => {
        const at = nodes.length;
        nodes.push({ p: 0, n: row.key, b: row.bytes, o: 0, c: row.objects,
                     is_c: row.c_bytes > 0 && row.c_bytes === row.bytes });
        const held = report.type_holders[row.key];
        held?.rows.forEach((one) => nodes.push({
          p: at, n: one.name, b: one.bytes, o: 0, c: one.objects,
          kind: one.kind }));
      });
    return { nodes, reached_bytes: whole };
  }

  function make(name) {
    const found = name === "holders" ? holders() : report[name];
    if (!found) {
      return null;
    }
    // The chart and the table each have nodes of their own.
    const nodes = link(found.nodes.map((node) => ({ ...node })));
    return { name, nodes, top: nodes[0], whole: found.reached_bytes,
             sign: found.sign || "" };
  }

  // A node and what is above it, the top first.
  function chain(node) {
    const found = [];
    for (let one = node; one; one = one.parent) {
      found.push(one);
    }
    return found.reverse();
  }

  const title = (node, name = node.n) => (node.c > 1 && node.depth
    ? `${name} (${goref.dom.number(node.c)})` : name);

  // Trees of a difference have a sign, which is that of their sizes.
  const sizeOf = (tree, size) => `${tree.sign}${bytes(size)}`;

  function objects(tree, count) {
    const opposite = tree.sign === "-" ? "+" : "-";
    const sign = count < 0 ? opposite : tree.sign;
    return `${count ? sign : ""}${counted(Math.abs(count), "object")}`;
  }

  const VERBS = { dominators: "retains", references: "holds",
                  holders: "objects of",
                  grown: "grew:", shrunk: "shrank:" };

  // The facts about a node, in words.
  function facts(tree, node) {
    const isDominator = tree.name === "dominators";
    const share = `${percent(node.b, tree.whole)}`
      + `${tree.sign ? " of all that did" : ""}`;
    const size = `${sizeOf(tree, node.b)}, ${share}`;
    const words = [`${VERBS[tree.name]} ${size}`];
    if (node.cb && node.cb < node.b) {
      words.push(`Go ${bytes(node.b - node.cb)}, C ${bytes(node.cb)}`);
    }
    if (node.o && node.o !== node.b) {
      words.push(`itself ${sizeOf(tree, node.o)}`);
    }
    if (node.depth) {
      words.push(isDominator
        ? `${goref.dom.number(node.c)} merged`.replace(/^1 merged$/, "one")
        : objects(tree, node.c));
    }
    if (node.kind && node.kind !== "object" && node.kind !== "top") {
      words.push(node.kind);
    }
    words.push(...goref.origins.TITLES[node.color]
      && node.color !== "none" ? [goref.origins.TITLES[node.color]] : []);
    if (node.type) {
      words.push(`type ${node.type}`);
    }
    if (node.at) {
      words.push(`at ${node.at}`);
    }
    return words;
  }

  return { chain, facts, make, report, sizeOf, title };
})();
