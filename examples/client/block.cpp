// The Verilated accelerator at standard input and output, for a client in any language. Each line is a command:
//
//     read ADDRESS     prints a register; both are hexadecimal
//     send BYTES       sends a packet: two hexadecimal digits for each byte, those of the first beat first
//     receive          prints a packet
#include "rbdhw_simulated.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

constexpr std::uint64_t WAIT = 1'000'000'000;  // ns of the simulated clock

void fail_unless(int code, const std::string& command) {
    if (code == RBDHW_OK) return;
    std::cerr << "block: " << command << ": " << rbdhw_text(code) << '\n';
    std::exit(1);
}

int main() {
    void* block = rbdhw_simulated_new(10.0, 20'000);
    rbdhw_transport link;
    rbdhw_simulated_transport(block, &link);
    std::vector<unsigned char> packet(1 << 16);
    for (std::string command, word; std::cin >> command;) {
        if (command == "read") {
            std::uint32_t value = 0;
            std::cin >> word;
            fail_unless(link.read_register(link.self, std::stoul(word, nullptr, 16), &value), command);
            std::printf("%08x\n", value);
        } else if (command == "send") {
            std::cin >> word;
            const std::size_t bytes = word.size() / 2;
            for (std::size_t k = 0; k < bytes; ++k) packet[k] = std::stoul(word.substr(2 * k, 2), nullptr, 16);
            fail_unless(link.send(link.self, packet.data(), bytes), command);
        } else {
            std::size_t bytes = 0;
            fail_unless(link.receive(link.self, packet.data(), packet.size(), &bytes, WAIT), command);
            for (std::size_t k = 0; k < bytes; ++k) std::printf("%02x", packet[k]);
            std::printf("\n");
        }
        std::fflush(stdout);
    }
    rbdhw_simulated_delete(block);
}
