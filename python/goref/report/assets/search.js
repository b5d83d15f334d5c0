// SPDX-License-Identifier: Apache-2.0
// One search for the whole page. Each part of the page is a place, which marks
// its matches and counts them.
"use strict";

goref.search = (() => {
  const { byId, counted, el, number } = goref.dom;
  const { short } = goref.names;
  const box = document.querySelector(".search");
  const input = byId("search");
  const hits = byId("hits");
  const places = []; // { link: its section, find, next? }

  // A name matches if the expression does, or if it has the text as it stands:
  // `map[string]' is no sensible expression, and a common part of a name.
  // Slashes around an expression are none of it.
  function matcher(words) {
    const query = words.match(/^\/(.+)\/$/)?.[1] ?? words;
    const plain = query.toLowerCase();
    let expression = null;
    let problem = "";
    try {
      expression = new RegExp(query, "i");
    } catch (error) {
      problem = error.message.split(": ").at(-1).toLowerCase();
    }
    const hasOne = (text) => text.toLowerCase().includes(plain)
      || Boolean(expression?.test(text));
    const has = (text) =>
      hasOne(text) || (text.includes("/") && hasOne(short(text)));
    return { has, problem };
  }

  // The counts, with links to where the hits are.
  function show(found, problem) {
    hits.hidden = false;
    const some = found.filter(({ count }) => count);
    const total = some.reduce((sum, { count }) => sum + count, 0);
    const status = el("span", { role: "status" },
      problem
        ? `Not a regular expression (${problem}); searched as text: ` : "",
      total ? counted(total, "hit") : "no match");
    hits.replaceChildren(status, ...some.map(({ title, link, count }) =>
      el("a", { href: `#${link}` }, `${title} ${number(count)}`)));
  }

  function run() {
    const query = input.value.trim();
    const found = query ? matcher(query) : null;
    const counts = places.map((place) => ({
      title: place.title, link: place.link, count: place.find(found),
    }));
    if (found) {
      show(counts, found.problem);
    } else {
      hits.hidden = true;
      hits.replaceChildren();
    }
    goref.state.set("q", query);
  }

  function clear() {
    input.value = "";
    run();
  }

  const isTyping = (element) => element.matches?.("input, textarea, select");

  function start() {
    const links = [...document.querySelectorAll(".top nav a")];
    const order = links.map((one) => one.hash.slice(1));
    places.forEach((place) => {
      place.order = order.indexOf(place.link);
      place.title = links[place.order].textContent;
    });
    places.sort((a, b) => a.order - b.order);
    box.hidden = false;
    input.addEventListener("input", run);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        places.forEach((place) => place.next?.());
      } else if (event.key === "Escape") {
        event.preventDefault();
        if (input.value) {
          clear();
        } else {
          input.blur();
        }
      }
    });
    document.addEventListener("keydown", (event) => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      if (event.key === "/" && isPlain && !isTyping(event.target)
          && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        input.focus();
        input.select();
      }
    });
    goref.state.keep("q", (query) => {
      input.value = query || "";
      run();
    });
  }

  const add = (place) => { places.push(place); };

  return { add, matcher, start };
})();
