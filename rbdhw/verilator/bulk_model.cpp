// The model of one design for the bulk bench.

#include "Vtop.h"
#include "bulk.h"
#include "verilated.h"

#if VM_TRACE_SAIF
#include "verilated_saif_c.h"
#endif

// The ports of each pair of streams. bulk.py writes those of designs with several pairs here.
#define PAIRS(pair) pair(s_axis, m_axis)

namespace {

#if VM_TRACE_SAIF
// The toggles of all signals, in activity.saif where the simulator runs. A clock cycle takes two nanoseconds.
class Trace {
public:
    Trace(VerilatedContext& context, Vtop& top) {
        context.traceEverOn(true);
        top.trace(&saif, EVERY_LEVEL);
        saif.open("activity.saif");
    }

    ~Trace() { saif.close(); }

    void record() { saif.dump(PICOSECONDS * steps++); }

private:
    static constexpr int EVERY_LEVEL = 99;
    static constexpr std::uint64_t PICOSECONDS = 1000;  // a step is half a clock cycle

    VerilatedSaifC saif;
    std::uint64_t steps = 0;
};
#else
class Trace {
public:
    Trace(VerilatedContext&, Vtop&) {}
    void record() {}
};
#endif

class Top final : public bulk::Model {
public:
    ~Top() override { top.final(); }

    std::vector<bulk::Ports> pairs() override {
#define PORTS(in, out)                                                                        \
    bulk::Ports{sizeof top.in##_tdata, &top.in##_tdata,   &top.in##_tvalid,  &top.in##_tlast, \
                &top.in##_tready,      &top.out##_tdata,  &top.out##_tvalid, &top.out##_tlast, \
                &top.out##_tready},
        return {PAIRS(PORTS)};
    }

    void set_reset(bool reset) override { top.rst = reset; }

    void evaluate(bool clock) override {
        top.clk = clock;
        top.eval();
        trace.record();
    }

private:
    VerilatedContext context;
    Vtop top{&context};
    Trace trace{context, top};
};

}  // namespace

std::unique_ptr<bulk::Model> bulk::make_model() { return std::make_unique<Top>(); }
