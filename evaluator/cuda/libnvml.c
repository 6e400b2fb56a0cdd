#include "libnvml.h"

#include <dlfcn.h>
#include <stdio.h>

#include "libcuda.h"

// From NVML's documentation: clock and reason constants.
enum { NVML_CLOCK_SM = 1 };
enum {
  REASON_SW_POWER_CAP = 0x4,
  REASON_HW_SLOWDOWN = 0x8,
  REASON_SW_THERMAL = 0x20,
  REASON_HW_THERMAL = 0x40,
  REASON_HW_POWER_BRAKE = 0x80
};

struct libnvml {
  void *handle, *device;
  int (*init)(void);
  int (*by_uuid)(const char *uuid, void **device);
  int (*clock)(void *device, int type, unsigned *mhz);
  int (*reasons)(void *device, unsigned long long *bits);
};

struct libnvml *libnvml_open(const char *uuid)
{
  static struct libnvml lib;
  if (lib.device)
    return &lib;
  struct libnvml l = {.handle = libcuda_dlopen("libnvidia-ml.so.1")};
  if (!l.handle)
    return NULL;
  *(void **)&l.init = dlsym(l.handle, "nvmlInit_v2");
  *(void **)&l.by_uuid = dlsym(l.handle, "nvmlDeviceGetHandleByUUID");
  *(void **)&l.clock = dlsym(l.handle, "nvmlDeviceGetClockInfo");
  *(void **)&l.reasons = dlsym(l.handle, "nvmlDeviceGetCurrentClocksEventReasons");
  if (!l.reasons) // the name before driver 535
    *(void **)&l.reasons = dlsym(l.handle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (!l.init || !l.by_uuid || l.init() || l.by_uuid(uuid, &l.device) || !l.device) {
    dlclose(l.handle);
    return NULL;
  }
  lib = l;
  return &lib;
}

struct nvml_clocks libnvml_clocks(const struct libnvml *lib)
{
  struct nvml_clocks c = {.sm_mhz = -1};
  unsigned mhz = 0;
  if (lib && lib->clock && !lib->clock(lib->device, NVML_CLOCK_SM, &mhz))
    c.sm_mhz = (int)mhz;
  if (lib && lib->reasons && lib->reasons(lib->device, &c.reasons))
    c.reasons = 0;
  return c;
}

void nvml_clocks_compare(struct nvml_clocks before, struct nvml_clocks after, char *out,
                         size_t size)
{
  *out = 0;
  unsigned long long r = before.reasons | after.reasons;
  if (r & (REASON_HW_SLOWDOWN | REASON_HW_THERMAL | REASON_SW_THERMAL))
    snprintf(out, size, "the GPU is slowed by heat or hardware (clock event reasons 0x%llx)", r);
  else if (r & (REASON_HW_POWER_BRAKE | REASON_SW_POWER_CAP))
    snprintf(out, size, "the GPU runs at its power limit (clock event reasons 0x%llx)", r);
  else if (before.sm_mhz > 0 && after.sm_mhz > 0 && after.sm_mhz * 10 < before.sm_mhz * 9)
    snprintf(out, size, "the SM clock fell from %d to %d MHz", before.sm_mhz, after.sm_mhz);
}
