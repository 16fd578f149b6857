#include <dlfcn.h>
#include <cstdio>

#include "design.h"
#include "rbdhw_links.h"
#include "dynamics.h"
#include "rbdhw.hpp"

template <class F>
void expect_error(F call)
{
    try {
        call();
        std::puts("nothing thrown");
    } catch (const std::exception& error) {
        std::puts(error.what());
    }
}

int main(int, char** words)
{
    void* library = dlopen(words[1], RTLD_NOW);
    rbdhw_options options{};
    const auto make = reinterpret_cast<void* (*)(double, std::int64_t)>(dlsym(library, "rbdhw_simulated_new"));
    const auto fill = reinterpret_cast<void (*)(void*, rbdhw_transport*)>(dlsym(library, "rbdhw_simulated_transport"));
    options.clock = reinterpret_cast<std::uint64_t (*)(void*)>(dlsym(library, "rbdhw_simulated_clock"));
    options.of_clock = make(10.0, 20000);
    options.quiet = 1;
    rbdhw_transport transport;
    fill(options.of_clock, &transport);
    rbdhw::Driver arm(rbdhw_design, transport, options);
    auto id = arm.function("id"), did = arm.function("did", true);
    auto software = RBDHW_SOFTWARE(id);
    const std::vector<double> q{0.2, -0.4}, v{0.1, 0.3}, a{1.0, -2.0};
    const auto tau = id(q, v, a)["tau"];
    std::printf("0 %u %a %a\n", id.status(), tau(0, 0), tau(1, 0));
    const auto exact = software(q, v, a)["tau"], slope = did(q, v, a)["dtau_dq"], mass = did["M"];
    std::printf("%d %d %d\n", std::abs(tau(0, 0) - exact(0, 0)) < 0.1, int(slope.rows()), int(mass.cols()));
    const std::vector<double> batch(6, 0.1);
    std::printf("%d\n", int(id(batch, batch, batch)["tau"].rows()));
    expect_error([&] { id(q, v, std::vector<double>(3)); });
    expect_error([&] { id["a"]; });
    expect_error([&] { arm.function("fd"); });
    id(q, v, std::vector<double>{0.0, 0.0 / (q[0] - q[0])});
    std::printf("%u\n", id.status());
    rbdhw::Serial link(rbdhw_design, "/dev/none");
    expect_error([&] { rbdhw::Driver(rbdhw_design, link); });
#ifdef EIGEN_CORE_H
    const Eigen::Vector2d first(0.2, -0.4), second(0.1, 0.3), third(1.0, -2.0);
    const Eigen::VectorXd vector = id(first, second, third)["tau"];
    std::printf("%a\n", vector(1));
#endif
}
