// Accelerators and generated C of rbdhw as functions in C++17. Include it after what it is to wrap:
//
//     #include "design.h"       // an accelerator, behind the driver of rbdhw.h
//     #include "rbdhw_links.h"  // transports to boards
//     #include "rbdhw_simulated.h"  // the transport to the Verilog in Verilator
//     #include "dynamics.h"     // what `generate --target c` wrote
//     #include "rbdhw.hpp"
//
//     rbdhw::Serial link(rbdhw_design, "/dev/ttyUSB0");
//     rbdhw::Driver arm(rbdhw_design, link);
//     auto aba = arm.function("fd");
//     Eigen::VectorXd a = aba(q, v, tau)["a"];  // pinocchio::aba(model, data, q, v, tau)
//
//     auto rnea = RBDHW_SOFTWARE(id);           // the same of the generated C
//
// A function keeps its results until its next call, and allocates no memory in calls of as many tasks as before.
#ifndef RBDHW_HPP
#define RBDHW_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#endif

namespace rbdhw {

// A call that failed, with the code of rbdhw_transport.h.
class Error : public std::runtime_error {
public:
    Error(int number, const std::string& text) : std::runtime_error(text), code(number) {}
    int code;
};

// An array of a function: the numbers of one task, and the rows of a matrix.
struct Array {
    const char* name;
    std::size_t size, rows;
};

#ifdef EIGEN_CORE_H
template <class Real>
using View = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
#else
// Numbers in row-major order.
template <class Real>
class View {
public:
    View(const Real* first, std::ptrdiff_t rows, std::ptrdiff_t columns) : numbers(first), height(rows), width(columns) {}
    const Real* data() const { return numbers; }
    std::ptrdiff_t rows() const { return height; }
    std::ptrdiff_t cols() const { return width; }
    std::ptrdiff_t size() const { return height * width; }
    Real operator()(std::ptrdiff_t row, std::ptrdiff_t column = 0) const { return numbers[row * width + column]; }

private:
    const Real* numbers;
    std::ptrdiff_t height, width;
};
#endif

namespace detail {

template <class Input, class = void>
struct has_data : std::false_type {};
template <class Input>
struct has_data<Input, std::void_t<decltype(std::declval<const Input&>().data())>> : std::true_type {};

}  // namespace detail

// A function of an accelerator or of generated C.
template <class Real>
class Function {
public:
    using Call = std::function<void(std::size_t, const Real* const*, Real* const*, unsigned char*)>;

    Function(std::string title, std::vector<Array> in, std::vector<Array> out, Call computes)
        : name(std::move(title)), inputs(std::move(in)), outputs(std::move(out)), call(std::move(computes)),
          given(inputs.size()), results(outputs.size()), taken(outputs.size()) {
        resize(1);
    }

    // Computes one task, or a batch with a row for each. Inputs are vectors, arrays or pointers, in the function's
    // order; what is left out at the end is zero.
    template <class... Inputs>
    Function& operator()(const Inputs&... arrays) {
        return compute(tasks_of(arrays...), arrays...);
    }

    // The same of `tasks` tasks.
    template <class... Inputs>
    Function& compute(std::size_t tasks, const Inputs&... arrays) {
        if (sizeof...(arrays) > inputs.size()) throw std::invalid_argument(name + ": too many arrays");
        std::size_t next = 0;
        (void)std::initializer_list<int>{(given[next] = address(arrays, next, tasks), ++next, 0)...};
        for (; next < given.size(); ++next) given[next] = nullptr;
        resize(tasks);
        call(tasks, given.data(), taken.data(), statuses.data());
        return *this;
    }

    // A result of the last call: a vector or a matrix of one task, or a row for each task of a batch.
    View<Real> operator[](const std::string& array) const {
        for (std::size_t k = 0; k < outputs.size(); ++k)
            if (array == outputs[k].name) {
                const auto size = static_cast<std::ptrdiff_t>(outputs[k].size);
                const auto rows = static_cast<std::ptrdiff_t>(outputs[k].rows);
                if (statuses.size() != 1) return {results[k].data(), static_cast<std::ptrdiff_t>(statuses.size()), size};
                return rows == 1 ? View<Real>(results[k].data(), size, 1) : View<Real>(results[k].data(), rows, size / rows);
            }
        throw std::invalid_argument(name + ": no result '" + array + "'");
    }

    // The status of a task of the last call; 0 says that it is good.
    unsigned status(std::size_t task = 0) const { return statuses.at(task); }

private:
    void resize(std::size_t tasks) {
        if (tasks == statuses.size()) return;
        statuses.resize(tasks);
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            results[k].resize(tasks * outputs[k].size);
            taken[k] = results[k].data();
        }
    }

    template <class Input, class... Others>
    std::size_t tasks_of(const Input& first, const Others&...) const {
        if constexpr (detail::has_data<Input>::value)
            if (!inputs.empty() && inputs[0].size) return static_cast<std::size_t>(first.size()) / inputs[0].size;
        return 1;
    }

    template <class Input>
    const Real* address(const Input& array, std::size_t k, std::size_t tasks) const {
        if constexpr (detail::has_data<Input>::value) {
            if (static_cast<std::size_t>(array.size()) != tasks * inputs[k].size)
                throw std::invalid_argument(name + ": array '" + inputs[k].name + "' has another size");
            return array.data();
        } else {
            return array;
        }
    }

    std::string name;
    std::vector<Array> inputs, outputs;
    Call call;
    std::vector<const Real*> given;
    std::vector<std::vector<Real>> results;
    std::vector<Real*> taken;
    std::vector<unsigned char> statuses;
};

#ifdef RBDHW_H

inline void check(int code, const char* where) {
    if (code != RBDHW_OK) throw Error(code, std::string(where) + ": " + rbdhw_text(code));
}

// An accelerator behind a transport. It has to stay as long as its functions.
class Driver {
public:
    Driver(const struct rbdhw_design& described, const rbdhw_transport& transport, const rbdhw_options& options = {})
        : design(described) {
        check(rbdhw_open(&driver, &design, &transport, &options), design.robot);
    }
    ~Driver() { rbdhw_close(driver); }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    // A function by its name; `extended` with its optional arrays, too.
    Function<double> function(const char* name, bool extended = false, unsigned set = 0) {
        const int number = rbdhw_function(&design, name);
        if (number < 0) throw std::invalid_argument(std::string(design.robot) + ": no function '" + name + "'");
        const struct rbdhw_function& entry = design.function[number];
        const unsigned options = (extended ? unsigned{RBDHW_EXTENDED} : 0u) | set << RBDHW_SET_SHIFT;
        auto call = [this, number, options](std::size_t tasks, const double* const* in, double* const* out, unsigned char* status) {
            const rbdhw_data data = {in, out, nullptr, nullptr, status};
            check(rbdhw_run(driver, number, options, tasks, &data), design.function[number].name);
        };
        return {name, arrays(entry.input, entry.inputs, extended), arrays(entry.output, entry.outputs, extended), call};
    }

    // For the functions of rbdhw.h.
    rbdhw_driver* handle() { return driver; }
    const struct rbdhw_statistics& statistics() const { return *::rbdhw_statistics(driver); }

private:
    static std::vector<Array> arrays(const rbdhw_array* first, int count, bool extended) {
        std::vector<Array> made;
        for (int k = 0; k < count; ++k)
            if (extended || !first[k].optional)
                made.push_back({first[k].name, static_cast<std::size_t>(first[k].size), static_cast<std::size_t>(first[k].rows)});
        return made;
    }

    const struct rbdhw_design& design;
    rbdhw_driver* driver = nullptr;
};

#endif

#ifdef RBDHW_TRANSPORT_H

// A way to an accelerator. It has to stay as long as a driver that uses it.
class Transport {
public:
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    operator const rbdhw_transport&() const { return transport; }

protected:
    Transport() = default;
    rbdhw_transport transport{};
};

#endif

#ifdef RBDHW_LINKS_H

class Serial : public Transport {
public:
    Serial(const struct rbdhw_design& design, std::string device, std::uint32_t baud = 921600) : path(std::move(device)) {
        rbdhw_serial(&serial, &transport, &design, path.c_str(), baud);
    }

private:
    std::string path;
    rbdhw_serial_port serial;
};

class Udp : public Transport {
public:
    Udp(const struct rbdhw_design& design, std::string address, std::string service = "21072")
        : host(std::move(address)), port(std::move(service)) {
        rbdhw_udp(&udp, &transport, &design, host.c_str(), port.c_str());
    }

private:
    std::string host, port;
    struct rbdhw_udp udp;
};

class Xdma : public Transport {
public:
    Xdma(const struct rbdhw_design& design, std::string device = "/dev/xdma0", std::uint32_t channel = 0)
        : path(std::move(device)) {
        rbdhw_xdma(&xdma, &transport, &design, path.c_str(), channel);
    }

private:
    std::string path;
    struct rbdhw_xdma xdma;
};

class Uio : public Transport {
public:
    // Without `folder` the attributes of the buffer are at their place in sysfs.
    Uio(const struct rbdhw_design& design, std::string controller, std::string block, std::string memory,
        std::string folder = "")
        : dma(std::move(controller)), registers(std::move(block)), buffer(std::move(memory)), attributes(std::move(folder)) {
        rbdhw_uio(&uio, &transport, &design, dma.c_str(), registers.c_str(), buffer.c_str(),
            attributes.empty() ? nullptr : attributes.c_str());
    }

private:
    std::string dma, registers, buffer, attributes;
    struct rbdhw_uio uio;
};

#endif

#ifdef RBDHW_SIMULATED_H

// The Verilog in Verilator. A driver takes its options, too.
class Simulated : public Transport {
public:
    Simulated() : block(rbdhw_simulated_new(10.0, 20'000)) {
        check(block == nullptr ? int{RBDHW_NO_MEMORY} : int{RBDHW_OK}, "the simulated accelerator");
        rbdhw_simulated_transport(block, &transport);
    }
    ~Simulated() { rbdhw_simulated_delete(block); }

    // Options of a driver with the time of the simulation.
    rbdhw_options options() const {
        rbdhw_options made{};
        made.clock = rbdhw_simulated_clock;
        made.of_clock = block;
        made.quiet = 1;
        return made;
    }

private:
    void* block;
};

#endif

#ifdef RBDHW_DYNAMICS_H

namespace detail {

template <class... Arrays, std::size_t... K>
void call(void (*function)(std::size_t, Arrays...), std::size_t tasks, void* const* arrays, std::index_sequence<K...>) {
    function(tasks, static_cast<Arrays>(arrays[K])...);
}

// Calls a function of generated C, whose parameters are its inputs and then its results.
template <class Real, class... Arrays>
Function<Real> software(const char* name, void (*function)(std::size_t, Arrays...), std::vector<Array> in, std::vector<Array> out) {
    const std::size_t count = in.size();
    auto call = [function, count](std::size_t tasks, const Real* const* inputs, Real* const* outputs, unsigned char* status) {
        void* arrays[sizeof...(Arrays)];
        for (std::size_t k = 0; k < sizeof...(Arrays); ++k)
            arrays[k] = k < count ? const_cast<Real*>(inputs[k]) : outputs[k - count];
        detail::call(function, tasks, arrays, std::index_sequence_for<Arrays...>{});
        for (std::size_t k = 0; k < tasks; ++k) status[k] = 0;
    };
    return {name, std::move(in), std::move(out), call};
}

}  // namespace detail

// A function of generated C by its name.
#define RBDHW_SOFTWARE(name)                                                                                   \
    ::rbdhw::detail::software<RBDHW_REAL>(#name, RBDHW_NAME(name), {RBDHW_INPUTS_##name}, {RBDHW_RESULTS_##name})

#endif

}  // namespace rbdhw

#endif
