// How formulas are typeset: those in view first, then those nearest to it, as
// soon as nothing else is to be done, so that paper and screen readers find
// them all. There is no menu, and what a menu of another document has stored
// is not read.
try { localStorage.removeItem("MathJax-Menu-Settings"); }
catch { /* nothing is stored where that is forbidden */ }

window.MathJax = {
  loader: { load: [] }, // theme/book_ext.py puts all parts into one file
  tex: { packages: { "[+]": ["ams", "boldsymbol"] } },
  options: {
    ignoreHtmlClass: "tex2jax_ignore|mathjax_ignore|document",
    processHtmlClass: "math",
  },
  startup: {
    pageReady: () => typesetNext([...document.querySelectorAll(".math")]),
  },
};

// those in view, or a few dozen at a time: the page stays quick
async function typesetNext(waiting) {
  if (!waiting.length) {
    document.documentElement.dataset.math = "typeset";
    document.dispatchEvent(new Event("typeset"));
    return;
  }
  const far = new Map(waiting.map(formula => {
    const {top, bottom} = formula.getBoundingClientRect();
    return [formula, Math.max(0, -bottom, top - innerHeight)];
  }));
  waiting.sort((a, b) => far.get(a) - far.get(b));
  const seen = waiting.filter(formula => !far.get(formula)).length;
  await MathJax.typesetPromise(waiting.splice(0, seen || 40));
  (window.requestIdleCallback || setTimeout)(() => typesetNext(waiting));
}

// what has come into the page since, such as a preview
window.typesetNow = async box => {
  await window.MathJax?.startup?.promise;
  await window.MathJax?.typesetPromise?.([box]);
};
