// The transport to a Verilated accelerator with registers. Time is that of its clock, which runs only while the driver
// waits.

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <vector>

#include "Vtop.h"
#include "ports.h"  // REQUESTS and ANSWERS, the ports of the first pair of streams; CLOCK, RESET and CORE_CLOCK
#include "rbdhw_simulated.h"
#include "verilated.h"

namespace {

constexpr std::size_t BEAT = sizeof(Vtop::REQUESTS(tdata));
constexpr int RESET_CYCLES = 32;
constexpr int ACCESS_CYCLES = 1000;  // within which every access to a register ends
constexpr std::size_t MOST_WAITING = 1 << 20;  // bytes that the link takes ahead of the accelerator

using Packet = std::vector<unsigned char>;

class Accelerator {
public:
    Accelerator(double period_ns, std::int64_t patience) : period(period_ns), most_quiet(patience) { reset(); }
    ~Accelerator() { top.final(); }

    void reset() {
        requests.clear();
        answers.clear();
        partial.clear();
        waiting = sent = 0;
        top.REQUESTS(tvalid) = 0;
        top.ANSWERS(tready) = 1;
        top.s_axi_arvalid = top.s_axi_awvalid = top.s_axi_wvalid = 0;
        top.s_axi_rready = top.s_axi_bready = 1;
        top.RESET = 1;
        for (int k = 0; k < RESET_CYCLES; ++k) {
            edge(0);
            edge(1);
        }
        top.RESET = 0;
    }

    int read(std::uint32_t address, std::uint32_t* value) {
        top.s_axi_araddr = address;
        top.s_axi_arvalid = 1;
        for (int k = 0; k < ACCESS_CYCLES; ++k) {
            step();
            if (!was_read) continue;
            *value = word;
            return RBDHW_OK;
        }
        return RBDHW_TIMEOUT;
    }

    int write(std::uint32_t address, std::uint32_t value) {
        top.s_axi_awaddr = address;
        top.s_axi_wdata = value;
        top.s_axi_wstrb = 0xF;
        top.s_axi_awvalid = top.s_axi_wvalid = 1;
        for (int k = 0; k < ACCESS_CYCLES; ++k) {
            step();
            if (was_written) return RBDHW_OK;
        }
        return RBDHW_TIMEOUT;
    }

    bool send(const unsigned char* bytes, std::size_t count) {
        if (waiting + count > MOST_WAITING) return false;
        waiting += count;
        requests.emplace_back(bytes, bytes + count);
        return true;
    }

    // Run until an answer is complete, or time is up. Where nothing moves for long, the rest of the time is skipped.
    bool receive(std::uint64_t wait_ns, Packet& answer) {
        const double end = time + static_cast<double>(wait_ns);
        for (std::int64_t quiet = 0; answers.empty() && time < end; ++quiet) {
            if (quiet > most_quiet) time = end;
            if (step()) quiet = 0;
        }
        if (answers.empty()) return false;
        answer = std::move(answers.front());
        answers.pop_front();
        return true;
    }

    std::uint64_t nanoseconds() const { return static_cast<std::uint64_t>(time); }

private:
    void edge(bool level) {
        top.CLOCK = level;
#ifdef CORE_CLOCK
        top.CORE_CLOCK = level;
#endif
        top.eval();
    }

    // Look at the registers' port before the rising edge, and end after it what was taken.
    void pass_registers() {
        was_read = top.s_axi_rvalid;
        was_written = top.s_axi_bvalid;
        word = top.s_axi_rdata;
        const bool address = top.s_axi_arready, target = top.s_axi_awready, data = top.s_axi_wready;
        edge(1);
        if (address) top.s_axi_arvalid = 0;
        if (target) top.s_axi_awvalid = 0;
        if (data) top.s_axi_wvalid = 0;
    }

    // Pass a cycle; return whether a beat moved.
    bool step() {
        const bool offering = !requests.empty();
        top.REQUESTS(tvalid) = offering;
        if (offering) {
            std::memcpy(&top.REQUESTS(tdata), requests.front().data() + sent, BEAT);
            top.REQUESTS(tlast) = sent + BEAT >= requests.front().size();
        }
        edge(0);
        const bool taken = offering && top.REQUESTS(tready), given = top.ANSWERS(tvalid);
        if (given) take();
        pass_registers();
        time += period;
        if (taken) advance();
        return taken || given;
    }

    void take() {
        const auto* beat = reinterpret_cast<const unsigned char*>(&top.ANSWERS(tdata));
        partial.insert(partial.end(), beat, beat + BEAT);
        if (!top.ANSWERS(tlast)) return;
        answers.push_back(std::move(partial));
        partial.clear();
    }

    void advance() {
        sent += BEAT;
        if (sent < requests.front().size()) return;
        waiting -= requests.front().size();
        requests.pop_front();
        sent = 0;
    }

    VerilatedContext context;
    Vtop top{&context};
    const double period;
    const std::int64_t most_quiet;
    double time = 0;
    std::deque<Packet> requests, answers;
    Packet partial;
    std::size_t waiting = 0, sent = 0;
    bool was_read = false, was_written = false;
    std::uint32_t word = 0;
};

Accelerator& at(void* self) { return *static_cast<Accelerator*>(self); }

int open(void*) { return RBDHW_OK; }

void close(void*) {}

int read(void* self, std::uint32_t address, std::uint32_t* value) { return at(self).read(address, value); }

int write(void* self, std::uint32_t address, std::uint32_t value) { return at(self).write(address, value); }

int send(void* self, const unsigned char* packet, std::size_t bytes) {
    return at(self).send(packet, bytes) ? RBDHW_OK : RBDHW_BUSY;
}

int receive(void* self, unsigned char* packet, std::size_t room, std::size_t* bytes, std::uint64_t wait) {
    Packet answer;
    if (!at(self).receive(wait, answer)) return RBDHW_TIMEOUT;
    *bytes = answer.size() < room ? answer.size() : room;
    std::memcpy(packet, answer.data(), *bytes);
    return RBDHW_OK;
}

}  // namespace

extern "C" {

void* rbdhw_simulated_new(double period_ns, std::int64_t patience) {
    return new (std::nothrow) Accelerator(period_ns, patience);
}

void rbdhw_simulated_delete(void* self) { delete static_cast<Accelerator*>(self); }

void rbdhw_simulated_transport(void* self, struct rbdhw_transport* made) {
    *made = {open, close, read, write, send, receive, self, 0, 0};
}

void rbdhw_simulated_reset(void* self) { at(self).reset(); }

std::uint64_t rbdhw_simulated_clock(void* self) { return at(self).nanoseconds(); }
}
