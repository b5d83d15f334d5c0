// SPDX-License-Identifier: Apache-2.0
// Names as they fit into a column: short by package, cut in the middle. These
// are the rules of names.py.
"use strict";

goref.names = (() => {
  const { el } = goref.dom;
  const LENGTH = 56; // characters of a name in a column
  const TOKEN = /"(?:[^"\\]|\\.)*"?|[^\s"*()[\]{},;:<>&]+/g;
  const VERSION = /^v[0-9]+(?=\.)/; // example.com/a/v2.T
  const POINT_VERSION = /%2ev[0-9]+(?=\.)/; // gopkg.in/yaml%2ev3.Node

  function shortToken(token) {
    const name = token.replace(/^\.+/, "");
    const slash = name.lastIndexOf("/");
    const isPath = name !== token && !token.startsWith("...");
    let tail = name.slice(slash + 1);
    if (slash < 0 || "\"/".includes(token[0]) || isPath
        || !tail.includes(".")) {
      return token;
    }
    const head = name.slice(0, slash);
    const above = head.lastIndexOf("/");
    const version = tail.match(VERSION);
    if (version && above >= 0) {
      tail = head.slice(above + 1) + tail.slice(version[0].length);
    }
    const dots = token.slice(0, token.length - name.length);
    return dots + tail.replace(POINT_VERSION, "");
  }

  // `server.Account' of `github.com/nats-io/nats-server/v2/server.Account'.
  const short = (name) =>
    (name.includes("/") ? name.replace(TOKEN, shortToken) : name);

  // A text without its middle, if it is longer than length.
  function middle(text, length = LENGTH) {
    const letters = text.length <= length ? [] : [...text];
    if (letters.length <= length) {
      return text;
    }
    const left = Math.floor(length / 2);
    const right = length - 1 - left;
    return `${letters.slice(0, left).join("")}…`
      + letters.slice(letters.length - right).join("");
  }

  const column = (name, length = LENGTH) => middle(short(name), length);

  // The title is the whole name, and so is what is copied.
  function code(name, length) {
    const shown = column(name, length);
    return el("code", { title: shown === name ? null : name }, shown);
  }

  return { code, column, middle, short };
})();
