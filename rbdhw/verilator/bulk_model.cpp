// The model of one design for the bulk bench.

#include "Vtop.h"
#include "bulk.h"
#include "verilated.h"

// The ports of each pair of streams. bulk.py writes those of designs with several pairs here.
#define PAIRS(pair) pair(s_axis, m_axis)

namespace {

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
    }

private:
    VerilatedContext context;
    Vtop top{&context};
};

}  // namespace

std::unique_ptr<bulk::Model> bulk::make_model() { return std::make_unique<Top>(); }
