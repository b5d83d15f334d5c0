// SPDX-License-Identifier: Apache-2.0
// The embedded trees. A node has n (name), b (bytes with all below), o (its own
// bytes), c (how many are merged in it), p (the index of its parent), and x (rows
// below that the report leaves out). It gets k (children, the largest first),
// parent, depth, colour, and rest (bytes below that the report leaves out).
"use strict";

goref.tree = (() => {
  const { bytes, counted, data, percent } = goref.dom;
  const report = data("goref-document");

  // The package of a name or a type: `map[string]*main.T data' is main's.
  const PACKAGE = /((?:[\w.~%-]+\/)*[\w~%-]+(?:\.[\w~%-]+)*?)\.[\w(*]/;
  const TYPE = /\(([^()]*(?:\([^()]*\)[^()]*)*)\)$/;

  // The group of colours that a node belongs to.
  function colour(node) {
    if (node.kind === "top") {
      return "top";
    }
    const text = node.type || (node.n.match(TYPE) || [])[1] || node.n;
    const found = text.match(PACKAGE);
    if (!found) {
      return "plain";
    }
    if (found[1] === "main") {
      return "own";
    }
    return /^(runtime|internal\/runtime|internal\/abi)\b/.test(found[1])
      ? "runtime" : "library";
  }

  // Parents come before children.
  function link(nodes) {
    nodes.forEach((node) => {
      node.parent = node.p === null ? null : nodes[node.p];
      node.depth = node.parent ? node.parent.depth + 1 : 0;
      node.colour = colour(node);
      node.k = [];
      node.rest = node.b - node.o;
      if (node.parent) {
        node.parent.k.push(node);
        node.parent.rest -= node.b;
      }
    });
    return nodes;
  }

  function make(name) {
    const found = report[name];
    if (!found) {
      return null;
    }
    // The chart and the table each have nodes of their own.
    const nodes = link(found.nodes.map((node) => ({ ...node })));
    return { name, nodes, top: nodes[0], whole: found.reached_bytes };
  }

  // A node and what is above it, the top first.
  function chain(node) {
    const found = [];
    for (let one = node; one; one = one.parent) {
      found.push(one);
    }
    return found.reverse();
  }

  const title = (node) => (node.c > 1 && node.depth
    ? `${node.n} (${goref.dom.number(node.c)})` : node.n);

  // The facts about a node, in words.
  function facts(tree, node) {
    const isDominator = tree.name === "dominators";
    const words = [
      `${isDominator ? "retains" : "holds"} ${bytes(node.b)}, `
        + percent(node.b, tree.whole),
    ];
    if (node.o && node.o !== node.b) {
      words.push(`itself ${bytes(node.o)}`);
    }
    if (node.depth) {
      words.push(isDominator
        ? `${goref.dom.number(node.c)} merged`.replace(/^1 merged$/, "one")
        : counted(node.c, "object"));
    }
    if (node.kind && node.kind !== "object" && node.kind !== "top") {
      words.push(node.kind);
    }
    if (node.type) {
      words.push(`type ${node.type}`);
    }
    if (node.at) {
      words.push(`at ${node.at}`);
    }
    return words;
  }

  return { chain, facts, make, report, title };
})();
