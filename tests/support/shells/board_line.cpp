// A line to the pins of a Verilated board. Time is the board's, which passes only while the driver waits.

#include <cstddef>
#include <cstdint>

#include "Vtop.h"
#include "verilated.h"
extern "C" {
#include "frames.h"
}
#include "pins.h"  // Pins, the host at the pins

namespace {

constexpr std::uint64_t NANOSECOND = 1000;

struct Board {
    VerilatedContext context;
    Vtop top{&context};
    Pins pins;
    rbdhw_frames frames;
};

Board& at(void* self) { return *static_cast<Board*>(self); }

int open(void*) { return RBDHW_OK; }

void close(void*) {}

int read(void* self, unsigned char* bytes, std::size_t room, std::size_t* count, std::uint64_t wait) {
    auto& [context, top, pins, frames] = at(self);
    const std::uint64_t end = pins.time + wait * NANOSECOND;
    while (pins.received.empty() && pins.time < end) pins.step(top);
    for (*count = 0; *count < room && !pins.received.empty(); pins.received.pop_front())
        bytes[(*count)++] = pins.received.front();
    return RBDHW_OK;
}

int write(void* self, const unsigned char* bytes, std::size_t size, std::size_t* count) {
    *count = at(self).pins.send(bytes, size);
    return RBDHW_OK;
}

}  // namespace

extern "C" {

void* board_new() { return new Board; }

void board_delete(void* self) { delete &at(self); }

// `make` is rbdhw_frames_transport of the driver.
void board_transport(void* self, struct rbdhw_transport* made, decltype(rbdhw_frames_transport)* make,
                     const struct rbdhw_design* design) {
    make(&at(self).frames, made, design, {open, close, read, write, self});
}

std::uint64_t board_clock(void* self) { return at(self).pins.time / NANOSECOND; }

// The bytes that the wire took to the board, or from it.
std::uint64_t board_bytes(void* self, int from) { return at(self).pins.wire[from]; }
}
