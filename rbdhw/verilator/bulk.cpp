// The bulk bench: puts request beats into the accelerator and takes what comes out, as bench.py does, in C++.
// It is compiled once for all designs; bulk_model.cpp has what depends on the design.
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

#include "bulk.h"

namespace {

using bulk::Model;
using bulk::Ports;

constexpr int RESET_CYCLES = 4;
constexpr std::int64_t LINGER_CYCLES = 64;  // to wait, after all responses, for one too many

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
    std::vector<char> data;
    bool last = false;

    bool operator!=(const Beat& other) const { return last != other.last || data != other.data; }
};

Beat offered(const Ports& ports) {
    const char* data = static_cast<const char*>(ports.response);
    return {std::vector<char>(data, data + ports.beat_bytes), *ports.response_last != 0};
}

// Offer a record of a request beat.
void send(const Ports& ports, const char* beat) {
    *ports.request_valid = 1;
    std::memcpy(ports.request, beat, ports.beat_bytes);
    *ports.request_last = beat[ports.beat_bytes] != 0;
}

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
    Accelerator() : model(bulk::make_model()), pairs(model->pairs()) {
        for (const Ports& own : pairs) {
            *own.request_valid = 0;
            *own.response_ready = 0;
        }
        model->set_reset(true);
        for (int cycle = 0; cycle < RESET_CYCLES; ++cycle) {
            settle();
            rise();
        }
        model->set_reset(false);
    }

    void settle() { model->evaluate(false); }
    void rise() { model->evaluate(true); }

private:
    std::unique_ptr<Model> model;

public:
    const std::vector<Ports> pairs;
};

void append(std::vector<char>& bytes, const Beat& beat, std::int64_t cycle) {
    bytes.insert(bytes.end(), beat.data.begin(), beat.data.end());
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
        if (!*ports.response_valid) {
            record.violations += waits;
            waits = false;
            return false;
        }
        Beat beat = offered(ports);
        record.violations += waits && waiting != beat;
        waits = !ready;
        if (ready) {
            append(record.responses, beat, cycle);
            answered += beat.last;
        }
        waiting = std::move(beat);
        return ready;
    }

    std::int64_t answered = 0;

private:
    Record& record;
    Beat waiting;
    bool waits = false;
};

// The bytes of a record of a request beat.
std::size_t request_bytes(const Ports& ports) { return ports.beat_bytes + 1; }

// The traffic of one pair of streams.
class Pair {
public:
    Pair(const Ports& own, std::vector<char> beats, const Traffic& by, std::uint64_t number)
        : ports(own), requests(std::move(beats)), traffic(by), dice(by.seed + number) {
        total = requests.size() / request_bytes(own);
        expected = total ? traffic.surplus : 0;
        for (std::size_t i = 0; i < total; ++i) expected += request(i)[own.beat_bytes] != 0;
    }

    // Look at the ports before the rising edge; return whether a beat is transferred.
    bool look(std::int64_t cycle) {
        const bool taken = receiver.look(ports, ready, cycle);
        went = offering && *ports.request_ready;
        if (went) record.sent.push_back(cycle);
        return taken || went;
    }

    // Set the inputs after the rising edge.
    void drive() {
        if (went) {
            offering = false;
            *ports.request_valid = 0;
        }
        if (!offering && record.sent.size() < total && !dice.hit(traffic.bubbles)) {
            offering = true;
            send(ports, request(record.sent.size()));
        }
        ready = !dice.hit(traffic.back_pressure);
        *ports.response_ready = ready;
    }

    bool done() const { return receiver.answered >= expected; }

    Record record;

private:
    const char* request(std::size_t number) const { return &requests[number * request_bytes(ports)]; }

    const Ports& ports;
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

std::vector<char> load(const std::string& path, std::size_t record) {
    if (!std::filesystem::exists(path)) return {};
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file || bytes.size() % record) throw std::runtime_error(path + ": not whole request beats");
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
    for (const Ports& ports : accelerator.pairs) {
        const std::string number = std::to_string(pairs.size());
        const std::vector<char> requests = load(folder + "requests_" + number, request_bytes(ports));
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
