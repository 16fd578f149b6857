// The bulk bench: puts request beats into the accelerator and takes what comes out, as bench.py does, in C++.
//
//   accelerator FOLDER BUBBLES BACK_PRESSURE SEED PATIENCE SURPLUS
//
// In the folder, requests_0 holds a record for each beat to send on the first pair of streams: TDATA, lowest
// byte first, then one byte that is TLAST. responses_0 gets the same for each beat that came out, followed by
// the cycle in which it was taken; sent_0 gets the cycle in which each request beat went in. Cycles are 64-bit
// integers. The files of further pairs have further numbers; a pair without a file stands idle. On the standard
// output stands, for each pair, the number of cycles in which an offered beat had changed before it was taken.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

constexpr int RESET_CYCLES = 4;
constexpr std::int64_t LINGER_CYCLES = 64;  // to wait, after all responses, for one too many

// The ports of each pair of streams. bulk.py writes those of designs with several pairs here.
#define PAIRS(pair) pair(s_axis, m_axis)
#define BYTES(in, out) sizeof(Vtop::in##_tdata),

constexpr std::size_t SIZES[] = {PAIRS(BYTES)};
constexpr std::size_t BEAT_BYTES = SIZES[0];  // TDATA is a power of two of 32-bit words: no padding
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

// The ports of one pair of streams.
struct Ports {
    void* request;
    CData* request_valid;
    CData* request_last;
    const CData* request_ready;
    const void* response;
    const CData* response_valid;
    const CData* response_last;
    CData* response_ready;

    bool accepts() const { return *request_ready; }
    bool offers() const { return *response_valid; }

    Beat offered() const {
        Beat beat;
        std::memcpy(beat.data, response, BEAT_BYTES);
        beat.last = *response_last;
        return beat;
    }

    void send(const char* beat) {
        *request_valid = 1;
        std::memcpy(request, beat, BEAT_BYTES);
        *request_last = beat[BEAT_BYTES] != 0;
    }

    void pause() { *request_valid = 0; }
    void receive(bool ready) { *response_ready = ready; }
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
#define PORTS(in, out)                                                                   \
    Ports{&top->in##_tdata,  &top->in##_tvalid,  &top->in##_tlast,  &top->in##_tready,   \
          &top->out##_tdata, &top->out##_tvalid, &top->out##_tlast, &top->out##_tready},
        pairs = {PAIRS(PORTS)};
        for (Ports& own : pairs) {
            own.pause();
            own.receive(false);
        }
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

    std::vector<Ports> pairs;

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
    bool look(const Ports& ports, bool ready, std::int64_t cycle) {
        if (!ports.offers()) {
            record.violations += waits;
            waits = false;
            return false;
        }
        const Beat beat = ports.offered();
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

// The traffic of one pair of streams.
class Pair {
public:
    Pair(Ports& own, std::vector<char> beats, const Traffic& by, std::uint64_t number)
        : ports(own), requests(std::move(beats)), traffic(by), dice(by.seed + number) {
        total = requests.size() / REQUEST_BYTES;
        expected = total ? traffic.surplus : 0;
        for (std::size_t i = 0; i < total; ++i) expected += requests[i * REQUEST_BYTES + BEAT_BYTES] != 0;
    }

    // Look at the ports before the rising edge; return whether a beat is transferred.
    bool look(std::int64_t cycle) {
        const bool taken = receiver.look(ports, ready, cycle);
        went = offering && ports.accepts();
        if (went) record.sent.push_back(cycle);
        return taken || went;
    }

    // Set the inputs after the rising edge.
    void drive() {
        if (went) {
            offering = false;
            ports.pause();
        }
        if (!offering && record.sent.size() < total && !dice.hit(traffic.bubbles)) {
            offering = true;
            ports.send(&requests[record.sent.size() * REQUEST_BYTES]);
        }
        ready = !dice.hit(traffic.back_pressure);
        ports.receive(ready);
    }

    bool done() const { return receiver.answered >= expected; }

    Record record;

private:
    Ports& ports;
    std::vector<char> requests;
    const Traffic& traffic;
    Dice dice;
    Receiver receiver{record};
    std::size_t total = 0;
    std::int64_t expected = 0;
    bool offering = false, ready = false, went = false;
};

// Send all beats and collect beats until every packet is answered.
void run(Accelerator& accelerator, std::vector<std::unique_ptr<Pair>>& pairs, std::int64_t patience) {
    std::int64_t cycle = 0, quiet = 0;
    const auto answered = [&] {
        return std::all_of(pairs.begin(), pairs.end(), [](const auto& pair) { return pair->done(); });
    };
    while (quiet < (answered() ? LINGER_CYCLES : patience)) {
        accelerator.settle();
        ++cycle;
        ++quiet;
        for (auto& pair : pairs)
            if (pair->look(cycle)) quiet = 0;
        accelerator.rise();
        for (auto& pair : pairs) pair->drive();
    }
}

std::vector<char> load(const std::string& path) {
    if (!std::filesystem::exists(path)) return {};
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
    if (count != 7) throw std::runtime_error("six arguments were expected");
    const std::string folder = std::string(arguments[1]) + "/";
    const Traffic traffic{std::stod(arguments[2]), std::stod(arguments[3]), std::stoull(arguments[4]),
                          std::stoll(arguments[5]), std::stoll(arguments[6])};
    Accelerator accelerator;
    std::vector<std::unique_ptr<Pair>> pairs;
    for (Ports& ports : accelerator.pairs) {
        const std::string number = std::to_string(pairs.size());
        const std::vector<char> requests = load(folder + "requests_" + number);
        pairs.push_back(std::make_unique<Pair>(ports, requests, traffic, pairs.size()));
    }
    run(accelerator, pairs, traffic.patience);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        const Record& record = pairs[k]->record;
        save(folder + "responses_" + std::to_string(k), record.responses.data(), record.responses.size());
        save(folder + "sent_" + std::to_string(k), record.sent.data(),
             record.sent.size() * sizeof(std::int64_t));
        std::cout << record.violations << std::endl;
    }
    return EXIT_SUCCESS;
} catch (const std::exception& error) {
    std::cerr << "bulk bench: " << error.what() << std::endl;
    return EXIT_FAILURE;
}
