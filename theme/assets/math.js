// How formulas are typeset: those in view first, the rest as soon as nothing
// else is to be done, so that paper and screen readers find them all. There is
// no menu, and what a menu of another document has stored is not read.
try { localStorage.removeItem("MathJax-Menu-Settings"); }
catch { /* nothing is stored where that is forbidden */ }

window.MathJax = {
  loader: {
    load: ["core", "input/tex-base", "[tex]/ams", "[tex]/boldsymbol",
      "output/chtml", "a11y/assistive-mml", "ui/lazy"],
  },
  tex: { packages: { "[+]": ["ams", "boldsymbol"] } },
  options: {
    ignoreHtmlClass: "tex2jax_ignore|mathjax_ignore|document",
    processHtmlClass: "math",
  },
  startup: {
    pageReady: () => MathJax.startup.defaultPageReady().then(typesetRest),
  },
};

// a few dozen formulas at a time: the page stays quick
function typesetRest() {
  const page = MathJax.startup.document;
  const waiting = [...page.lazyList.items].filter(([, f]) => f.lazyTypeset);
  if (!waiting.length) {
    document.documentElement.dataset.math = "typeset";
    document.dispatchEvent(new Event("typeset"));
    return;
  }
  for (const [id] of waiting.slice(0, 40)) page.lazySet.add(id);
  page.lazyHandleSet();
  page.lazyPromise.then(() => (window.requestIdleCallback || setTimeout)(
    typesetRest));
}

// what has come into the page since, such as a preview
window.typesetNow = async box => {
  await window.MathJax?.startup?.promise;
  await window.MathJax?.typesetPromise?.([box]);
};
