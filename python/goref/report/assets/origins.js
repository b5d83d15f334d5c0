// SPDX-License-Identifier: Apache-2.0
// Where a name comes from: the main module, a dependency, the standard library,
// the runtime, or no package. These are the rules of packages.py. Of what is C's,
// the document says so, or the kind of a root does.
"use strict";

goref.origins = (() => {
  const { data, el } = goref.dom;
  const TITLES = {
    main: "main module", dependency: "dependency", std: "standard library",
    runtime: "Go runtime", c: "C", none: "no package",
  };
  const NONE = { main: null, path: null, dependencies: [] };
  const BEFORE = /^(?:[*(]+|\[\d*\]|<-|chan(?:<-)? )/;
  const MADE = /^(?:type:|type\.\.|go:|go\.(?![\w.-]+\/))/;
  const MAX_KEYS = 8; // maps as keys of maps
  const VERSION = /\.v\d+(?=[.-])/;
  const RUNTIME = ["runtime", "internal/runtime", "internal/abi"];
  const modules = { ...NONE, ...data("goref-document").modules };

  // Where the bracket at start ends; the end of the text if it does not.
  function endOfBrackets(text, start) {
    let depth = 0;
    for (let i = start; i < text.length; i += 1) {
      depth += Number(text[i] === "[") - Number(text[i] === "]");
      if (!depth) {
        return i + 1;
      }
    }
    return text.length;
  }

  // A type without what stands before the name of its element type, and the
  // key type of the last map on the way.
  function element(name) {
    let rest = name;
    let key = "";
    for (;;) {
      const before = rest.match(BEFORE);
      if (rest.startsWith("map[")) {
        const end = endOfBrackets(rest, 3);
        key = rest.slice(4, end - 1);
        rest = rest.slice(end);
      } else if (before) {
        rest = rest.slice(before[0].length);
      } else {
        return { rest, key };
      }
    }
  }

  const unescaped = (path) => path.replace(/%([0-9a-fA-F]{2})/g,
    (_, digits) => String.fromCharCode(parseInt(digits, 16)));

  // Of a map, that of its elements, or of its keys if those have none.
  function packageOf(whole) {
    let { rest, key } = element(whole);
    for (let i = 1; i < MAX_KEYS && key && !named(rest); i += 1) {
      ({ rest, key } = element(key));
    }
    return named(rest);
  }

  function named(name) {
    if (MADE.test(name)) {
      return "runtime";
    }
    const path = name.split(/[[({ ]/, 1)[0];
    const slash = path.lastIndexOf("/") + 1;
    if (path.startsWith("gopkg.in/")) {
      const version = path.slice(slash).match(VERSION);
      if (version) {
        return path.slice(0, slash + version.index + version[0].length);
      }
    }
    const dot = path.indexOf(".", slash);
    return dot > 0 ? unescaped(path.slice(0, dot)) : "";
  }

  const isBelow = (name, paths) =>
    paths.some((path) => name === path || name.startsWith(`${path}/`));

  // Is a package below the main module one of another module?
  function isOther(name, own, known) {
    const inner = known.dependencies.filter((one) => one.length > own.length);
    return name.includes("/vendor/") || isBelow(name, inner);
  }

  function originOf(name, known = modules) {
    const own = known.main || known.path;
    if (!name) {
      return "none";
    }
    if (isBelow(name, RUNTIME)) {
      return "runtime";
    }
    if (name === "main") {
      return "main";
    }
    if (own && isBelow(name, [own])) {
      return isOther(name, own, known) ? "dependency" : "main";
    }
    const isForeign = isBelow(name, known.dependencies)
      || name.split("/", 1)[0].includes(".");
    return isForeign ? "dependency" : "std";
  }

  const of = (name) => originOf(packageOf(name || ""));
  const markOf = (origin) => el("span", { class: `mark of-${origin}`,
    role: "img", title: TITLES[origin], "aria-label": TITLES[origin] });
  const mark = (name, isC = false) => markOf(isC ? "c" : of(name));
  const isCKind = (kind) => /^(C |unchecked arena)/.test(kind || "");

  return { TITLES, isCKind, mark, markOf, of, originOf, packageOf };
})();
