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

  // a box that scrolls sideways can be reached and scrolled by keyboard
  const reach = new ResizeObserver(entries => {
    for (const {target} of entries)
      if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
  });
  for (const box of document.querySelectorAll(
    ".bd-article :is(pre, .text_html, .check, .slip, .attempt)"))
    reach.observe(box);
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
