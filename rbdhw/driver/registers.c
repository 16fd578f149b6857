#include <stddef.h>

#include "exchange.h"
#include "registers.h"

#define AT(name) ((uint32_t)offsetof(rbdhw_registers_t, name))

static int read_register(const struct rbdhw_driver *driver, uint32_t address, uint32_t *value)
{
    return driver->transport.read_register(driver->transport.self, address, value);
}

static int write_register(const struct rbdhw_driver *driver, uint32_t address, uint32_t value)
{
    return driver->transport.write_register(driver->transport.self, address, value);
}

/* Checks that a register has a value; `wrong` is the code if it has another one. */
static int expect(const struct rbdhw_driver *driver, uint32_t address, uint32_t expected, int wrong)
{
    uint32_t value = 0;
    const int code = read_register(driver, address, &value);
    return code ? code : value == expected ? RBDHW_OK : wrong;
}

/* Drops what an earlier host left in the cores. */
static int reset(struct rbdhw_driver *driver)
{
    const uint32_t busy = RBDHW_REGISTERS__STATUS__RESETTING_bm;
    const uint64_t end = rbdhw_time(driver) + driver->options.timeout;
    uint32_t status = busy;
    int code = write_register(
        driver, AT(control), RBDHW_REGISTERS__CONTROL__SOFT_RESET_bm | RBDHW_REGISTERS__CONTROL__ENABLE_bm);
    while (!code && status & busy) {
        if (rbdhw_time(driver) > end)
            return RBDHW_TIMEOUT;
        code = read_register(driver, AT(status), &status);
    }
    if (!code && status & RBDHW_REGISTERS__STATUS__DROPPING_bm) /* the rest of a request that will never come */
        code = driver->transport.send(driver->transport.self, driver->requests, (size_t)driver->design->beat_bytes);
    return code;
}

int rbdhw_identify(struct rbdhw_driver *driver)
{
    if (!driver->transport.read_register)
        return RBDHW_OK; /* the streams alone say nothing of a design */
    int code = expect(driver, AT(magic), RBDHW_REGISTERS__MAGIC__VALUE_reset, RBDHW_STRANGER);
    if (!code)
        code = expect(driver, AT(map_version), RBDHW_REGISTERS__MAP_VERSION__VALUE_reset, RBDHW_STRANGER);
    for (uint32_t k = 0; k < 8 && !code; k++)
        code = expect(driver, AT(identity_0) + 4 * k, driver->design->identity[k], RBDHW_OTHER);
    return code ? code : reset(driver);
}
