"""Mutations of SystemVerilog as text: finds the candidates of a file and writes a copy of it in which each drawn one is
selected at run time by its number.

A *site* is an expression that may be exchanged for another of the same width: the right side of an assignment, a
condition, a returned value, an expression at a port. A mutation exchanges it for
`(tessera_mutant_pkg::selected == N ? (changed) : (original))`, so that one Verilated copy holds all mutations and
number 0 is the design. Constant expressions (parameters, widths, ranges, generate conditions) are no sites: they
belong to the shape. Nor are zeros of the reset branch: a register of the data path is cleared only by habit, and loaded
before it is read. Lines stay where they are.
"""
import bisect
import re

KINDS = ["constant", "operator", "condition", "register stage", "arbitration order"]
SELECTED = "tessera_mutant_pkg::selected"

# Where an order between requesters is decided: any mutation of these signals is one of arbitration, and a loop that
# assigns one of them also has a direction. The first requester, the rotation, who is served, who is behind whom.
ARBITRATION = {
    "tessera_cp.sv": {"any_raise", "chosen", "unit", "raise", "chosen_next", "fetch_first_q", "fault_found", "cause",
                      "fault_unit"},
    "tessera_sram_arbiter.sv": {"first_q", "first_d", "port", "following", "after_first_request", "any_request",
                                "any_refused", "taken", "gnt_o"},
    "tessera_rigid_ports.sv": {"sub_of", "last_sub", "now_o", "sub_q"},
}

OPERATORS = {"+": "-", "-": "+", "*": "+", "<<": ">>", ">>": "<<", ">>>": "<<", "&&": "||", "||": "&&", "&": "|",
             "|": "&", "^": "|", "%": "+"}
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
TOKEN = re.compile(r"(?P<sized>\d+'s?[dhb][0-9a-fA-F_]+)|(?P<fill>'[01])|(?P<number>\b\d+\b)|(?P<word>[A-Za-z_]\w*)"
                   r"|(?P<operator>>>>|<<|>>|&&|\|\||<=|>=|==|!=|\|->|\|=>|[-+*&|^%<>!])|(?P<other>\S)")
WORDS = re.compile(r"[A-Za-z_$][\w$]*")
ASSIGNS = re.compile(r"<=|[-+|&^]?=(?!=)")
ZERO = re.compile(r"\s*('0|\d+'[dhb]0)\s*$")
DECLARATION = re.compile(r"\s*(?:localparam\b|automatic\b|(?:int|logic|bit)\b"
                         r"|[a-z]\w*(?:::\w+)?\s*(?:\[[^]]*\]\s*)*\s[a-z]\w*\s*[;,=])")


def masked(text):
    """The text with comments and strings blanked, position for position."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", blank, text, flags=re.DOTALL)


class Site:
    """text[begin:end] may be exchanged. `role`: value, condition or port; `statement`: its place, if it is assigned."""

    def __init__(self, begin, end, role, target="", register=False, reset=False, loops=(), statement=None):
        self.begin, self.end, self.role, self.target = begin, end, role, target
        self.register, self.reset, self.loops, self.statement = register, reset, loops, statement


class Scanner:
    """Finds the sites of a file: a parser of statements, not of expressions."""

    def __init__(self, text):
        self.text = text
        self.sites = []
        self.loops = []  # (begin of the body, end, variable, bound, targets assigned in it)

    def scan(self):
        for match in re.finditer(r"\balways_(comb|ff)\b|\bassign\b|\bfunction\b|\.\w+\s*\(", self.text):
            word = match.group(0)
            if word == "always_ff":
                self.block = match.start()
                self.statement(self.closing(self.text.index("(", match.end())) + 1, True, False, ())
            elif word == "always_comb":
                self.statement(match.end(), False, False, ())
            elif word == "assign":
                self.statement(match.end(), False, False, ())
            elif word == "function":
                self.function(match.end())
            elif word.startswith("."):
                self.port(match)
        return self

    def closing(self, opening):
        """Place of the bracket that closes the one at `opening`."""
        depth = 0
        for i in range(opening, len(self.text)):
            if self.text[i] in "([{":
                depth += 1
            elif self.text[i] in ")]}":
                depth -= 1
                if depth == 0:
                    return i
        raise ValueError("bracket is not closed")

    def until(self, at, stop):
        """First place from `at` on outside brackets that holds one of the characters."""
        while self.text[at] not in stop:
            at = self.closing(at) + 1 if self.text[at] in "([{" else at + 1
        return at

    def word(self, at):
        at = self.skip(at)
        match = WORDS.match(self.text, at)
        return (match.group(0), match.end()) if match else ("", at)

    def skip(self, at):
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def function(self, at):
        at = self.until(at, ";") + 1
        while self.word(at)[0] != "endfunction":
            at = self.statement(at, False, False, ())

    def statement(self, at, register, reset, loops):
        """Reads one statement; returns the place behind it."""
        word, behind = self.word(at)
        if word == "begin":
            at = self.label(behind)
            while self.word(at)[0] != "end":
                at = self.statement(at, register, reset, loops)
            return self.word(at)[1]
        if word == "if":
            return self.condition(behind, register, reset, loops)
        if word == "for":
            return self.loop(behind, register, reset, loops)
        if word in ("unique", "priority"):
            return self.statement(behind, register, reset, loops)
        if word == "case":
            return self.cases(behind, register, reset, loops)
        end = self.until(at, ";")
        if word == "return":
            self.sites.append(Site(self.skip(behind), end, "value", loops=loops))
        elif not DECLARATION.match(self.text, at, end + 1):
            self.assignment(self.skip(at), end, register, reset, loops)
        return end + 1

    def label(self, at):
        at = self.skip(at)
        return self.word(at + 1)[1] if self.text[at] == ":" else at

    def condition(self, at, register, reset, loops):
        opening = self.text.index("(", at)
        closing = self.closing(opening)
        is_reset = register and self.text[opening + 1:closing].strip() == "!rst_ni"
        if not is_reset:
            self.sites.append(Site(opening + 1, closing, "condition", register=register, loops=loops))
        end = self.statement(closing + 1, register, reset or is_reset, loops)
        word, behind = self.word(end)
        return self.statement(behind, register, reset, loops) if word == "else" else end

    def loop(self, at, register, reset, loops):
        opening = self.text.index("(", at)
        closing = self.closing(opening)
        header = re.match(r"\(\s*int unsigned (\w+) = 0; \1 < (\w+); \1\+\+$", self.text[opening:closing])
        first = len(self.sites)
        end = self.statement(closing + 1, register, reset, loops + (opening,))
        if header:
            targets = {site.target for site in self.sites[first:]}
            self.loops.append((closing + 1, end, header.group(1), header.group(2), targets))
        return end

    def cases(self, at, register, reset, loops):
        at = self.closing(self.text.index("(", at)) + 1
        while self.word(at)[0] != "endcase":
            at = self.statement(self.until(at, ":") + 1, register, reset, loops)
        return self.word(at)[1]

    def assignment(self, at, end, register, reset, loops):
        i = at
        while i < end:
            match = ASSIGNS.match(self.text, i)
            if match:
                break
            i = self.closing(i) + 1 if self.text[i] in "([{" else i + 1
        else:
            return
        value = self.skip(match.end())
        target = re.match(r"\w*", self.text[at:end]).group(0)
        statement = (at, end + 1, self.text[at:i].strip())
        self.values(value, end, Site(value, end, "value", target, register, reset, loops, statement))

    def values(self, begin, end, site):
        """An assignment pattern has a site a member."""
        if not self.text.startswith("'{", begin):
            self.sites.append(site)
            return
        at = begin + 2
        last = self.closing(begin + 1)
        while at < last:
            comma = min(self.until(at, ",}"), last)
            colon = self.until(at, ":,}")
            start = self.skip(colon + 1 if colon < comma else at)
            self.values(start, comma, Site(start, comma, "member", site.target, site.register, site.reset, site.loops))
            at = comma + 1

    def port(self, match):
        end = self.closing(match.end() - 1)
        value = self.text[match.end():end]
        name = match.group(0)[1:-1].strip()
        # Parameters have names in CamelCase; an output has no operator.
        if name.endswith("_i") and re.search(r"&&|\|\||[=!]=|!|\?", value):
            self.sites.append(Site(match.end(), end, "port"))


class Mutation:
    """One candidate: the site's text becomes `changed`; other kinds of edits are in `edits` (place, end, text)."""

    def __init__(self, kind, site, original, changed, at, edits=None):
        self.kind, self.site, self.at, self.edits = kind, site, at, edits
        self.original, self.changed = original, changed
        self.file, self.line, self.number = None, 0, 0

    def span(self):
        if self.edits:
            return (min(e[0] for e in self.edits(0)), max(e[1] for e in self.edits(0)))
        return (self.site.begin, self.site.end)


def brackets_of(text):
    """Spans inside [...], the widths of casts, and replications: constant expressions or places."""
    spans, stack = [], []
    for i, character in enumerate(text):
        if character in "([{":
            stack.append(i)
        elif character in ")]}" and stack:
            opening = stack.pop()
            if character == "]" or text[i + 1:i + 2] == "'":
                spans.append((opening, i))
    return spans


def is_binary(text, at):
    before = text[:at].rstrip()
    return bool(before) and (before[-1].isalnum() or before[-1] in "_)]}'")


def token_changes(text, site):
    """(kind, place in text, length, new text) of every token that has another."""
    fixed = brackets_of(text)
    for token in TOKEN.finditer(text):
        at, end, found = token.start(), token.end(), token.group(0)
        if any(a <= at <= b for a, b in fixed) or text[end:end + 1] == "'" or re.match(r"\s*\{", text[end:]):
            continue
        if token.lastgroup == "operator" and is_binary(text, at):
            if found in RELATIONS:
                yield "condition", at, end, RELATIONS[found]
            elif found in OPERATORS:
                yield "condition" if site.role == "condition" else "operator", at, end, OPERATORS[found]
        elif found == "!":
            yield "condition", at, end, " "
        elif token.lastgroup == "sized":
            yield from sized_changes(found, at, end)
        elif token.lastgroup == "fill":
            yield "constant", at, end, "'1" if found == "'0" else "'0"
        elif token.lastgroup == "number":
            yield "constant", at, end, str(int(found) + 1)
        elif re.match(r"[A-Z][a-z]\w*$", found) and not re.match(r"\s*(::|\(|\[)", text[end:]):
            yield "constant", at, end, f"({found} + 1)"


def sized_changes(found, at, end):
    width, sign, base, digits = re.match(r"(\d+)'(s?)([dhb])(.*)", found).groups()
    value = int(digits.replace("_", ""), {"d": 10, "h": 16, "b": 2}[base])
    for changed in sorted({(value + 1) % 2 ** int(width), (value - 1) % 2 ** int(width)}):
        yield "constant", at, end, f"{width}'{sign}d{changed}"


def short(text):
    return re.sub(r"\s+", " ", text).strip()


def site_mutations(text, site, names):
    expression = text[site.begin:site.end]
    for kind, at, end, new in token_changes(expression, site):
        changed = expression[:at] + new + expression[end:]
        if not site.reset or (kind == "constant" and not ZERO.match(expression)):
            yield Mutation(kind, site, expression, changed, site.begin + at)
    if site.role == "condition":
        yield Mutation("condition", site, expression, f"!({expression})", site.begin)
        if site.register:
            yield Mutation("register stage", site, expression, "1'b1", site.begin)
    if site.role == "value" and not site.register:
        for use in re.finditer(r"\b(\w+)_q\b", expression):
            if use.group(1) + "_d" in names and not site.target.endswith("_d"):
                changed = expression[:use.start()] + use.group(1) + "_d" + expression[use.end():]
                yield Mutation("register stage", site, expression, changed, site.begin + use.start())


def register_mutations(text, site):
    """The register keeps its value; it loads what it should have loaded the time before."""
    begin, end, target = site.statement
    expression = text[site.begin:site.end]
    yield Mutation("register stage", site, expression, target, site.begin)
    if site.loops or not re.search(r"\b[a-z]", expression.replace("'d", "'").replace("'b", "'")):
        return
    block = text.rindex("always_ff", 0, begin)

    def late(number):
        name = f"mutant_{number}_q"
        return [(block, block, f"logic [$bits({target})-1:0] {name}; "),
                (begin, begin, f"begin {name} <= {short(expression)}; "),
                (site.begin, site.end, f"({SELECTED} == 32'd{number} ? {name} : ({expression}))"),
                (end, end, " end")]
    yield Mutation("register stage", site, expression, f"$past({short(expression)})", site.begin, late)


def loop_mutations(text, scanner, orders):
    for begin, end, variable, bound, targets in scanner.loops:
        if not targets & orders or not re.search(rf"\b{variable}\b", text[begin:end]):
            continue

        def backwards(number, begin=begin, end=end, variable=variable, bound=bound):
            return [(begin + use.start(), begin + use.end(),
                     f"({SELECTED} == 32'd{number} ? 32'({bound}) - 32'd1 - {variable} : {variable})")
                    for use in re.finditer(rf"\b{variable}\b", text[begin:end])]
        yield Mutation("arbitration order", None, f"for {variable} from 0 to {bound} - 1",
                       f"for {variable} from {bound} - 1 to 0", begin, backwards)


def candidates(path):
    """Every mutation of the file."""
    source = path.read_text(encoding="utf-8")
    text = masked(source)
    scanner = Scanner(text).scan()
    names = set(re.findall(r"\b\w+_d\b", text))
    orders = ARBITRATION.get(path.name, set())
    found = []
    for site in scanner.sites:
        mutations = list(site_mutations(text, site, names))
        if site.register and not site.reset and site.role == "value":
            mutations += register_mutations(text, site)
        for mutation in mutations:
            if site.target in orders:
                mutation.kind = "arbitration order"
        found += mutations
    found += loop_mutations(text, scanner, orders)
    lines = [match.start() for match in re.finditer("\n", source)]
    for mutation in found:
        mutation.file, mutation.line = path.name, bisect.bisect_left(lines, mutation.at) + 1
        if mutation.site is not None:
            mutation.original, mutation.changed = difference(mutation)
    return found


def difference(mutation):
    """What the table shows: original and changed text of the site, with what it is assigned to."""
    head = f"{mutation.site.statement[2]} = " if mutation.site.statement else ""
    mutation.text = mutation.changed
    return short(head + mutation.original), short(head + mutation.changed)


def mutated(path, mutations):
    """The file with all these mutations in it; their spans are equal or disjoint."""
    source = path.read_text(encoding="utf-8")
    text = masked(source)
    edits, sites = [], {}
    for mutation in mutations:
        if mutation.edits:
            edits += mutation.edits(mutation.number)
        else:
            sites.setdefault(mutation.span(), []).append(mutation)
    for (begin, end), drawn in sites.items():
        changed = "".join(f"{SELECTED} == 32'd{m.number} ? ({short(m.text)}) : " for m in drawn)
        edits.append((begin, end, f"({changed}({text[begin:end]}))"))
    for begin, end, new in sorted(edits, key=lambda e: (e[0], e[1]), reverse=True):
        source = source[:begin] + new + source[end:]
    return source


def overlap(a, b):
    """Two mutations cannot be in one copy: their texts are neither equal places nor disjoint."""
    if a.file != b.file or (a.span() == b.span() and not a.edits and not b.edits):
        return False
    return a.span()[0] < b.span()[1] and b.span()[0] < a.span()[1]
