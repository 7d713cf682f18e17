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
  const batch = waiting.splice(0, seen || 40);
  await MathJax.typesetPromise(batch);
  breakDisplays(batch);
  (window.requestIdleCallback || setTimeout)(() => typesetNext(waiting));
}

// what has come into the page since, such as a preview
window.typesetNow = async box => {
  await window.MathJax?.startup?.promise;
  await window.MathJax?.typesetPromise?.([box]);
  breakDisplays([box]);
};

// A display that is wider than its column goes on below (book.css): after
// \quad or a comma, before =, + and −, between factors, and within brackets at
// last. A rule says whether a line may begin with a node; it is asked so many
// brackets deep, round ones counting for ten.
const HANG = 2; // what goes on from this rule on is indented
const isSum = node => node.getAttribute("space") == 3 && among("+−±", node);
const RULES = [
  [(node, last) => last.matches("mjx-mstyle") &&
    parseFloat(last.firstElementChild?.style.width) >= 1, 0],
  [(node, last) => among(",;", last), 0],
  [node => node.getAttribute("space") == 4, 0],
  [isSum, 0],
  [isSum, 9],
  [(node, last) => among("([{", node) && among(")]}", last) ||
    node.getAttribute("space") == 2 && !among("\u2061∑∏∫,", last) &&
    !last.matches("mjx-munder, mjx-munderover"), 0],
  [isSum, Infinity],
];
const ROWS =
  ":scope > mjx-table > mjx-itable > mjx-mtr > mjx-mtd";

function breakDisplays(boxes) {
  for (const box of boxes)
    for (const math of box.querySelectorAll("[display=true] > mjx-math"))
      breakable([...math.children]);
}

function breakable(nodes, level = 0) {
  const shown = nodes.filter(inked);
  if (!shown.length) return;
  if (shown.length == 1 && shown[0].matches("mjx-mtable")) {
    shown[0].classList.add("rows");
    for (const cell of shown[0].querySelectorAll(ROWS))
      breakable([...cell.children]);
    return;
  }
  const parts = RULES[level] && parted(nodes, ...RULES[level]);
  if (parts?.length == 1) return breakable(nodes, level + 1);
  const box = document.createElement("span");
  nodes[0].before(box);
  box.append(...nodes);
  box.className = !parts ? "whole" : level < HANG ? "parts" : "parts hang";
  parts?.forEach(part => breakable(part, level + 1));
}

function parted(nodes, rule, deepest) {
  const parts = [[]];
  let depth = 0, broken = true; // what follows a relation belongs to it
  nodes.forEach((node, k) => {
    broken = !broken && depth <= deepest && rule(node, nodes[k - 1]);
    if (broken && parts.at(-1).some(inked)) parts.push([]);
    parts.at(-1).push(node);
    depth += among("{[", node) - among("}]", node) +
      10 * (among("(⟨", node) - among(")⟩", node));
  });
  return parts;
}

const inked = node => node.querySelector("mjx-c");

// whether a node is one of these signs, with an exponent or without
function among(signs, node) {
  const base = node.matches("mjx-msup, mjx-msub, mjx-msubsup") ?
    node.firstElementChild : node;
  const glyphs = base.querySelectorAll("mjx-c");
  const code = /mjx-c([0-9A-F]+)/.exec(glyphs[0]?.className)?.[1];
  return glyphs.length == 1 && !!code && base.matches("mjx-mo, mjx-texatom") &&
    signs.includes(String.fromCodePoint(parseInt(code, 16)));
}
