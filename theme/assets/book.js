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
  const wide = ":is(pre, .text_html, .check, .slip, .attempt, mjx-container," +
    " .pst-scrollable-table-container)";
  const look = box => {
    const hidden = box.scrollWidth - box.clientWidth;
    if (hidden > 1) box.tabIndex = 0;
    box.classList.toggle("cut", hidden - box.scrollLeft > 4);
  };
  const resized = new ResizeObserver(entries => entries.forEach(
    ({target}) => look(target.querySelector(":scope > mjx-container") || target)
  ));
  for (const box of document.querySelectorAll(
    `.bd-article ${wide}, .bd-article div.math`)) resized.observe(box);
  document.addEventListener("scroll", ({target}) => {
    if (target.matches?.(wide)) look(target);
  }, true);
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
