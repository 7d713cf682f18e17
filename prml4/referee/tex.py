r"""The grammar of the printed formulas: TeX -> tokens -> statements -> trees.

    tokens(tex)      the tokens that mean something
    statements(tex)  [(members, relations)] of a = b <= c, and the prose
    tree(toks)       one member as a tree of tuples (kind, ...):

    num x | sym name style indices primes | all name style first last
    add a b | neg a | mul infix a b | pow a b | T a | pinv a | item a indices
    maybe sym call product: f(x), which the values of f decide | call sym group
    twice call: f^{-1}(x), which is a product or has two readings
    group opening nodes separators | tight a: an argument without brackets
    fn name power args | mean name label args separators
    over kind heads condition top body | int ends variable body
    diff variables body | nabla body | lim variable to body | at body var value
    rel op a b | cases rows | block rows

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
    tex = re.sub(r"\\left\s*\.|\\right\s*\.|\{\}", "", tex)
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
    parts, prose, out, ended = [], [], [], False
    for part, mark in split(_flat(tex), BREAKS | {r"\text"}):
        if is_prose(mark):
            prose.append(word(mark))
        head = next((t for t in part if t != "SP"), "")
        relates = len(chain(part)[0]) > 1
        ended = ended or mark not in (ROW, r"\quad", r"\qquad")
        goes_on = not head or head in RELATIONS or head in "+-" and not ended
        ended = ended and not head
        if parts and (goes_on or mark == ROW and not relates):
            parts[-1][0].extend(part)
        else:
            parts.append((part, mark))
    for part, mark in parts:
        while part and part[-1] in ("SP", "."):
            part.pop()
        if is_prose(mark) and len(chain(part)[0]) == 1:
            prose.append(" ".join(word(t) or t for t in part))
        elif part and part != [r"\dots"]:
            out.append(chain(part))
    return out, [p for p in prose if p]


def _flat(tex):
    """Tokens without alignment; rows end statements outside brackets only."""
    flat, level, inner = [], 0, 0
    for t in tokens(tex):
        if re.match(r"\\(begin|end)\{(aligned|gathered|split)\}", t):
            continue
        level += nest(t)
        inner += (t[:6] == r"\begin") - (t[:4] == r"\end")
        indent = t in (r"\quad", r"\qquad") and flat[-1:] == [ROW]
        if inner or not (t == "&" or indent or level and t == ROW):
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
        self.inside = []  # open brackets and bars
        self.measures = 0  # integrals whose dx is still to come

    @property
    def tok(self):
        """The token to read next."""
        return self.toks[self.i]

    def next(self):
        """Read a token."""
        self.i = min(self.i + 1, len(self.toks) - 1)
        return self.toks[self.i - 1]

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
        if t != "{":
            return [t]
        level, start = 1, self.i
        while level and self.tok:
            t = self.next()
            level += (t == "{") - (t == "}")
        return self.toks[start : self.i - 1]

    # sums, products, factors

    def sum(self):
        """a + b - c"""
        node = self.term()
        while self.tok in ("+", "-"):
            node = ("add", node, self.term())
        return node

    def term(self, bar=True):
        """A product with its sign, perhaps evaluated at |_{x = ...}."""
        self.skip()
        sign = self.next() if self.tok in ("+", "-") else ""
        node = self.product()
        if bar and self.tok == "|" and self.ahead() == "_":
            self.i += 2
            sides, relations = chain(self.argument())
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
                    raise Syntax("a/b c has two readings: write a fraction")
                node = ("mul", infix, node, new) if node else new
                infix = None
            else:
                break
        if node is None or infix:
            raise Syntax(f"a factor expected, not {self.tok or 'the end'}")
        return node

    def starts(self):
        """Whether a factor starts here."""
        t = self.tok
        if t in ("|", r"\|"):
            return self.bar_opens(t)
        if t == "d" and self.measures and self.variable_follows():
            return False
        ends = ("", "+", "-", "&", "}", r"\mid", ".", "SP")
        return not (
            t in ends or t in INFIX or t in LOOSE or t in RELATIONS
            or t in BREAKS or t in CLOSE.values()
        )  # fmt: skip

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

    def variable_follows(self):
        """Whether the d here is that of dx."""
        t = self.ahead()
        return is_letter(t) or t in STYLES or t in ACCENTS

    def factor(self):
        """One factor with its scripts."""
        t = self.next()
        name = t[1:] if t[1:] in FUNCTIONS else word(t)
        if t.isdigit():
            return self.scripts(self.number(t))
        if t in CLOSE:
            return self.scripts(self.bracket(t))
        if t[:6] == r"\begin":
            return self.scripts(self.matrix(t[7:-1]))
        if name in FUNCTIONS or name in MEANS:
            return self.function(name)
        if t in READERS:
            return getattr(self, READERS[t])(t)
        self.i -= 1
        return self.symbol()

    def number(self, t):
        """Digits, perhaps with a decimal point."""
        while self.tok.isdigit() or self.tok == "." and self.ahead().isdigit():
            t += self.next()
        return ("num", float(t))

    def braces(self, _):
        """{a}"""
        self.i -= 1
        return self.scripts(tree(self.argument()))

    def root(self, _):
        r"""\sqrt{a}"""
        if self.tok == "[":
            raise Syntax(r"\sqrt[n]: write a power")
        return self.scripts(("fn", "sqrt", None, [tree(self.argument())]))

    def bracket(self, t):
        """('group', opening, [nodes], separators)"""
        self.inside.append(t)
        measures, self.measures = self.measures, 0
        nodes, separators = [], ""
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
        self.measures = measures
        return ("group", t, nodes, separators)

    def listed(self, first):
        """x_1, ..., x_N: all of x."""
        last = self.sum()
        if first[0] != "sym" or last[:3] != first[:3] or len(first[3]) != 1:
            raise Syntax("a, ..., b: only for x_1, ..., x_N")
        return ("all", *first[1:3], first[3][0], last[3][0])

    # fractions, derivatives, sums, integrals, limits

    def fraction(self, _):
        r"""\frac{a}{b}, and \frac{d}{dx}"""
        top, bottom = self.argument(), self.argument()
        d = top[0] if top and top[0] in ("d", r"\partial") else None
        subscripted = "_" in (*top[1:2], *bottom[1:2])
        if not d or bottom[:1] != [d] or subscripted:
            return self.scripts(("mul", "/", tree(top), tree(bottom)))
        p, order = Parser(top[1:]), 1
        if p.tok == "^":
            p.next()
            order = int("".join(p.argument()))
        inside = p.toks[p.i : -1]
        body = tree(inside) if inside else self.term(bar=False)
        return derivative(d, order, bottom, body)

    def slope(self, t):
        r"""\nabla f(x), \nabla_x f, \partial_x f"""
        variable = None
        if self.tok == "_":
            self.next()
            variable = tree(self.argument())
        elif t == r"\partial":
            raise Syntax(r"\partial without a variable: write \frac")
        self.skip()
        body = self.factor()
        return ("diff", [variable], body) if variable else ("nabla", body)

    def big(self, t):
        r"""\sum_{n=1}^N and \prod"""
        return self.over(t[1:], *self.limits())

    def limits(self):
        """The tokens below and above."""
        low = high = None
        while self.tok in ("_", "^"):
            if self.next() == "_":
                low = self.argument()
            else:
                high = self.argument()
        return low, high

    def over(self, kind, low, high=None):
        """('over', kind, heads, (sides, relations) or None, top, body)"""
        if not low:
            raise Syntax(f"{kind} without an index")
        sides, relations = chain(low)
        heads, condition = sides[0], None
        if ":" in low:
            cut = low.index(":")
            heads, (sides, relations) = low[:cut], chain(low[cut + 1 :])
        if relations:
            trees = [[tree(x) for x in commas(s)] for s in sides]
            condition = trees, relations
        heads = [tree(h) for h in commas(heads)]
        if any(h[0] != "sym" for h in heads):
            raise Syntax(f"{kind} over what is no name")
        if high and relations != ["="]:
            raise Syntax(f"{kind} up to what? its index starts nowhere")
        top = tree(high) if high else None
        body = self.term(bar=False)
        if kind == "prod":
            closed_product(heads[0], body)
        return ("over", kind, heads, condition, top, body)

    def limit(self, _):
        r"""\lim_{x \to a}"""
        (variable, to), _ = chain(self.limits()[0])
        to = to[:-2] if to[-2:] == ["^", "+"] else to
        return ("lim", tree(variable), tree(to), self.term(bar=False))

    def integral(self, _):
        r"""\int_a^b f\,dx"""
        ends = [x and tree(x) for x in self.limits()]
        self.measures += 1
        self.skip()
        alone = self.tok == "d" and self.variable_follows()
        body = ("num", 1.0) if alone else self.sum()
        self.skip()
        if self.tok != "d":
            raise Syntax("an integral without dx")
        self.next()
        self.measures -= 1
        return ("int", ends, self.symbol(calls=False), body)

    def matrix(self, kind):
        """Block matrices, determinants, cases."""
        if kind not in ("pmatrix", "vmatrix", "cases", "bmatrix"):
            raise Syntax(f"environment {kind}")
        start = self.i
        while self.tok and self.tok[:4] != r"\end":
            self.next()
        rows = [
            [cell for cell, _ in split(row, {"&"})]
            for row, _ in split(self.toks[start : self.i], {ROW})
            if row
        ]
        self.next()
        if kind == "cases":
            cases = [case(*row) for row in rows]
            if not all(relations for *_, relations in cases[:-1]):
                raise Syntax("a case that is told in words only is no case")
            return ("cases", cases)
        node = ("block", [[tree(cell) for cell in row] for row in rows])
        return ("fn", "det", None, [node]) if kind == "vmatrix" else node

    # functions and symbols

    def function(self, name):
        """ln, tr, E and the like, with or without brackets."""
        label, power = [], None
        while self.tok in ("_", "^"):
            if self.next() == "_":
                label = self.argument()
            else:
                power = tree(self.argument())
        if power == MINUS or power and (label or name in MEANS):
            raise Syntax(f"{name} with a power has two readings: use braces")
        if name in ("max", "min") and label:
            return self.over(name, label)
        self.skip()
        if self.tok in OPEN:
            _, _, args, separators = self.bracket(self.next())
            if self.tok == "^":
                raise Syntax(f"{name}(x)^2 has two readings: use braces")
        else:
            args, separators = [self.implied()], ""
        if name in MEANS:
            return ("mean", name, indices(label), args, separators)
        if label:
            raise Syntax(f"the subscript of {name} has no meaning here")
        return ("fn", name, power, args)

    def implied(self):
        """ln 2 pi x: the factors up to a space, a sign or another function."""
        node = None
        while self.starts():
            t = self.tok
            name = t[1:] if t[1:] in FUNCTIONS else word(t)
            if node and (name in FUNCTIONS or t in OPEN):
                break
            new = self.factor()
            new = ("tight", new) if new[0] == "maybe" else new
            node = ("mul", None, node, new) if node else new
            if t in CLOSE or t in BIG:
                break
        if not node:
            end = self.tok or "the end"
            raise Syntax(f"a function without an argument at {end}")
        if self.tok in INFIX and t not in CLOSE and t not in BIG:
            raise Syntax("ln a/b has two readings: use brackets")
        return node

    def symbol(self, calls=True):
        """A name with its scripts, perhaps applied to brackets."""
        name, style = self.name()
        if name == "e" and not style and self.tok == "^":
            self.next()
            power = tree(self.argument())
            return self.scripts(("fn", "exp", None, [power]))
        capital = style == "bf" and not name[0].islower()
        items, primes, powers, tail = self.attached(capital)
        node = ("sym", name + tail, style, items, primes)
        transposed = any("⊤" in p for p in powers)
        if calls and self.tok in ("(", "[") and not transposed:
            group = self.bracket(self.next())
            start = self.i
            call = self.scripts(posted(("call", node, group), powers))
            if any(tree(up) == MINUS for up in powers if up != ["+"]):
                call = ("twice", call)
            self.i = start
            right = self.scripts(group)
            product = ("mul", None, posted(node, powers), right)
            return ("maybe", node, call, product)
        return self.scripts(posted(node, powers))

    def name(self):
        r"""(name with its accents, style); \Delta x is one name."""
        style = tail = ""
        t = self.next()
        while t in STYLES or t in ACCENTS:
            style = STYLES.get(t, style)
            tail += "_" + t[1:] if t in ACCENTS else ""
            t, *rest = self.argument()
            while rest[-1:] == ["}"] and rest[:1] == ["{"]:
                rest = rest[1:-1]
            self.toks[self.i : self.i] = rest
        text, letter = word(t), is_letter(t) or style and t.isdigit()
        if is_prose(t) or not (text or letter):
            raise Syntax(f"{t or 'the end'} is not understood")
        if t == r"\Delta" and (is_letter(self.tok) or self.tok in STYLES):
            inner, style = self.name()
            return f"Delta_{inner}", style
        return (text or t.lstrip("\\")) + tail, style

    def attached(self, capital):
        """(indices, primes, powers, label) that stand at a name."""
        items, primes, powers, tail = [], 0, [], ""
        while self.tok in ("_", "^", "'"):
            mark = self.next()
            if mark == "'":
                primes += 1
                continue
            up = [x for x in self.argument() if x != "SP"]
            if mark == "_" and powers and capital:
                raise Syntax("A^{-1}_{ij} has two readings: (A^{-1})_{ij}")
            if mark == "_":
                items += indices(up)
            elif set(up) == {"'"}:
                primes += len(up)
            elif upper_label(up):
                tail += "_" + upper_label(up)
            elif up[0] == "(" and up[-1] == ")":
                items.append(("up", tree(up[1:-1])))
            else:
                powers.append(up)
        return items, primes, powers, tail

    def scripts(self, node):
        """Powers, indices and factorials behind a factor."""
        while self.tok in ("_", "^", "!"):
            mark = self.next()
            if mark == "!" == self.tok:
                raise Syntax("n!! has two readings")
            if mark == "!":
                node = ("fn", "factorial", None, [node])
            elif mark == "^":
                up = [x for x in self.argument() if x != "SP"]
                node = posted(node, [up])
            else:
                node = ("item", node, indices(self.argument()))
        return node


MINUS = ("neg", ("num", 1.0))
READERS = {
    "{": "braces", r"\frac": "fraction", r"\sqrt": "root", r"\sum": "big",
    r"\prod": "big", r"\int": "integral", r"\lim": "limit",
    r"\nabla": "slope", r"\partial": "slope",
}  # fmt: skip


def derivative(d, order, bottom, body):
    """The node of a derivative: its variables, one for each order."""
    variables, p = [], Parser(bottom)
    while p.skip() and p.tok:
        if p.next() != d:
            raise Syntax("a derivative is not understood")
        node, times = p.symbol(calls=False), 1
        if node[0] == "pow":
            node, times = node[1], int(node[2][1])
        variables += [node] * times
    if order == 1 and variables == [variables[0]] * 2:  # d / d sigma^2
        twice = ("mul", None, ("num", 2.0), variables[0])
        return ("mul", "/", ("diff", variables[:1], body), twice)
    if len(variables) != order:
        raise Syntax("the orders of the derivative differ")
    return ("diff", variables, body)


def case(value, condition):
    """(value, sides, relations) of one row of cases."""
    sides, relations = chain([t for t in condition if not is_prose(t)])
    return tree(value), [tree(s) for s in sides if relations], relations


def closed_product(head, body):
    """Every factor of a product carries its index, or stands in braces."""
    if not all(carries(f, head[1]) for f in factors(body)):
        raise Syntax("the scope of a product has two readings: use braces")


def factors(node):
    """The factors of a product without its slashes."""
    if node[0] == "mul" and node[1] != "/":
        return factors(node[2]) + factors(node[3])
    return [node]


def carries(node, letter):
    """Whether a letter occurs, not bound by an inner sum."""
    if not isinstance(node, list | tuple):
        return False
    if node[:1] == ("over",) and letter in [h[1] for h in node[2]]:
        return False
    if node[:2] == ("sym", letter) and not node[3]:
        return True
    return any(carries(x, letter) for x in node)


def posted(node, ups):
    """A node with its superscripts."""
    for up in ups:
        if "⊤" in up:
            inverse = ("pow", node, ("num", -1.0))
            node = ("T", inverse if up[0] == "-" else node)
        elif up == ["+"]:
            node = ("pinv", node)
        else:
            power = tree(up)
            if power == MINUS:
                power = ("num", -1.0)
            node = ("pow", node, power)
    return node


def upper_label(up):
    r"""'new' of ^{\text{new}}, 'star' of ^*: a name, not a power."""
    inner = up[1:-1] if up[:1] == ["("] and up[-1:] == [")"] else up
    if len(inner) == 1 and word(inner[0]):
        return word(inner[0])
    return UPPER_LABELS.get("".join(up))


def indices(toks):
    """The items of a subscript: nodes, or ('label', text)."""
    toks, out = [t for t in toks if t != "SP"], []
    if toks[:1] == ["-"]:
        return [("label", "minus"), *indices(toks[1:])]
    for part in commas(toks):
        if RELATIONS.intersection(part):
            out.append(("label", "".join(part)))
        elif "+" in part or "-" in part:
            out.append(tree(part))
        else:
            out += side_by_side(Parser(part))
    return out


def side_by_side(p):
    """The items of a subscript such as 0j."""
    out = []
    while p.tok:
        if word(p.tok):
            out.append(("label", word(p.next())))
        elif p.tok.isdigit():
            out.append(("num", float(p.next())))
        elif p.tok in UPPER_LABELS:
            out.append(("label", UPPER_LABELS[p.next()]))
        else:
            out.append(p.symbol(calls=False))
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
