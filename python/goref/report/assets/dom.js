// SPDX-License-Identifier: Apache-2.0
// Elements, and numbers as a person reads them. What the page says of a program
// is text: nothing here makes markup of it.
"use strict";

const goref = {};

goref.dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) {
        element.setAttribute(name, value === true ? "" : value);
      }
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined) {
        element.append(child);
      }
    }
    return element;
  }

  const el = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);
  const byId = (id) => document.getElementById(id);

  // An embedded document, which is read once.
  const documents = new Map();
  function data(id) {
    if (!documents.has(id)) {
      documents.set(id, JSON.parse(byId(id).textContent));
    }
    return documents.get(id);
  }

  // 1 MiB is 1024 * 1024 bytes, as in all answers of goref.
  function bytes(count) {
    let value = count;
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
      if (value < 1023.95) {
        return unit === "B" ? `${count} B` : `${value.toFixed(1)} ${unit}`;
      }
      value /= 1024;
    }
    return `${value.toFixed(1)} TiB`;
  }

  // What a row retains: Go and C stand side by side.
  const retained = (row) => row.retained_bytes + (row.retained_c_bytes || 0);

  function percent(part, whole) {
    if (!whole) {
      return "-";
    }
    const share = (100 * part) / whole;
    return share >= 0.05 || !part ? `${share.toFixed(1)} %` : "<0.1 %";
  }

  const number = (count) => count.toLocaleString("en-US");
  const counted = (count, what) =>
    `${number(count)} ${what}${count === 1 ? "" : "s"}`;

  // A share as a bar; attributes, because the policy forbids styles.
  const bar = (part, whole) =>
    svg(
      "svg",
      { class: "bar", viewBox: "0 0 100 1", preserveAspectRatio: "none",
        "aria-hidden": "true" },
      svg("rect", { width: whole ? (100 * part) / whole : 0, height: 1 }),
    );

  return { bar, byId, bytes, counted, data, el, number, percent, retained,
           svg };
})();
