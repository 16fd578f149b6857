// A host at the other end of an MII: datagrams in frames of Ethernet, and answers to questions for its address.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "Vtop.h"
#include "ports.h"  // the pins: NO_RESET is a button; and the board's BOARD_MAC, BOARD_IP and BOARD_PORT

using Bytes = std::vector<unsigned char>;

constexpr std::uint64_t HOST_MAC = 0xAABBCCDDEEFF, HOST_IP = 0xC0A80107, HOST_PORT = 40'000;
constexpr std::uint64_t IPV4 = 0x0800, ARP = 0x0806;
constexpr std::uint64_t CORE_HALF = 6'250, MII_HALF = 20'000;  // picoseconds of half a period: 80 MHz and 25 MHz
constexpr std::size_t GAP = 24, PREAMBLE = 8, LEAST = 60, CHECK = 4, HEADERS = 14 + 20 + 8;

inline void put(Bytes& bytes, std::uint64_t value, int size) {
    while (size--) bytes.push_back(static_cast<unsigned char>(value >> 8 * size));
}

inline std::uint64_t get(const Bytes& bytes, std::size_t place, int size) {
    std::uint64_t value = 0;
    while (size--) value = value << 8 | bytes[place++];
    return value;
}

inline std::uint32_t crc(const Bytes& bytes, std::size_t from) {
    std::uint32_t sum = ~0u;
    for (std::size_t k = from; k < bytes.size(); ++k) {
        sum ^= bytes[k];
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320 : 0);
    }
    return ~sum;
}

class Pins {
public:
    std::uint64_t time = 0, wire[2] = {};
    std::deque<unsigned char> received;

    std::size_t send(const unsigned char* bytes, std::size_t size) {
        size = std::min<std::size_t>(size, RBDHW_DATAGRAM);
        Bytes frame = begin(IPV4);
        const std::uint64_t head[] = {0x4500, 28 + size, 0, 0, 0x4011, 0, HOST_IP >> 16, HOST_IP & 0xFFFF,
                                      BOARD_IP >> 16, BOARD_IP & 0xFFFF};
        std::uint64_t sum = 0;
        for (auto word : head) sum += word;
        sum = (sum & 0xFFFF) + (sum >> 16);
        for (int k = 0; k < 10; ++k) put(frame, k == 5 ? ~(sum + (sum >> 16)) : head[k], 2);
        for (std::uint64_t word : {HOST_PORT, std::uint64_t{BOARD_PORT}, std::uint64_t{8 + size}, std::uint64_t{0}})
            put(frame, word, 2);
        frame.insert(frame.end(), bytes, bytes + size);
        end(frame);
        return size;
    }

    // Pass to the next edge of a clock.
    void step(Vtop& top) {
        time = std::min(core, mii);
        if (time == core) {
            top.NO_RESET = 1;
            top.CLOCK = !top.CLOCK;
            core += CORE_HALF;
        }
        if (time == mii) {
            const bool rises = !top.TX_CLOCK;
            if (rises)
                take(top);
            else
                give(top);
            top.RX_CLOCK = top.TX_CLOCK = rises;
            mii += MII_HALF;
        }
        top.eval();
    }

private:
    static Bytes begin(std::uint64_t kind) {
        Bytes frame(PREAMBLE - 1, 0x55);
        put(frame, 0xD5, 1);
        put(frame, BOARD_MAC, 6);
        put(frame, HOST_MAC, 6);
        put(frame, kind, 2);
        return frame;
    }

    void end(Bytes& frame) {
        frame.resize(std::max(frame.size(), PREAMBLE + LEAST));
        const std::uint32_t check = crc(frame, PREAMBLE);
        for (int k = 0; k < 4; ++k) frame.push_back(static_cast<unsigned char>(check >> 8 * k));
        waiting.push_back(std::move(frame));
    }

    void give(Vtop& top) {
        if (place == 2 * frame.size()) {
            top.RX_VALID = 0;
            if (gap && gap--) return;
            if (waiting.empty()) return;
            frame = std::move(waiting.front());
            waiting.pop_front();
            place = 0;
            gap = GAP;
            wire[0] += frame.size() + GAP / 2;
        }
        top.RX_VALID = 1;
        top.RX_DATA = frame[place / 2] >> 4 * (place % 2) & 15;
        ++place;
    }

    void take(const Vtop& top) {
        if (top.TX_VALID) {
            if (half) arriving.back() = static_cast<unsigned char>(arriving.back() | top.TX_DATA << 4);
            else arriving.push_back(top.TX_DATA);
            half = !half;
        } else if (!arriving.empty()) {
            wire[1] += arriving.size() + GAP / 2;
            if (arriving.size() >= PREAMBLE + LEAST + CHECK && crc(arriving, PREAMBLE) == 0x2144DF1C) {
                arriving.erase(arriving.begin(), arriving.begin() + PREAMBLE);
                accept(arriving);
            }
            arriving.clear();
            half = false;
        }
    }

    // Answer a question for the host's address, or take what a datagram holds.
    void accept(const Bytes& body) {
        if (get(body, 12, 2) == ARP && get(body, 20, 2) == 1) {
            Bytes answer = begin(ARP);
            put(answer, 0x0001080006040002, 8);
            put(answer, HOST_MAC, 6);
            put(answer, HOST_IP, 4);
            put(answer, BOARD_MAC, 6);
            put(answer, BOARD_IP, 4);
            end(answer);
        } else if (get(body, 12, 2) == IPV4 && get(body, 30, 4) == HOST_IP && get(body, 36, 2) == HOST_PORT) {
            const std::size_t size = get(body, 38, 2) - 8;
            received.insert(received.end(), body.begin() + HEADERS, body.begin() + HEADERS + size);
        }
    }

    std::uint64_t core = CORE_HALF, mii = MII_HALF;
    std::deque<Bytes> waiting;
    Bytes frame, arriving;
    std::size_t place = 0, gap = 0;
    bool half = false;
};
