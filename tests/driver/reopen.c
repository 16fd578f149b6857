#include <stdio.h>
#include <stdlib.h>

#include "design.h"
#include "rbdhw_links.h"

/* Opens a serial port twice, the second time after a line of input, and computes three tasks each time. Takes the
 * port, and the nanoseconds in which answers have to come. */
int main(int count, char **words)
{
    const double q[] = {0.2, -0.4}, v[] = {0.1, 0.3}, a[] = {1.0, -2.0};
    struct rbdhw_options options = {0};
    struct rbdhw_serial_port port;
    struct rbdhw_transport transport;
    if (count != 3)
        return 1;
    options.timeout = strtoull(words[2], NULL, 10);
    rbdhw_serial(&port, &transport, &rbdhw_design, words[1], 115200);
    for (int time = 0; time < 2; time++) {
        struct rbdhw_driver *driver;
        int code = rbdhw_open(&driver, &rbdhw_design, &transport, &options);
        for (int task = 0; task < 3 && driver; task++) {
            double tau[2] = {0.0, 0.0};
            unsigned char status = 0;
            code = rbdhw_run_id(driver, 1, q, v, a, tau, &status);
            printf("%d %d %a %a %s\n", code, status, tau[0], tau[1], rbdhw_text(code));
        }
        if (!driver)
            puts(rbdhw_text(code));
        rbdhw_close(driver);
        fflush(stdout);
        getchar();
    }
    return 0;
}
