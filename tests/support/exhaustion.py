"""Units of the hardware with every one of their inputs, in Verilator."""

import subprocess

import numpy as np

from rbdhw.rtl.verilog import to_verilog
from rbdhw.verilator.simulator import Harness, make_simulator

CODE = """
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "Vtop.h"
int main(int, char** arguments) {
    const int64_t first = atoll(arguments[1]), last = atoll(arguments[2]), latency = atoll(arguments[3]);
    Vtop top;
    std::vector<int64_t> results;
    FILE* file = fopen(arguments[4], "wb");
    %(settings)s
    for (int64_t k = first; k < last + latency; ++k) {
        top.clk = 0, top.%(input)s = k & %(mask)s;
        top.eval();
        if (k - first >= latency) {
            %(pushes)s
            if (results.size() > 1 << 16)
                fwrite(results.data(), 8, results.size(), file), results.clear();
        }
        top.clk = 1;
        top.eval();
    }
    fwrite(results.data(), 8, results.size(), file);
    return fclose(file);
}
"""


class Exhaustion:
    """A unit that takes a number every cycle and gives results ``unit.latency`` cycles later."""

    def __init__(self, unit, name, outputs, folder, **settings):
        self._unit, self._outputs, self._folder = unit, outputs, folder
        masks = {port: (1 << len(getattr(unit, port))) - 1 for port in (name, *settings)}
        parts = {
            "input": name,
            "mask": f"{masks[name]}ll",
            "settings": " ".join(f"top.{port} = {value & masks[port]};" for port, value in settings.items()),
            "pushes": " ".join(f"results.push_back(top.{port});" for port in outputs),
        }
        (folder / "accelerator.v").write_text(to_verilog(unit))
        self._simulator = make_simulator(folder, folder, Harness({"main.cpp": (CODE % parts).encode()}))

    def results(self, first, last):
        """Return the outputs, as signed integers, for the numbers from the first to the last but one."""
        path = self._folder / "results"
        arguments = [str(number) for number in (first, last, self._unit.latency)]
        subprocess.run([self._simulator, *arguments, str(path)], check=True)
        columns = np.fromfile(path, np.int64).reshape(-1, len(self._outputs)).T
        for port, column in zip(self._outputs, columns, strict=True):
            missing = 64 - len(getattr(self._unit, port))
            yield column << missing >> missing
