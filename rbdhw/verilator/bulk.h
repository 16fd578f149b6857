// What the bulk bench sees of a model: its ports, its clock and its reset.

#ifndef RBDHW_BULK_H
#define RBDHW_BULK_H

#include <cstddef>
#include <memory>
#include <vector>

namespace bulk {

// The ports of one pair of streams. TDATA is a power of two of 32-bit words, so it has no padding.
struct Ports {
    std::size_t beat_bytes;
    void* request;
    unsigned char* request_valid;
    unsigned char* request_last;
    const unsigned char* request_ready;
    const void* response;
    const unsigned char* response_valid;
    const unsigned char* response_last;
    unsigned char* response_ready;
};

class Model {
public:
    virtual ~Model() = default;
    virtual std::vector<Ports> pairs() = 0;
    virtual void set_reset(bool reset) = 0;
    virtual void evaluate(bool clock) = 0;
};

// The model of the design with which the bench is linked.
std::unique_ptr<Model> make_model();

}  // namespace bulk

#endif
