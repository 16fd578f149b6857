// A control loop at 1 kHz: the forces of inverse dynamics for a trajectory, by an accelerator or by generated C.
//
// loop TICKS FILE writes how late each tick woke and how long its call took, in ns, and prints both as histograms.
#ifdef ACCELERATOR
#include "design.h"
#include "rbdhw_simulated.h"
constexpr int JOINTS = RBDHW_DESIGN_NV;
#else
#include "dynamics.h"
constexpr int JOINTS = RBDHW_NV;
#endif
#include "rbdhw.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

constexpr long PERIOD = 1'000'000;  // ns
constexpr double STIFFNESS = 100.0, DAMPING = 20.0;

// What a tick needs, in ns.
struct Tick {
    long late, call;
};

long since(const timespec& start) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start.tv_sec) * 1'000'000'000L + now.tv_nsec - start.tv_nsec;
}

void sleep_until(const timespec& start, long ns) {
    const long end = start.tv_nsec + ns;
    const timespec time{start.tv_sec + end / 1'000'000'000L, end % 1'000'000'000L};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {}
}

// The accelerations that keep all joints on a sine of half a radian.
void follow(double time, const std::vector<double>& q, const std::vector<double>& v, std::vector<double>& a) {
    for (std::size_t k = 0; k < q.size(); ++k) {
        const double position = 0.5 * std::sin(time), rate = 0.5 * std::cos(time);
        a[k] = -position + STIFFNESS * (position - q[k]) + DAMPING * (rate - v[k]);
    }
}

// The state a period later, of an arm that accelerates as it is told.
void move(std::vector<double>& q, std::vector<double>& v, const std::vector<double>& a) {
    for (std::size_t k = 0; k < q.size(); ++k) {
        v[k] += 1e-9 * PERIOD * a[k];
        q[k] += 1e-9 * PERIOD * v[k];
    }
}

void print_histogram(const char* title, const std::vector<Tick>& ticks, long Tick::*of) {
    std::printf("%s\n", title);
    long below = 0, most = 0;
    for (const Tick& tick : ticks) most = std::max(most, tick.*of);
    for (long top = 1000, step = 0; below <= most; below = top, top = ++step % 3 == 1 ? top * 5 / 2 : top * 2) {
        const auto count = std::count_if(ticks.begin(), ticks.end(), [=](const Tick& tick) {
            return below <= tick.*of && tick.*of < top;
        });
        if (count == 0) continue;
        const int bar = static_cast<int>(50 * count / static_cast<long>(ticks.size()));
        std::printf("  < %6ld us %6ld %.*s\n", top / 1000, static_cast<long>(count), bar,
            "##################################################");
    }
    std::printf("  at most %.1f us\n", 1e-3 * static_cast<double>(most));
}

int main(int count, char** words) try {
    if (count != 3) throw std::invalid_argument("loop TICKS FILE");
#ifdef ACCELERATOR
    rbdhw::Simulated block;
    rbdhw::Driver arm(rbdhw_design, block, block.options());
    auto rnea = arm.function("id");
#else
    auto rnea = RBDHW_SOFTWARE(id);
#endif
    std::vector<double> q(JOINTS), v(JOINTS, 0.5), a(JOINTS);
    std::vector<Tick> ticks(std::strtoul(words[1], nullptr, 10));
    rnea(q, v, a);  // all memory is there after the first call
    timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    unsigned flagged = 0;
    double force = 0.0;
    for (std::size_t k = 0; k < ticks.size(); ++k) {
        const long due = static_cast<long>(k + 1) * PERIOD;
        sleep_until(start, due);
        const long woken = since(start);
        follow(1e-9 * static_cast<double>(due), q, v, a);
        force = rnea(q, v, a)["tau"](0);  // goes to the motors
        flagged += rnea.status() != 0;
        ticks[k] = {woken - due, since(start) - woken};
        move(q, v, a);
    }
    std::FILE* file = std::fopen(words[2], "w");
    if (file == nullptr) throw std::runtime_error(words[2]);
    for (const Tick& tick : ticks) std::fprintf(file, "%ld %ld\n", tick.late, tick.call);
    std::fclose(file);
    print_histogram("how late ticks woke", ticks, &Tick::late);
    print_histogram("how long calls took", ticks, &Tick::call);
    std::printf("%zu ticks, %u flagged; the last force %.6f, at %.6f rad\n", ticks.size(), flagged, force, q[0]);
} catch (const std::exception& error) {
    std::fprintf(stderr, "loop: %s\n", error.what());
    return 1;
}
