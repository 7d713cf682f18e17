// What the theme leaves undone for readers who do not use a mouse or a screen.
document.addEventListener("DOMContentLoaded", () => {
  // a button is called what is written on it
  for (const kind of ["search-button-field", "theme-switch-button"])
    for (const button of document.querySelectorAll(`button.${kind}`))
      button.removeAttribute("aria-label");

  // the title above the contents belongs to a landmark
  const title = document.querySelector(
    "#pst-primary-sidebar .sidebar-primary-items__start");
  if (title) {
    title.setAttribute("role", "region");
    title.setAttribute("aria-label", "Title and search");
  }

  // a box that scrolls sideways can be reached and scrolled by keyboard, and
  // fades where it goes on
  const wide = ":is(pre, .text_html:not(:has(.prml-panels)), .attempt," +
    " mjx-container, span.math, .pst-scrollable-table-container)";
  const look = boxes => {
    // all is read before anything is written: one layout, not hundreds
    const read = boxes.map(box =>
      [box, box.scrollWidth - box.clientWidth, box.scrollLeft]);
    for (const [box, hidden, left] of read) {
      if (hidden > 4) box.tabIndex = 0; else box.removeAttribute("tabindex");
      // what sticks out by rounding alone is no box that scrolls
      box.classList.toggle("fits", hidden <= 4);
      box.classList.toggle("cut", hidden - left > 4);
    }
  };
  // of a display, its formula alone, once it is there
  const measure = boxes => look(boxes.map(box => box.matches("div.math") ?
    box.querySelector(":scope > mjx-container") : box).filter(Boolean));
  const resized = new ResizeObserver(
    entries => measure(entries.map(entry => entry.target)));
  const boxes = [...document.querySelectorAll(
    `.bd-article ${wide}, .bd-article div.math`)];
  for (const box of boxes) resized.observe(box);
  document.addEventListener("typeset", () => measure(boxes));
  document.addEventListener("scroll", ({target}) => {
    if (target.matches?.(wide)) look([target]);
  }, true);
});

// Read or Audit: the choice is kept, and opens every seal in place
document.addEventListener("DOMContentLoaded", () => {
  const [read, audit] = document.querySelectorAll(".mode input");
  const seals = document.querySelectorAll("details.seal");
  const show = () => seals.forEach(seal => { seal.open = audit.checked; });
  if (audit.checked) show();
  const inView = e => e.checkVisibility() && e.getBoundingClientRect().top > 60;
  const change = chosen => {
    try { localStorage.setItem("book-mode", chosen.value); }
    catch { /* nothing is kept where that is forbidden */ }
    // what the reader looks at stays where it is, by no other hand
    document.documentElement.style.overflowAnchor = "none";
    (chosen == read ? audit : read).checked = true;
    const kept = [...document.querySelectorAll(
      ".bd-article :is(h1, h2, h3, p, div.math)")].find(inView);
    const before = kept?.getBoundingClientRect().top;
    chosen.checked = true;
    show();
    if (kept) scrollBy({top: kept.getBoundingClientRect().top - before,
      behavior: "instant"});
    requestAnimationFrame(() => requestAnimationFrame(
      () => { document.documentElement.style.overflowAnchor = ""; }));
  };
  for (const input of [read, audit])
    input.addEventListener("change", () => change(input));
});

// paper is white
let chosen;
addEventListener("beforeprint", () => {
  chosen = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = chosen;
});
