// SPDX-License-Identifier: Apache-2.0
// The address says how the page is seen, behind the section: `#types?q=main'. A
// part of the page keeps a value under a key, and takes it back on load and when
// the reader goes back.
"use strict";

goref.state = (() => {
  const keepers = new Map(); // key -> what takes a value, or null
  let anchor = "";
  let values = new Map();
  let isRestoring = false;

  function read() {
    const [name, ...words] = location.hash.slice(1).split("?");
    return [name, new Map(new URLSearchParams(words.join("?")))];
  }

  function address() {
    const words = values.size ? `?${new URLSearchParams([...values])}` : "";
    return anchor || words
      ? `#${anchor}${words}` : location.href.split("#")[0];
  }

  // A document may be where the address cannot change.
  function write(isStep) {
    try {
      history[isStep ? "pushState" : "replaceState"](
        { goref: true }, "", address());
    } catch {
      // Then it is not kept.
    }
  }

  // isStep: the reader can go back to before it.
  function set(key, value, isStep = false) {
    if (isRestoring || (values.get(key) || "") === (value || "")) {
      return;
    }
    if (value) {
      values.set(key, value);
    } else {
      values.delete(key);
    }
    write(isStep);
  }

  function restore() {
    isRestoring = true;
    try {
      keepers.forEach((take, key) => take(values.get(key) || null));
    } finally {
      isRestoring = false;
    }
  }

  // A section that a link leads to is open.
  function reach(name, isScrolled) {
    const target = name && goref.dom.byId(name);
    if (target) {
      target.querySelector("details")?.setAttribute("open", "");
      if (isScrolled) {
        target.scrollIntoView();
      }
    }
  }

  const keep = (key, take) => { keepers.set(key, take); };

  // The links of the page have a section alone: all else stays as it is.
  addEventListener("popstate", (event) => {
    const [name, found] = read();
    const isOurs = event.state?.goref || location.hash.includes("?");
    anchor = name;
    if (isOurs) {
      values = found;
      restore();
      reach(name, !event.state?.goref);
    } else {
      write(false);
      reach(name, false);
    }
  });

  function start() {
    [anchor, values] = read();
    const isLong = values.size > 0;
    restore();
    write(false);
    reach(anchor, isLong);
  }

  return { keep, set, start };
})();
