// Search by sections, and previews of equations and terms. Their data are
// scripts beside this one: they are loaded when they are first asked for, and
// a page opened as a file may load a script where it may not fetch.
(() => {
  const here = document.currentScript.src;
  const root = new URL("..", here);
  const loaded = {};
  const load = name => loaded[name] ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = new URL(`${name}.js`, here);
    script.onload = () => done(window[`BOOK_${name.toUpperCase()}`]);
    script.onerror = fail;
    document.head.append(script);
  });
  const make = (tag, text = "", attributes = {}) => Object.assign(
    document.createElement(tag), { textContent: text }, attributes);
  const url = (page, anchor) => new URL(`${page}.html${anchor}`, root).href;

  // ---------------------------------------------------------------- search
  const plain = text => text.toLowerCase().replace(/[‘’]/g, "'");  // as long
  const squashed = text => plain(text).replace(/[\s-]/g, "");
  const starts = (text, word) => {  // how often a word begins so
    let count = 0, at = -1;
    while ((at = text.indexOf(word, at + 1)) >= 0)
      if (!/[\p{L}\p{N}]/u.test(text[at - 1] ?? " ")) count++;
    return count;
  };

  // titles before glossary before running text; every word must occur
  function score(section, query, words) {
    const [page, , number, title, text] = section;
    const name = plain(title), body = plain(text);
    let total = number === query ? 100 : 0;
    for (const word of words) {
      const named = starts(name, word), said = starts(body, word);
      if (!named && !said && number !== query) return 0;
      total += 12 * Math.min(named, 1) + Math.min(said, 6);
    }
    if (name === query) total += 40;
    else if (name.includes(query)) total += 20;
    if (body.includes(query)) total += 8;
    return page.includes("/back/") ? total / 2 : total;
  }

  function excerpt(text, query, words) {
    const body = plain(text);
    const found = [query, ...words].map(w => body.indexOf(w)).find(k => k >= 0);
    const from = Math.max(0, (found ?? 0) - 60);
    const cut = text.slice(from, from + 170);
    const line = make("small", from ? "… " : "");
    const hit = new RegExp(`(${words.map(
      w => w.replace(/[^\p{L}\p{N}]/gu, "\\$&")).join("|")})`, "giu");
    for (const [k, piece] of cut.split(hit).entries())
      line.append(k % 2 ? make("mark", piece) : piece);
    line.append(" …");
    return line;
  }

  function equations(previews, query) {
    const number = query.replace(/[()]/g, "").toUpperCase();
    if (!/^(\d+|[A-Z])\.\d+$/.test(number)) return [];
    return Object.entries(previews)
      .filter(([anchor, [, n]]) => n === number && /^equation/.test(anchor))
      .map(([anchor, [page]]) => [page, `#${anchor}`, `(${number})`,
        anchor.replace("equation-", ""), ""]);
  }

  async function search(query) {
    const [sections, previews] = await Promise.all(
      [load("sections"), load("previews")]);
    query = plain(query.trim());
    const words = query.split(/[^\p{L}\p{N}.]+/u).filter(Boolean);
    if (!words.length) return [];
    let found = sections.map(s => [score(s, query, words), s])
      .filter(([points]) => points > 0).sort((a, b) => b[0] - a[0]);
    if (!found.length) found = sections
      .filter(s => squashed(s[3] + s[4]).includes(squashed(query)))
      .map(s => [1, s]);
    return [...equations(previews, query), ...found.map(([, s]) => s)];
  }

  function list(box, hits, sections, query) {
    const words = plain(query).split(/[^\p{L}\p{N}.]+/u).filter(Boolean);
    const title = Object.fromEntries(sections.filter(s => !s[1])
      .map(([page, , number, name]) => [page, `${number} ${name}`.trim()]));
    const rows = hits.slice(0, 30).map(([page, anchor, number, name, text]) => {
      const link = make("a", "", { href: url(page, anchor) });
      link.append(make("b", `${number} ${name}`.trim()));
      if (anchor) link.append(" ", make("small", `· ${title[page]}`));
      if (text) link.append(make("br"), excerpt(text, plain(query), words));
      const row = make("li");
      row.append(link);
      return row;
    });
    const ol = make("ol");
    ol.append(...rows);
    const count = `${hits.length || "no"} ${hits.length == 1 ? "place" :
      "places"}`;
    box.replaceChildren(make("p", count, { role: "status" }), ol);
  }

  function attach(form) {
    const input = form.querySelector("input[name=q]");
    let box = form.parentElement.querySelector(".search-results");
    if (!box) form.after(box = make("div", "", { className: "search-results" }));
    let latest = "";
    const run = async () => {
      const query = latest = input.value;
      if (!query.trim()) return box.replaceChildren();
      const hits = await search(query);
      if (query === latest) list(box, hits, await load("sections"), query);
    };
    input.addEventListener("focus", () => load("sections"), { once: true });
    input.addEventListener("input", run);
    form.addEventListener("submit", async event => {
      event.preventDefault();
      await run();
      box.querySelector("a")?.click();
    });
    // arrows go through the hits
    form.parentElement.addEventListener("keydown", event => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const stops = [input, ...box.querySelectorAll("a")];
      const next = stops[stops.indexOf(document.activeElement) + step];
      if (step && next) { event.preventDefault(); next.focus(); }
    });
    // a hit on this page closes the dialog
    box.addEventListener("click", event => {
      if (event.target.closest("a")) form.closest("dialog")?.close();
    });
    const asked = new URLSearchParams(location.search).get("q");
    if (asked && !form.closest("dialog")) { input.value = asked; run(); }
  }

  // -------------------------------------------------------------- previews
  const LINKS = "a[href*='#equation-'], a[href*='#term-']";
  let shown = null, link = null, timer = 0;

  function hide() {
    clearTimeout(timer);
    if (shown) {
      window.MathJax?.typesetClear?.([shown]);
      shown.remove();
      link.removeAttribute("aria-describedby");
    }
    shown = link = null;
  }

  async function show(target) {
    const entry = (await load("previews"))[
      decodeURIComponent(target.hash.slice(1))];
    if (!entry || shown?.of === target) return;
    hide();
    const [, name, text] = entry;
    const equation = target.hash.startsWith("#equation-");
    shown = make("div", "", { className: "preview", id: "preview", of: target });
    shown.setAttribute("role", "tooltip");
    const body = make("span", text, { className: "math-text" });
    shown.append(make("b", equation ? `(${name})` : name), " ", body);
    link = target;
    target.setAttribute("aria-describedby", "preview");
    shown.addEventListener("mouseenter", () => clearTimeout(timer));
    shown.addEventListener("mouseleave", hideSoon);
    document.body.append(shown);
    place(target);
    await window.typesetNow?.(shown);
    if (link === target) place(target);
  }

  // below the link, or above where there is no room
  function place(target) {
    const at = target.getClientRects()[0], box = shown.getBoundingClientRect();
    const below = at.bottom + 6 + box.height < innerHeight || at.top < box.height;
    const left = Math.min(at.left, document.documentElement.clientWidth -
      box.width - 8);
    shown.style.left = `${Math.max(8, left) + scrollX}px`;
    shown.style.top = `${scrollY + (below ? at.bottom + 6 :
      at.top - box.height - 6)}px`;
  }

  const hideSoon = () => { timer = setTimeout(hide, 250); };
  const wanted = event => event.target.closest?.(LINKS);
  const article = event => wanted(event)?.closest(".bd-article")
    && !wanted(event).matches(".headerlink") ? wanted(event) : null;

  document.addEventListener("pointerover", event => {
    if (event.pointerType !== "mouse" || !article(event)) return;
    clearTimeout(timer);
    const target = article(event);
    timer = setTimeout(() => show(target), 150);
  });
  document.addEventListener("pointerout", event => {
    if (event.pointerType === "mouse" && article(event)) {
      clearTimeout(timer);
      hideSoon();
    }
  });
  document.addEventListener("focusin", event => {
    if (article(event)?.matches(":focus-visible")) show(article(event));
    else if (shown && !shown.contains(event.target)) hide();
  });
  document.addEventListener("keydown", event => {
    if (event.key === "Escape") hide();
  });
  // a first tap shows, a second one follows the link
  document.addEventListener("click", event => {
    const target = article(event);
    if (target && event.pointerType === "touch" && shown?.of !== target) {
      event.preventDefault();
      show(target);
    } else if (!event.target.closest?.(".preview")) hide();
  });

  // ----------------------------------------------------- lists that are long
  function filter() {
    const folds = document.querySelectorAll(
      "#the-index-of-equations details, .folded details");
    if (folds.length < 3) return;
    const box = make("input", "", { type: "search", className: "filter",
      placeholder: "Filter by number, label or words" });
    box.setAttribute("aria-label", "Filter the equations");
    const count = make("span", "", { className: "filtered" });
    count.setAttribute("role", "status");
    folds[0].before(box, count);
    box.addEventListener("input", () => {
      const query = plain(box.value.trim());
      let hits = 0;
      for (const fold of folds) {
        let any = false;
        for (const term of fold.querySelectorAll("dt")) {
          const text = plain(term.textContent + term.nextElementSibling
            .textContent);
          const keep = text.includes(query);
          term.hidden = term.nextElementSibling.hidden = !keep;
          any ||= keep;
          hits += keep;
        }
        fold.hidden = !any;
        fold.open = Boolean(query) && any;
      }
      count.textContent = query ? `${hits} found` : "";
    });
  }

  // ------------------------------------------- contents follow the reader
  function follow() {
    // the theme's own spy loses sections that are ten windows long
    document.body.removeAttribute("data-bs-spy");
    const links = [...document.querySelectorAll("#pst-page-toc-nav a")];
    const section = link => document.getElementById(
      decodeURIComponent(link.hash.slice(1)));
    let last = null, frame = 0;
    const look = () => {
      frame = 0;
      const now = links.filter(link => section(link)
        ?.getBoundingClientRect().top < innerHeight * 0.35).pop();
      if (now === last) return;
      last?.classList.remove("active");
      last?.removeAttribute("aria-current");
      now?.classList.add("active");
      now?.setAttribute("aria-current", "location");
      last = now;
      let side = now?.parentElement;
      while (side && !/auto|scroll/.test(getComputedStyle(side).overflowY))
        side = side.parentElement;
      if (!side || side.querySelector("article")) return;
      const box = side.getBoundingClientRect(), at = now.getBoundingClientRect();
      if (at.top < box.top + 40 || at.bottom > box.bottom - 40)
        side.scrollTop += at.top - box.top - box.height / 2;
    };
    if (!links.length) return;
    addEventListener("scroll", () => { frame ||= requestAnimationFrame(look); },
      { passive: true });
    frame = requestAnimationFrame(look);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("form.bd-search").forEach(attach);
    filter();
    follow();
  });
})();
