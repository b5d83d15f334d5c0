// SPDX-License-Identifier: Apache-2.0
// The picture of who waits for whom. dagre arranges it; each node is two lines
// of text.
"use strict";

goref.waitgraph = (() => {
  const { byId, data, svg } = goref.dom;
  const LETTER = 7.7; // pixels of a letter, about
  const LONGEST = 34; // letters of a line
  const HEIGHT = 44;
  const MARGIN = 6;
  const NARROW = 720; // pixels: there, arrows lead down
  const LEAST = 0.75; // of the picture's size, so that it fits; else it scrolls

  const short = (text) => goref.names.column(text, LONGEST);

  function arranged(drawn, isNarrow) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: isNarrow ? "TB" : "LR", nodesep: 18,
                     ranksep: 46, marginx: 12, marginy: 12 });
    graph.setDefaultEdgeLabel(() => ({}));
    drawn.nodes.forEach((node) => {
      const letters = Math.max(short(node.label).length,
                               short(node.detail).length);
      graph.setNode(node.id, { width: Math.max(96, letters * LETTER + 24),
                               height: HEIGHT });
    });
    drawn.edges.forEach((edge) => graph.setEdge(edge.from, edge.to));
    dagre.layout(graph);
    return graph;
  }

  function node(graph, one) {
    const { x, y, width, height } = graph.node(one.id);
    const left = x - width / 2;
    const top = y - height / 2;
    const box = (shift) => svg("rect", {
      x: left + shift, y: top + shift, width, height,
      rx: one.kind === "primitive" ? 2 : 12,
    });
    return svg("g", { class: `node ${one.kind}${one.bad ? " bad" : ""}` },
      svg("title", {}, `${one.label}\n${one.detail}`),
      one.kind === "crowd" ? box(4) : null,
      box(0),
      svg("text", { x, y: one.detail ? y - 4 : y + 4, class: "label" },
        short(one.label)),
      one.detail
        ? svg("text", { x, y: y + 13, class: "detail" }, short(one.detail))
        : null);
  }

  function edge(graph, one) {
    const { points } = graph.edge(one.from, one.to);
    const [first, ...others] = points;
    const path = others.map((point, i) => {
      const next = others[i + 1];
      return next
        ? `Q${point.x},${point.y} ${(point.x + next.x) / 2},`
          + `${(point.y + next.y) / 2}`
        : `L${point.x},${point.y}`;
    });
    const classes = ["edge", one.bad ? "bad" : "", one.sure ? "" : "likely"];
    return svg("path", {
      class: classes.filter(Boolean).join(" "),
      d: `M${first.x},${first.y} ${path.join(" ")}`,
      "marker-end": `url(#${one.bad ? "arrow-bad" : "arrow"})`,
    });
  }

  const arrow = (id) =>
    svg("marker", { id, viewBox: "0 0 10 10", refX: 9, refY: 5,
                    markerWidth: 11, markerHeight: 11, orient: "auto",
                    markerUnits: "userSpaceOnUse" },
      svg("path", { d: "M0,0 L10,5 L0,10 z" }));

  function words(drawn) {
    const label = new Map(drawn.nodes.map((one) => [one.id, one.label]));
    return drawn.edges
      .map((one) => `${label.get(one.from)} to ${label.get(one.to)}`)
      .join("; ");
  }

  // Edges that lead back may pass outside of what dagre says is the picture.
  function bounds(graph) {
    const points = graph.edges().flatMap((one) => graph.edge(one).points);
    const { width, height } = graph.graph();
    const xs = points.map((point) => point.x);
    const ys = points.map((point) => point.y);
    const left = Math.min(0, ...xs) - MARGIN;
    const top = Math.min(0, ...ys) - MARGIN;
    return [left, top, Math.max(width, ...xs) + MARGIN - left,
            Math.max(height, ...ys) + MARGIN - top];
  }

  function draw(box, drawn) {
    const graph = arranged(drawn, box.clientWidth < NARROW);
    const [left, top, width, height] = bounds(graph);
    const picture = svg(
      "svg",
      { width, height, viewBox: `${left} ${top} ${width} ${height}`,
        role: "img", "aria-label": `Arrows: ${words(drawn)}` },
      svg("defs", {}, arrow("arrow"), arrow("arrow-bad")),
      ...drawn.edges.map((one) => edge(graph, one)),
      ...drawn.nodes.map((one) => node(graph, one)),
    );
    picture.style.minWidth = `${LEAST * width}px`;
    box.replaceChildren(picture);
  }

  const figure = byId("waitgraph");
  const drawn = data("goref-waits");
  if (!figure || !drawn.edges.length) {
    return null;
  }
  figure.hidden = false;
  const box = figure.querySelector(".scroll");
  let wasNarrow = null;
  const redraw = () => {
    const isNarrow = box.clientWidth < NARROW;
    if (isNarrow !== wasNarrow) {
      wasNarrow = isNarrow;
      draw(box, drawn);
    }
  };
  redraw();
  new ResizeObserver(redraw).observe(box);
  return drawn;
})();
