r"""The grammar of the printed formulas: TeX -> tokens -> statements -> trees.

    tokens(tex)      the tokens that mean something
    statements(tex)  [(members, relations)] of a = b <= c, and the prose
    tree(toks)       one member as a tree of tuples (kind, ...):

    num x | sym name style indices primes | all name style first last
    add a b | neg a | mul infix a b | pow a b | T a | pinv a | item a indices
    maybe sym group call product: f(x), which the values of f decide
    call sym group | refuse why: what another reader may read differently
    group opening nodes separators
    fn name power args | mean name label args separators
    over kind heads condition top body | int ends variable body
    diff variables body | nabla body | lim variable to sides body
    at body var value | rel op a b | cases rows | block rows

Spaces speak: f(x) applies f, a\,(b + c) multiplies. What has two readings, or
none, raises `Syntax` and says which.
"""

import re
from functools import cache
from itertools import pairwise


class TexError(Exception):
    """A display, or a member of it, has no value."""


class Syntax(TexError):
    """The TeX cannot be read, or has two readings."""


class Mismatch(TexError):
    """Columns, matrices, numbers and functions do not fit together."""


class Unbound(TexError):
    """A symbol has no value."""

    def __init__(self, name, text="is unbound"):
        super().__init__(f"{name} {text}")
        self.name = name


# -- tokens ----------------------------------------------------------------

DROP = set(
    r"\left \right \big \Big \bigl \Bigl \bigr \Bigr \bigg \Bigg \! \limits "
    r"\displaystyle \textstyle \nolimits".split()
)
SAME = {
    r"\tfrac": r"\frac", r"\dfrac": r"\frac", r"\leq": r"\le",
    r"\geq": r"\ge", r"\neq": r"\ne", r"\vert": "|", r"\Vert": r"\|",
    r"\lvert": "|(", r"\rvert": ")|", r"\lVert": r"\|(", r"\rVert": r")\|",
    r"\top": "⊤", r"\widetilde": r"\tilde", r"\widehat": r"\hat",
    r"\prime": "'", r"\equiv": "=", r"\ldots": r"\dots",
    **dict.fromkeys([r"\,", r"\;", r"\:", r"\ ", "~"], "SP"),
}  # fmt: skip
CLOSE = {
    "(": ")", "[": "]", r"\{": r"\}", "|": "|", "|(": ")|",
    r"\|": r"\|", r"\|(": r")\|",
}  # fmt: skip
OPEN, SHUT = {"(", "[", r"\{"}, {")", "]", r"\}"}
RELATIONS = set(
    r"= < > \le \ge \approx \simeq \succeq \preceq \succ \prec \sim \to "
    r"\propto \ne \in \leftarrow".split()
)
ROW = r"\\"
BREAKS = set(
    r", ; : \quad \qquad \\ \Longleftrightarrow \iff \Longrightarrow "
    r"\Rightarrow \implies".split()
)
LOOSE = {r"\odot", r"\otimes"}  # bind less than a product
INFIX = {r"\cdot", r"\times", "/"}
ENDS = {"", "+", "-", "&", "}", r"\mid", ".", "SP", *CLOSE.values()}
ENDS |= INFIX | LOOSE | RELATIONS | BREAKS  # where no factor starts
FUNCTIONS = set(
    "ln log exp sin cos tan sinh cosh tanh arcsin arccos arctan det tr diag "
    "rank erf logit max min sgn".split()
)
MEANS = {"E", "var", "cov"}
BIG = (r"\sum", r"\int", r"\prod", r"\frac")
GREEK = set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu "
    "nu xi pi rho sigma varsigma tau phi varphi chi psi omega Gamma Delta "
    "Theta Lambda Xi Pi Sigma Phi Psi Omega ell infty".split()
)
STYLES = {
    r"\mathbf": "bf", r"\boldsymbol": "bf", r"\mathcal": "cal",
    r"\mathbb": "bb", r"\mathrm": "", r"\mathsf": "",
}  # fmt: skip
ACCENTS = {r"\hat", r"\bar", r"\tilde", r"\dot"}
UPPER_LABELS = {"*": "star", r"\star": "star", r"\dagger": "dagger"}
WORD = r"\\(?:text|mathrm|operatorname\*?)\s*\{([^{}]*)\}"
TOKEN = WORD.replace("([", "(?:[") + (
    r"|\\(?:begin|end)\{\w+\*?\}|\\\\(?:\[[^]]*\])?|\\[A-Za-z]+|\\.|\S"
)


def tokens(tex):
    """The tokens that mean something; sizes and alignments do not."""
    tex = re.sub(r"\\right\s*\.|\{\}", "", tex)
    tex = re.sub(r"\\([bB]igm|middle)\s*\\?\|", r"\\mid ", tex)
    tex = re.sub(r"\\mathsf\s*(T|\{T\})", "⊤", tex)
    tex = re.sub(r"\\mathbb\s*(E|\{E\})", r"\\operatorname{E}", tex)
    found = (m[0] for m in re.finditer(TOKEN, tex))
    return [
        ROW if t[:2] == ROW else SAME.get(t, t) for t in found if t not in DROP
    ]


def word(token):
    r"""'tr' of \operatorname{tr}, None of other tokens."""
    m = re.fullmatch(WORD, token)
    return m and m[1].strip()


def function(token):
    r"""'ln' of \ln, 'tr' of \operatorname{tr}; None of other tokens."""
    name = token[1:] if token[1:] in FUNCTIONS else word(token)
    return name if name in FUNCTIONS | MEANS else None


def is_prose(token):
    r"""\text{...}: what is said and not computed."""
    return token.startswith(r"\text")


def is_letter(t):
    """A Latin or a Greek one."""
    return re.fullmatch("[A-Za-z]", t) or t[1:] in GREEK


def nest(t):
    """+1 where a bracket, brace or environment opens, -1 where it closes."""
    opens = t in OPEN or t == "{" or t[:6] == r"\begin"
    return opens - (t in SHUT or t == "}" or t[:4] == r"\end")


def split(toks, marks):
    """[(part, the mark before it)], cut where no bracket is open."""
    out, level = [([], "")], 0
    for t in toks:
        level += nest(t)
        if not level and (t in marks or is_prose(t) and r"\text" in marks):
            out.append(([], t))
        else:
            out[-1][0].append(t)
    return out


def commas(toks):
    """The parts of a list, without spaces."""
    return [[t for t in p if t != "SP"] for p, _ in split(toks, {","})]


def chain(toks):
    """(members, relations) of a = b <= c."""
    parts = split(toks, RELATIONS)
    return [p for p, _ in parts], [m for _, m in parts[1:]]


# -- statements ------------------------------------------------------------


def statements(tex):
    """[(members, relations)] as token lists, and the prose left out."""
    (parts, prose), out = _parts(tex), []
    for part, mark in parts:
        while part and part[-1] in ("SP", "."):
            part.pop()
        if is_prose(mark) and not chain(part)[1]:
            prose.append(" ".join(word(t) or t for t in part))
        elif part and part != [r"\dots"]:
            out.append(chain(part))
    return out, [p for p in prose if p]


def _parts(tex):
    """[(tokens of a statement, the mark before it)], and words."""
    parts, prose, ended = [], [], False
    for part, mark in split(_flat(tex), BREAKS | {r"\text"}):
        if is_prose(mark):
            prose.append(word(mark))
        behind = part[:1] == ["&"]
        part = part[behind:]
        head = next((t for t in part if t != "SP"), "")
        relates = chain(part)[1]
        ended = ended or mark not in (ROW, r"\quad", r"\qquad")
        goes_on = not head or head in RELATIONS or head in "+-" and not ended
        signed = goes_on and head and head in "+-" and not behind
        if signed and relates and chain(parts[-1][0])[1]:
            raise Syntax("a row that begins with a sign: a comma above, or &")
        ended = ended and not head
        if parts and (goes_on or mark == ROW and not relates):
            parts[-1][0].extend(part)
        else:
            parts.append((part, mark))
    return parts, prose


def _flat(tex):
    """Tokens without alignment; rows end statements outside brackets only."""
    flat, level, inner, marks = [], 0, 0, 0
    for t in tokens(tex):
        if re.match(r"\\(begin|end)\{(aligned|gathered|split)\}", t):
            continue
        level += nest(t)
        inner += (t[:6] == r"\begin") - (t[:4] == r"\end")
        first, marks = flat[-1:] == [ROW], (t != ROW) * (marks + (t == "&"))
        indent = t in (r"\quad", r"\qquad") and flat[-1:] in ([ROW], ["&"])
        if t == "&" and not (inner or first):  # two of them: another column
            t = "" if marks % 2 else r"\quad"
        if inner or t and not (indent or level and t == ROW):
            flat.append(t)
    return flat


@cache
def parse(tex):
    """([(trees, relations)], prose) of a whole display."""
    chains, prose = statements(tex)
    return [(list(map(tree, ms)), rs) for ms, rs in chains], prose


def tree(toks):
    """One member as a tree."""
    return Parser(toks).whole()


# -- trees -----------------------------------------------------------------


class Parser:
    """Recursive descent over the tokens of one member."""

    def __init__(self, toks):
        self.toks, self.i = [*toks, ""], 0
        self.inside = []  # open brackets and bars, and integrals before dx

    @property
    def tok(self):
        """The token to read next, "" at the end."""
        return self.toks[self.i]

    def next(self):
        """Read a token."""
        t = self.tok
        self.i += t != ""
        return t

    def skip(self):
        """Pass over spaces; always True."""
        while self.tok == "SP":
            self.i += 1
        return True

    def ahead(self):
        """The token after the next."""
        return (self.toks[self.i + 1 :] or [""])[0]

    def whole(self):
        """All tokens as one tree."""
        node = self.sum()
        if self.tok:
            rest = " ".join(self.toks[self.i :][:6])
            raise Syntax(f"cannot read on at {rest}")
        return node

    def argument(self):
        """The tokens of a macro's argument."""
        self.skip()
        t = self.next()
        if t in STYLES or t in ACCENTS:
            return [t, "{", *self.argument(), "}"]
        start, level = self.i, t == "{"
        while level and self.tok:
            level += (self.tok == "{") - (self.next() == "}")
        if level or not t:
            raise Syntax("an argument has no end")
        return self.toks[start : self.i - 1] if t == "{" else [t]

    def scripts(self, *marks):
        """[(mark, tokens)] of what hangs below and above; primes and !"""
        found = []
        while self.tok in marks:
            mark = self.next()
            if mark == "!" == self.tok:
                raise Syntax("n!! has two readings")
            up = self.argument() if mark in ("_", "^") else [mark]
            if mark in ("_", "^") and mark in [m for m, _ in found]:
                raise Syntax(f"two scripts {mark} of one symbol: use braces")
            found.append((mark, [t for t in up if t != "SP"]))
        return found

    def limits(self):
        """The tokens below and above, None where there are none."""
        found = dict(self.scripts("_", "^"))
        return found.get("_"), found.get("^")

    def below(self):
        """The tokens below, where nothing has a meaning above."""
        low, high = self.limits()
        if high:
            raise Syntax(f"no meaning for {' '.join(high)} above: write it out")
        return low

    # sums, products, factors

    def sum(self):
        """a + b - c"""
        node, bound = self.term(), []
        while self.tok in ("+", "-"):
            bound += ends_open(node)
            new = self.term()
            if any(carries(new, x) for x in bound):
                raise Syntax("the scope of a sum or limit: use brackets")
            node = ("add", node, new)
        return node

    def term(self, bar=True):
        """A product with its sign, perhaps evaluated at |_{x = ...}."""
        self.skip()
        sign = self.next() if self.tok in ("+", "-") else ""
        node = self.product()
        if bar and self.tok == "|" and self.ahead() == "_":
            self.next()
            sides, relations = chain(self.below())
            if relations != ["="]:
                raise Syntax("evaluated at: write |_{x = ...}")
            node = ("at", node, *map(tree, sides))
        return ("neg", node) if sign == "-" else node

    def product(self):
        """Factors side by side."""
        node = infix = None
        while self.skip():
            if self.tok in LOOSE and node:
                return ("mul", self.next(), node, self.product())
            if self.tok in INFIX and node and not infix:
                infix = self.next()
            elif self.starts():
                new = self.factor()
                if infix == "/" and self.skip() and self.starts():
                    raise Syntax(SLASH)
                if infix == "/" and new[0] == "maybe":
                    new = (*new[:4], ("refuse", SLASH))
                if node and not infix and new[0] == "num":
                    raise Syntax("a number behind a factor: write it in front")
                node = ("mul", infix, node, new) if node else new
                infix = None
            else:
                break
        if node is None or infix:
            raise Syntax(f"a factor expected, not {self.tok or 'the end'}")
        return node

    def starts(self):
        """Whether a factor starts here."""
        if self.tok in ("|", r"\|"):
            return self.bar_opens(self.tok)
        return self.tok not in ENDS and not self.measure()

    def bar_opens(self, t):
        """A bar opens a pair, unless one is open or it separates."""
        if self.inside[-1:] == [t] or self.ahead() == "_":
            return False
        level = count = 0
        for a, b in pairwise(self.toks[self.i :]):
            level += nest(a)
            if level < 0:
                break
            count += not level and a == t and b != "_"
        return count % 2 == 0

    def measure(self):
        """Whether the dx of an integral stands here."""
        x = self.ahead()
        variable = is_letter(x) or x in STYLES or x in ACCENTS
        return self.tok == "d" and self.inside[-1:] == [r"\int"] and variable

    def factor(self):
        """One factor with its scripts."""
        t = self.tok
        if function(t):
            return self.function()
        if t.isdecimal():
            return self.post(self.number())
        if t in CLOSE:
            return self.post(self.bracket())
        if t.startswith(r"\begin"):
            return self.post(self.matrix())
        return READERS.get(t, Parser.symbol)(self)

    def post(self, node):
        """A factor with the scripts behind it."""
        return posted(node, self.scripts("_", "^", "!"))

    def number(self):
        """Digits, perhaps with a decimal point."""
        t = self.next()
        while (
            self.tok.isdecimal() or self.tok == "." and self.ahead().isdecimal()
        ):
            t += self.next()
        if t.count(".") > 1:
            raise Syntax(f"{t} is no number")
        return ("num", float(t))

    def braces(self):
        """{a}"""
        return self.post(tree(self.argument()))

    def root(self):
        r"""\sqrt{a}"""
        self.next()
        if self.tok == "[":
            raise Syntax(r"\sqrt[n]: write a power")
        return self.post(("fn", "sqrt", None, [tree(self.argument())]))

    def bracket(self):
        """(a), f's (a, b), {a, ..., b} and |a|: one node, or several"""
        t, nodes, separators = self.next(), [], ""
        self.inside.append(t)
        while self.skip():
            if self.tok == r"\dots" and self.ahead() == "," and nodes:
                self.i += 2
                nodes.append(self.listed(nodes.pop()))
                separators = separators[:-1]
            else:
                nodes.append(self.sum())
            if self.tok in RELATIONS:
                nodes.append(("rel", self.next(), nodes.pop(), self.sum()))
            self.skip()
            mark = self.next()
            if mark == CLOSE[t]:
                break
            if mark not in (",", ";", r"\mid", "|", r"\|") or t not in OPEN:
                raise Syntax(f"{CLOSE[t]} expected, not {mark or 'the end'}")
            separators += "," if mark in ",;" else "|"
        self.inside.pop()
        return ("group", t, nodes, separators)

    def listed(self, first):
        """x_1, ..., x_N: all of x."""
        last = self.sum()
        if first[0] != "sym" or last[:3] != first[:3] or len(first[3]) != 1:
            raise Syntax("a, ..., b: only for x_1, ..., x_N")
        return ("all", *first[1:3], first[3][0], last[3][0])

    def matrix(self):
        """Block matrices, determinants, cases."""
        kind, start = self.next()[7:-1], self.i
        if kind not in ("pmatrix", "vmatrix", "cases", "bmatrix"):
            raise Syntax(f"environment {kind}")
        while self.tok and self.tok[:4] != r"\end":
            self.next()
        rows = [
            [cell for cell, _ in split(row, {"&"})]
            for row, _ in split(self.toks[start : self.i], {ROW})
            if row
        ]
        self.next()
        if kind != "cases" and len({*map(len, rows)}) != 1:
            raise Syntax("the rows of a matrix are not of one length")
        if kind == "cases":
            cases = [case(row[0], sum(row[1:], [])) for row in rows]
            if not all(relations for *_, relations in cases[:-1]):
                raise Syntax("a case that is told in words only is no case")
            return ("cases", cases)
        node = ("block", [[tree(cell) for cell in row] for row in rows])
        return ("fn", "det", None, [node]) if kind == "vmatrix" else node

    # fractions, derivatives, sums, integrals, limits

    def fraction(self):
        r"""\frac{a}{b}, and \frac{d}{dx}"""
        self.next()
        top, bottom = self.argument(), self.argument()
        d = top[0] if top and top[0] in ("d", r"\partial") else None
        subscripted = "_" in (*top[1:2], *bottom[1:2])
        if not d or bottom[:1] != [d] or subscripted:
            return self.post(("mul", "/", tree(top), tree(bottom)))
        p = Parser(top[1:])
        order = whole(tree(p.limits()[1] or ["1"]))
        inside = p.toks[p.i : -1]
        body = tree(inside) if inside else self.term(bar=False)
        if inside and self.tok in ("(", "["):
            raise Syntax(r"df/dx(a) has two readings: |_{x = a}, or df/dx\,(a)")
        return derivative(d, order, bottom, body)

    def slope(self):
        r"""\nabla f(x), \nabla_x f, \partial_x f"""
        t, variable = self.next(), self.below()
        if t == r"\partial" and not variable:
            raise Syntax(r"\partial without a variable: write \frac")
        self.skip()
        body = self.factor()
        if self.starts():
            raise Syntax("the slope of a product: use brackets, or a space")
        return ("diff", [tree(variable)], body) if variable else ("nabla", body)

    def big(self):
        r"""\sum_{n=1}^N and \prod"""
        return self.over(self.next()[1:], *self.limits())

    def over(self, kind, low, high=None):
        """A sum, product, max or min: heads, (sides, relations), top, body"""
        if not low:
            raise Syntax(f"{kind} without an index")
        index = split(low, {":"})[0][0]
        sides, relations = chain(low[len(index) + 1 :] or index)
        condition = [list(map(tree, commas(s))) for s in sides], relations
        if any(len(side) > 1 for side in condition[0][1:-1]):
            raise Syntax("two conditions in one sum: write one, or two sums")
        heads = list(map(tree, commas(chain(index)[0][0])))
        if any(h[0] != "sym" for h in heads):
            raise Syntax(f"{kind} over what is no name")
        if high and relations != ["="]:
            raise Syntax(f"{kind} up to what? its index starts nowhere")
        top, start = tree(high) if high else None, self.i
        body = self.term(bar=False)
        if kind == "prod":
            slash = len(split(self.toks[start : self.i], {"/"})) > 1
            if slash:
                raise Syntax(SCOPE)
            body = closed(body, heads[0][1])
        condition = condition if relations else None
        return ("over", kind, heads, condition, top, body)

    def limit(self):
        r"""\lim_{x \to a}"""
        self.next()
        pair, relations = chain(self.below() or [])
        if relations != [r"\to"]:
            raise Syntax(r"a limit of what, and where? write \lim_{x \to a}")
        variable, to = pair
        sides = 1 if to[-2:] == ["^", "+"] else 2
        to = to[:-2] if sides == 1 else to
        return ("lim", tree(variable), tree(to), sides, self.term(bar=False))

    def integral(self):
        r"""\int_a^b f\,dx"""
        self.inside.append(self.next())
        low, high = self.limits()
        if (low is None) != (high is None):
            raise Syntax("an integral with one end")
        ends = tree(low or ["-", r"\infty"]), tree(high or [r"\infty"])
        self.skip()
        empty = self.measure()
        body = ("num", 1.0) if empty else self.sum()
        self.skip()
        self.inside.pop()
        if self.next() != "d":
            raise Syntax("an integral without dx")
        variable = self.symbol(calls=False)
        if empty and self.skip() and self.starts():
            raise Syntax("the dx of an integral stands at its end")
        return ("int", [*ends], variable, body)

    # functions and symbols

    def function(self):
        """ln, tr, E and the like, with or without brackets."""
        name, (label, power) = function(self.next()), self.limits()
        power = power and tree(power)
        if power == MINUS or power and (label or name in MEANS):
            raise Syntax(f"{name} with a power has two readings: use braces")
        if name in ("max", "min") and label:
            return self.over(name, label)
        self.skip()
        if self.tok in OPEN:
            _, _, args, separators = self.bracket()
            if self.tok == "^":
                raise Syntax(f"{name}(x)^2 has two readings: use braces")
        else:
            args, separators = [self.implied()], ""
        if name in MEANS:
            return ("mean", name, indices(label or []), args, separators)
        if label:
            raise Syntax(f"the subscript of {name} has no meaning here")
        return ("fn", name, power, args)

    def implied(self):
        """ln 2 pi x: the factors up to a space, a sign or another function."""
        node = None
        while self.starts():
            t = self.tok
            if node and (function(t) in FUNCTIONS or t in OPEN):
                break
            new = self.factor()
            if new[0] == "maybe":
                why = "a function of a product: put it in brackets"
                new = (*new[:4], ("refuse", why))
            node = ("mul", None, node, new) if node else new
            if t in CLOSE or t in BIG:
                break
        if not node:
            end = self.tok or "the end"
            raise Syntax(f"a function without an argument at {end}")
        ends = t in CLOSE or t in BIG
        if self.tok in INFIX and not ends:
            raise Syntax("ln a/b has two readings: use brackets")
        if self.starts() and function(self.tok) not in FUNCTIONS:
            raise Syntax("ln a(b) has two readings: use brackets, or a space")
        return node

    def symbol(self, calls=True):
        """A name with its scripts, perhaps applied to brackets."""
        name, style = self.name()
        if (name, style, self.tok) == ("e", "", "^"):
            self.next()
            power = tree(self.argument())
            return self.post(("fn", "e", None, [power]))
        node, powers = named(name, style, self.scripts("_", "^", "'"))
        base = posted(node, powers)
        transposed = any("⊤" in up for _, up in powers)
        if not calls or transposed or self.tok not in ("(", "["):
            return self.post(base)
        group, after = self.bracket(), self.scripts("_", "^", "!")
        call = posted(posted(("call", node, group), powers), after)
        if any(up != ["+"] and tree(up) == MINUS for _, up in powers):
            f = node[1]
            why = f"{f}^{{-1}}(...) has two readings: {f}(...)^{{-1}}"
            call = ("refuse", why)
        product = ("mul", None, base, posted(group, after))
        return ("maybe", node, group, call, product)

    def item(self):
        """One item of a subscript such as 0j."""
        text = word(self.tok) or UPPER_LABELS.get(self.tok)
        if text:
            self.next()
            return ("label", text)
        number = self.tok.isdecimal()
        return ("num", float(self.next())) if number else self.symbol(False)

    def name(self):
        r"""(name with its accents, style); \Delta x is one name."""
        style = tail = ""
        t = self.next()
        while t in STYLES or t in ACCENTS:
            style = STYLES.get(t, style)
            tail += "_" + t[1:] if t in ACCENTS else ""
            inner = self.argument()
            p = Parser(inner)
            if inner[1:] and (p.symbol(calls=False), p.tok)[1]:
                raise Syntax("a style or accent over several letters: over one")
            self.toks[self.i : self.i] = inner
            t = self.next()
        text, letter = word(t), is_letter(t) or style and t.isdecimal()
        if is_prose(t) or not (text or letter):
            raise Syntax(f"{t or 'the end'} is not understood")
        if t == r"\Delta" and (is_letter(self.tok) or self.tok in STYLES):
            inner, style = self.name()
            return f"Delta_{inner}", style
        return (text or t.lstrip("\\")) + tail, style


MINUS = ("neg", ("num", 1.0))
SLASH = "a/b c has two readings: write a fraction"
SCOPE = "the scope of a product has two readings: use braces"
READERS = {
    "{": Parser.braces, r"\frac": Parser.fraction, r"\sqrt": Parser.root,
    r"\sum": Parser.big, r"\prod": Parser.big, r"\int": Parser.integral,
    r"\lim": Parser.limit, r"\nabla": Parser.slope, r"\partial": Parser.slope,
}  # fmt: skip


def whole(node):
    """The order of a derivative."""
    if node[0] != "num" or node[1] not in range(1, 10):
        raise Syntax("the order of a derivative is a number from 1 to 9")
    return int(node[1])


def derivative(d, order, bottom, body):
    """The node of a derivative: its variables, one for each order."""
    variables, p = [], Parser(bottom)
    while p.skip() and p.tok:
        if p.next() != d:
            raise Syntax("a derivative is not understood")
        node, times = p.symbol(calls=False), 1
        if node[0] == "pow":
            node, times = node[1], whole(node[2])
        variables += [node] * times
    if order == 1 and variables == [variables[0]] * 2:  # d / d sigma^2
        twice = ("mul", None, ("num", 2.0), variables[0])
        return ("mul", "/", ("diff", variables[:1], body), twice)
    if len(variables) != order:
        raise Syntax("the orders of the derivative differ")
    return ("diff", variables, body)


def case(value, condition):
    """(value, sides, relations) of one row of cases."""
    parts = [p for p, _ in split(condition, {r"\text"}) if set(p) - {"SP"}]
    words = {word(t).strip(" .,;") for t in condition if is_prose(t)}
    if len(parts) > 1 or not words <= {"", "if", "for", "else", "otherwise"}:
        raise Syntax("in words: write cases of one condition each, with if")
    sides, relations = chain(*parts or [[]])
    return tree(value), [tree(s) for s in sides if relations], relations


def closed(node, letter):
    """A product, all of whose factors carry a letter or stand in braces."""
    if node[0] == "mul" and node[1] != "/":
        return (*node[:2], closed(node[2], letter), closed(node[3], letter))
    if not carries(node, letter):
        raise Syntax(SCOPE)
    if node[0] == "maybe" and not all(carries(x, letter) for x in node[4][2:]):
        return (*node[:4], ("refuse", SCOPE))
    return node


def ends_open(node):
    """The letters of the sum or limit that a term ends in without brackets."""
    while node[0] in ("add", "mul", "neg"):
        node = node[-1]
    if node[0] == "over":
        return [h[1] for h in node[2]] + ends_open(node[-1])
    return [node[1][1]] + ends_open(node[-1]) if node[0] == "lim" else []


def carries(node, letter):
    """Whether a letter occurs, not bound by an inner sum."""
    if not isinstance(node, list | tuple):
        return False
    if node[:1] == ("over",) and letter in [h[1] for h in node[2]]:
        return False
    if node[:2] == ("sym", letter) and not node[3]:
        return True
    return any(carries(x, letter) for x in node)


def posted(node, scripts):
    """A node with its powers, indices and factorials."""
    for mark, up in scripts:
        if mark == "!":
            node = ("fn", "factorial", None, [node])
        elif mark == "_":
            node = ("item", node, indices(up))
        elif "⊤" in up:
            inverse = ("pow", node, ("num", -1.0))
            node = ("T", inverse if up[0] == "-" else node)
        elif up == ["+"]:
            node = ("pinv", node)
        else:
            power = tree(up)
            node = ("pow", node, ("num", -1.0) if power == MINUS else power)
    return node


def named(name, style, scripts):
    """(symbol, its powers): the rest are indices, primes and labels."""
    items, primes, powers = [], 0, []
    for mark, up in scripts:
        if mark == "_":
            if powers and style == "bf" and not name[0].islower():
                raise Syntax("A^{-1}_{ij} has two readings: (A^{-1})_{ij}")
            items += indices(up)
        elif set(up) == {"'"}:
            primes += len(up)
        elif upper_label(up):
            name += "_" + upper_label(up)
        elif up[0] == "(" and up[-1] == ")":
            items.append(("up", tree(up[1:-1])))
        else:
            powers.append((mark, up))
    return ("sym", name, style, items, primes), powers


def upper_label(up):
    r"""'new' of ^{\text{new}}, 'star' of ^*: a name, not a power."""
    inner = up[1:-1] if up[:1] == ["("] and up[-1:] == [")"] else up
    if len(inner) == 1 and word(inner[0]):
        return word(inner[0])
    return UPPER_LABELS.get("".join(up))


def indices(toks):
    """The items of a subscript: nodes, or ('label', text)."""
    if toks[:1] == ["-"]:
        return [("label", "minus"), *indices(toks[1:])]
    out = []
    for part in commas(toks):
        p = Parser(part)
        if RELATIONS.intersection(part):
            out.append(("label", "".join(part)))
        elif "+" in part or "-" in part:
            out.append(p.whole())
        else:
            while p.tok:
                out.append(p.item())
    return out


def walk(node):
    """All nodes below, outermost first."""
    if isinstance(node, tuple) and node and isinstance(node[0], str):
        yield node
    for x in node if isinstance(node, list | tuple) else ():
        if isinstance(x, list | tuple):
            yield from walk(x)


def label(item):
    """A subscript as part of a name, or None."""
    if item[0] == "label":
        return re.sub(r"\W", "", item[1])
    if item[0] == "num":
        return str(int(item[1]))
    return item[1] if item[0] == "sym" and not item[3:][0] else None
