// The bulk bench: puts request beats into the accelerator and takes what comes out, as bench.py does, in C++.
//
//   accelerator REQUESTS RESPONSES SENT BUBBLES BACK_PRESSURE SEED PATIENCE SURPLUS
//
// REQUESTS holds a record for each beat to send: TDATA, lowest byte first, then one byte that is TLAST.
// RESPONSES gets the same for each beat that came out, followed by the cycle in which it was taken; SENT gets
// the cycle in which each request beat went in. Cycles are 64-bit integers. On the standard output stands the
// number of cycles in which an offered beat had changed before it was taken.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

constexpr int RESET_CYCLES = 4;
constexpr std::int64_t LINGER_CYCLES = 64;  // to wait, after all responses, for one too many

using Data = std::remove_reference_t<decltype(Vtop::s_axis_tdata)>;
constexpr std::size_t BEAT_BYTES = sizeof(Data);  // TDATA is a power of two of 32-bit words: no padding
constexpr std::size_t REQUEST_BYTES = BEAT_BYTES + 1;

struct Traffic {
    double bubbles;        // probability, in a cycle, that a beat that could be sent is held back
    double back_pressure;  // probability, in a cycle, that the receiver is not ready
    std::uint64_t seed;
    std::int64_t patience;  // cycles without a transfer after which the accelerator is taken for dead
    std::int64_t surplus;   // answers beyond one for each request
};

struct Record {
    std::vector<std::int64_t> sent;
    std::vector<char> responses;
    std::uint64_t violations = 0;
};

struct Beat {
    char data[BEAT_BYTES] = {};
    bool last = false;

    bool operator!=(const Beat& other) const {
        return last != other.last || std::memcmp(data, other.data, BEAT_BYTES) != 0;
    }
};

// Random decisions, the same on every machine.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine(seed) {}

    bool hit(double probability) { return static_cast<double>(engine() >> 11) * 0x1p-53 < probability; }

private:
    std::mt19937_64 engine;
};

// The model with its clock. Outputs are those that the rising edge sees.
class Accelerator {
public:
    Accelerator() : top(std::make_unique<Vtop>(&context)) {
        top->s_axis_tvalid = 0;
        top->m_axis_tready = 0;
        top->rst = 1;
        for (int cycle = 0; cycle < RESET_CYCLES; ++cycle) {
            settle();
            rise();
        }
        top->rst = 0;
    }

    ~Accelerator() { top->final(); }

    void settle() {
        top->clk = 0;
        top->eval();
    }

    void rise() {
        top->clk = 1;
        top->eval();
    }

    bool accepts() const { return top->s_axis_tready; }
    bool offers() const { return top->m_axis_tvalid; }

    Beat offered() const {
        Beat beat;
        std::memcpy(beat.data, &top->m_axis_tdata, BEAT_BYTES);
        beat.last = top->m_axis_tlast;
        return beat;
    }

    void send(const char* request) {
        top->s_axis_tvalid = 1;
        std::memcpy(&top->s_axis_tdata, request, BEAT_BYTES);
        top->s_axis_tlast = request[BEAT_BYTES] != 0;
    }

    void pause() { top->s_axis_tvalid = 0; }
    void receive(bool ready) { top->m_axis_tready = ready; }

private:
    VerilatedContext context;
    std::unique_ptr<Vtop> top;
};

void append(std::vector<char>& bytes, const Beat& beat, std::int64_t cycle) {
    bytes.insert(bytes.end(), beat.data, beat.data + BEAT_BYTES);
    bytes.push_back(static_cast<char>(beat.last));
    const char* raw = reinterpret_cast<const char*>(&cycle);
    bytes.insert(bytes.end(), raw, raw + sizeof cycle);
}

// What came out in a cycle, held against what waited before.
class Receiver {
public:
    explicit Receiver(Record& to) : record(to) {}

    // Whether a beat was taken.
    bool look(const Accelerator& accelerator, bool ready, std::int64_t cycle) {
        if (!accelerator.offers()) {
            record.violations += waits;
            waits = false;
            return false;
        }
        const Beat beat = accelerator.offered();
        record.violations += waits && waiting != beat;
        waits = !ready;
        waiting = beat;
        if (ready) {
            append(record.responses, beat, cycle);
            answered += beat.last;
        }
        return ready;
    }

    std::int64_t answered = 0;

private:
    Record& record;
    Beat waiting;
    bool waits = false;
};

// Send all beats and collect beats until every packet is answered.
Record run(const std::vector<char>& requests, const Traffic& traffic) {
    const std::size_t total = requests.size() / REQUEST_BYTES;
    std::int64_t expected = traffic.surplus;
    for (std::size_t i = 0; i < total; ++i) expected += requests[i * REQUEST_BYTES + BEAT_BYTES] != 0;
    Record record;
    Accelerator accelerator;
    Receiver receiver(record);
    Dice dice(traffic.seed);
    bool offering = false, ready = false;
    std::int64_t cycle = 0, quiet = 0;
    while (quiet < (receiver.answered < expected ? traffic.patience : LINGER_CYCLES)) {
        accelerator.settle();
        ++cycle;
        ++quiet;
        const bool taken = receiver.look(accelerator, ready, cycle);
        const bool went = offering && accelerator.accepts();
        accelerator.rise();
        if (taken || went) quiet = 0;
        if (went) {
            record.sent.push_back(cycle);
            offering = false;
            accelerator.pause();
        }
        if (!offering && record.sent.size() < total && !dice.hit(traffic.bubbles)) {
            offering = true;
            accelerator.send(&requests[record.sent.size() * REQUEST_BYTES]);
        }
        ready = !dice.hit(traffic.back_pressure);
        accelerator.receive(ready);
    }
    return record;
}

std::vector<char> load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file || bytes.size() % REQUEST_BYTES) throw std::runtime_error(path + ": not whole request beats");
    return bytes;
}

void save(const std::string& path, const void* data, std::size_t size) {
    std::ofstream file(path, std::ios::binary);
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    file.close();
    if (!file) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace

int main(int count, char** arguments) try {
    if (count != 9) throw std::runtime_error("eight arguments were expected");
    const Traffic traffic{std::stod(arguments[4]), std::stod(arguments[5]), std::stoull(arguments[6]),
                          std::stoll(arguments[7]), std::stoll(arguments[8])};
    const Record record = run(load(arguments[1]), traffic);
    save(arguments[2], record.responses.data(), record.responses.size());
    save(arguments[3], record.sent.data(), record.sent.size() * sizeof record.sent[0]);
    std::cout << record.violations << std::endl;
    return EXIT_SUCCESS;
} catch (const std::exception& error) {
    std::cerr << "bulk bench: " << error.what() << std::endl;
    return EXIT_FAILURE;
}
