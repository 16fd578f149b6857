"""The modules of a Verilog text, and what all instances of them contain."""

import re
from functools import cache


def modules(verilog: str) -> dict[str, str]:
    """Return the text of every module by its name, with one line per statement, without comments."""
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", "", verilog)
    texts = re.findall(r"^module \w+ .*?^endmodule$", plain, re.DOTALL | re.MULTILINE)
    return {text.split()[1]: re.sub(r"\s*\n\s+", " ", text) for text in texts}


def count(verilog: str, pattern: str, top: str = "accelerator", without: str = "_ecp5") -> int:
    """Return how often a pattern is in all instances of a design; modules with ``without`` are left out."""
    texts = modules(verilog)

    @cache
    def inside(name: str) -> int:
        instances = re.findall(r"(\w+) \w+ \( ?\.", texts[name])
        parts = [part for part in instances if part in texts and without not in part]
        return len(re.findall(pattern, texts[name])) + sum(map(inside, parts))

    return inside(top)
