// A host at the pins of a serial port, eight data bits and one stop bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "Vtop.h"
#include "ports.h"  // CLOCK, RX, TX, and DIVISOR, the cycles of a bit

constexpr int BITS = 10;
constexpr std::uint64_t PERIOD = 20'000;  // picoseconds

class Pins {
public:
    std::uint64_t time = 0, wire[2] = {};
    std::deque<unsigned char> received;

    std::size_t send(const unsigned char* bytes, std::size_t size) {
        waiting.insert(waiting.end(), bytes, bytes + size);
        return size;
    }

    // Pass a clock cycle.
    void step(Vtop& top) {
        top.CLOCK = 0;
        top.RX = give();
        top.eval();
        top.CLOCK = 1;
        top.eval();
        take(top.TX);
        time += PERIOD;
    }

private:
    bool give() {
        if (!left && !waiting.empty()) {
            shift = waiting.front() << 1 | 1 << (BITS - 1);
            waiting.pop_front();
            left = BITS * DIVISOR;
            ++wire[0];
        }
        if (!left) return true;
        const int bit = BITS - (left-- + DIVISOR - 1) / DIVISOR;
        return shift >> bit & 1;
    }

    void take(bool level) {
        if (phase < 0) {
            if (!level) phase = 0;
            return;
        }
        if (++phase % DIVISOR != DIVISOR / 2) return;
        const int bit = phase / DIVISOR;
        word = (bit ? word : 0) | level << bit;
        if (bit < BITS - 1) return;
        ++wire[1];
        if (level) received.push_back(static_cast<unsigned char>(word >> 1));
        phase = -1;
    }

    std::deque<unsigned char> waiting;
    int left = 0, shift = 0, phase = -1, word = 0;
};
