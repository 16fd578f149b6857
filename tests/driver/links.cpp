#include <cstdio>
#include <memory>

#include "design.h"
#include "rbdhw_links.h"
#include "rbdhw.hpp"

// The transport that the command line names: serial, udp, xdma or uio, and its parts.
std::unique_ptr<rbdhw::Transport> transport(const std::string& kind, char** parts)
{
    const auto number = [&](const char* text) { return static_cast<std::uint32_t>(std::stoul(text)); };
    if (kind == "serial") return std::make_unique<rbdhw::Serial>(rbdhw_design, parts[0], number(parts[1]));
    if (kind == "udp") return std::make_unique<rbdhw::Udp>(rbdhw_design, parts[0], parts[1]);
    if (kind == "xdma") return std::make_unique<rbdhw::Xdma>(rbdhw_design, parts[0], number(parts[1]));
    return std::make_unique<rbdhw::Uio>(rbdhw_design, parts[0], parts[1], parts[2], parts[3]);
}

int main(int, char** words)
{
    const auto link = transport(words[1], words + 2);
    rbdhw_options options{};
    options.timeout = 20'000'000'000;
    rbdhw::Driver arm(rbdhw_design, *link, options);
    auto id = arm.function("id");
    const std::vector<double> q{0.2, -0.4}, v{0.1, 0.3}, a{1.0, -2.0};
    const auto tau = id(q, v, a)["tau"];
    std::printf("%u %u %a %a\n", static_cast<unsigned>(arm.statistics().retries), id.status(), tau(0, 0), tau(1, 0));
}
