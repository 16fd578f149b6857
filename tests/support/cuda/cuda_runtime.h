/* CUDA on the host, for dynamics.cu and measure.cu: a kernel is a loop over its threads, and the device's memory
 * is the host's. Streams run their work at once. */
#ifndef CUDA_RUNTIME_ON_HOST
#define CUDA_RUNTIME_ON_HOST

#include <chrono>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __host__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(threads)

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum { cudaStreamNonBlocking = 1, cudaHostRegisterDefault = 0 };

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

static thread_local dim3 blockIdx, blockDim, threadIdx;

typedef struct stream_on_host *cudaStream_t;
typedef std::chrono::steady_clock::time_point *cudaEvent_t;

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
};

struct cudaDeviceProp {
    char name[256];
    int major, minor;
};

inline void sincos(float angle, float *sine, float *cosine) { sincosf(angle, sine, cosine); }

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *configuration, void (*kernel)(Parameters...),
    Arguments... arguments)
{
    blockDim = configuration->blockDim;
    for (blockIdx.x = 0; blockIdx.x < configuration->gridDim.x; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
            kernel(arguments...);
    return cudaSuccess;
}

inline cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = malloc(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

inline cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
    size_t height, cudaMemcpyKind, cudaStream_t)
{
    if (width > to_pitch || width > from_pitch)
        return cudaErrorInvalidValue;
    for (size_t row = 0; row < height; row++)
        memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    return cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = (cudaStream_t)malloc(1);
    return cudaSuccess;
}

inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}

inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaHostRegister(void *, size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void *) { return cudaSuccess; }

inline cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = new std::chrono::steady_clock::time_point();
    return cudaSuccess;
}

inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    *event = std::chrono::steady_clock::now();
    return cudaSuccess;
}

inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }

inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
    *milliseconds = std::chrono::duration<float, std::milli>(*end - *begin).count();
    return cudaSuccess;
}

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    *properties = {"the host", 0, 0};
    return cudaSuccess;
}

inline const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "an error"; }

#endif
