// Sends packets one at a time, each at every phase of an interval, and prints their latencies.
//
//   accelerator REQUESTS INTERVAL
//
// REQUESTS holds a record for each beat: TDATA, lowest byte first, then one byte that is TLAST. Each packet is
// sent INTERVAL + 1 times, without a pause between its beats, when the one before is answered and the number
// of the cycle has the right remainder. Neither side pauses. A line of the output has the latencies of a
// packet: cycles from the one that takes its first beat to the one that takes its answer's last.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

using Data = std::remove_reference_t<decltype(Vtop::s_axis_tdata)>;
constexpr std::size_t BEAT_BYTES = sizeof(Data);
constexpr std::size_t RECORD = BEAT_BYTES + 1;
constexpr std::int64_t PATIENCE = 10000;

VerilatedContext context;
Vtop top(&context);
std::int64_t cycle = 0;

void rise() {
    top.clk = 1;
    top.eval();
    top.clk = 0;
    top.eval();
    ++cycle;
}

void offer(const char* beat) {
    top.s_axis_tvalid = beat != nullptr;
    if (beat) {
        std::memcpy(&top.s_axis_tdata, beat, BEAT_BYTES);
        top.s_axis_tlast = beat[BEAT_BYTES] != 0;
    }
    top.eval();
}

std::int64_t latency(const char* beat, const char* end) {
    std::int64_t first = -1;
    for (const std::int64_t begin = cycle; cycle < begin + PATIENCE; rise()) {
        offer(beat < end ? beat : nullptr);
        if (top.s_axis_tvalid && top.s_axis_tready) {
            if (first < 0) first = cycle;
            beat += RECORD;
        }
        if (top.m_axis_tvalid && top.m_axis_tlast) {
            const std::int64_t found = cycle - first;
            rise();
            return found;
        }
    }
    std::cerr << "no answer" << std::endl;
    std::exit(EXIT_FAILURE);
}

int main(int, char** arguments) {
    std::ifstream file(arguments[1], std::ios::binary);
    const std::vector<char> beats{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::int64_t interval = std::stoll(arguments[2]);
    top.m_axis_tready = 1;
    top.rst = 1;
    offer(nullptr);
    for (int k = 0; k < 4; ++k) rise();
    top.rst = 0;
    const char* beat = beats.data();
    while (beat < beats.data() + beats.size()) {
        const char* end = beat;
        do end += RECORD;
        while (!end[-1]);
        for (std::int64_t k = 0; k <= interval; ++k) {
            while (cycle % interval != k % interval) rise();
            std::cout << latency(beat, end) << " ";
        }
        std::cout << std::endl;
        beat = end;
    }
    top.final();
    return EXIT_SUCCESS;
}
