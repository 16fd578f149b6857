#include <dlfcn.h>
#include <stdio.h>

#include "design.h"
#include "rbdhw_links.h"

int main(int count, char **words)
{
    void *library = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
    void *(*make)(double, int64_t) = NULL;
    void (*fill)(void *, struct rbdhw_transport *) = NULL;
    struct rbdhw_options options = {0};
    if (!library)
        return 1;
    *(void **)&make = dlsym(library, "rbdhw_simulated_new");
    *(void **)&fill = dlsym(library, "rbdhw_simulated_transport");
    *(void **)&options.clock = dlsym(library, "rbdhw_simulated_clock");
    options.of_clock = make(10.0, 20000);
    options.quiet = 1;
    struct rbdhw_transport transport;
    struct rbdhw_driver *driver;
    fill(options.of_clock, &transport);
    const double q[] = {0.2, -0.4}, v[] = {0.1, 0.3}, a[] = {1.0, -2.0};
    double tau[2];
    unsigned char status;
    int code = rbdhw_open(&driver, &rbdhw_design, &transport, &options);
    if (!code)
        code = rbdhw_run_id(driver, 1, q, v, a, tau, &status);
    printf("%d %d %a %a\n", code, status, tau[0], tau[1]);
    rbdhw_close(driver);
    struct rbdhw_serial_port port;
    rbdhw_serial(&port, &transport, &rbdhw_design, "/dev/none", 115200);
    puts(rbdhw_text(rbdhw_open(&driver, &rbdhw_design, &transport, NULL)));
    return 0;
}
