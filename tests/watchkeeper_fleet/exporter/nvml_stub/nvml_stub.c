/* A libnvidia-ml.so.1 without a device. `stub_set` changes what it answers; with -DOLD_DRIVER it has the symbols of
 * a driver of 2020 alone. Device numbers: 0 to 63 whole ones, 100 * (device + 1) + slice the slices. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef unsigned int uint;
typedef unsigned long long ull;
enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7, NO_DRIVER = 9, TIMEOUT = 10, LOST = 15 };

typedef struct {
  int lost, garbage, mig, used_gib, temperature, reasons, remap_failed, pid, xid;
} Device;

static Device devices[8];
static int count = 8, init = OK, hang = 0;
static int reloaded = 0; /* the driver was loaded anew: nothing works before the library has ended and begun again */
static int starts = 0, generation = 0;
static int handles[1024]; /* a handle is the address of its number */

void stub_set(int device, const char *key, int value) {
  Device *d = &devices[device & 7];
  if (!strcmp(key, "count")) count = value;
  else if (!strcmp(key, "init")) init = value;
  else if (!strcmp(key, "reloaded")) reloaded = value;
  else if (!strcmp(key, "hang")) hang = value;
  else if (!strcmp(key, "lost")) d->lost = value;
  else if (!strcmp(key, "garbage")) d->garbage = value;
  else if (!strcmp(key, "mig")) d->mig = value;
  else if (!strcmp(key, "used_gib")) d->used_gib = value;
  else if (!strcmp(key, "temperature")) d->temperature = value;
  else if (!strcmp(key, "reasons")) d->reasons = value;
  else if (!strcmp(key, "remap_failed")) d->remap_failed = value;
  else if (!strcmp(key, "pid")) d->pid = value;
  else if (!strcmp(key, "xid")) d->xid = value;
}

static int number_of(const int *handle) { return *handle; }
static Device *of(const int *handle) {
  int n = number_of(handle);
  return &devices[(n >= 100 ? n / 100 - 1 : n) & 7];
}
/* lost is 1: calls fail; 2: there is no handle either; 3: it went between two calls */
#define CHECK(handle) if (of(handle)->lost % 3) return LOST; if (hang) sleep(hang)
#define WHOLE(handle) CHECK(handle); if (of(handle)->lost) return LOST; if (number_of(handle) >= 100) return NOT_SUPPORTED
#define NUMBER(name, value) \
  int name(const int *handle, uint *out) { WHOLE(handle); *out = of(handle)->garbage ? 4294967295u : (value); return OK; }

int nvmlInitWithFlags(uint flags) {
  if (init == OK && starts++ == 0) { reloaded = 0; generation++; }
  return init;
}
int nvmlShutdown(void) {
  if (!starts) return UNINITIALIZED;
  starts--;
  return OK;
}
const char *nvmlErrorString(int code) { return code == LOST ? "GPU is lost" : "an error"; }
int nvmlSystemGetDriverVersion(char *out, uint size) { snprintf(out, size, "550.54.15"); return OK; }
int nvmlDeviceGetCount_v2(uint *out) { *out = count; return reloaded ? UNINITIALIZED : OK; }
int nvmlDeviceGetHandleByIndex_v2(uint index, int **out) {
  if (index >= 8) return INVALID;
  handles[index] = index;
  *out = &handles[index];
  return devices[index].lost == 2 ? LOST : OK;
}
int nvmlDeviceGetUUID(const int *handle, char *out, uint size) {
  CHECK(handle);
  int n = number_of(handle);
  if (of(handle)->garbage) snprintf(out, size, "GPU-\xff\xfe\"} 1\n");
  else snprintf(out, size, "%s-00000000-0000-4000-8000-%012d", n >= 100 ? "MIG" : "GPU", n);
  return OK;
}
int nvmlDeviceGetName(const int *handle, char *out, uint size) {
  CHECK(handle);
  snprintf(out, size, of(handle)->garbage ? "\xc3\x28" : "NVIDIA H100 80GB HBM3");
  return OK;
}

typedef struct { ull total, free, used; } Memory;
int nvmlDeviceGetMemoryInfo(const int *handle, Memory *out) {
  CHECK(handle);
  ull gib = 1ull << 30;
  out->total = 80 * gib;
  out->used = (of(handle)->used_gib + 1) * gib; /* the driver's own among it */
  out->free = out->total - out->used;
  if (of(handle)->garbage) out->total = out->free = out->used = -1ull;
  return OK;
}
typedef struct { uint gpu, memory; } Utilization;
int nvmlDeviceGetUtilizationRates(const int *handle, Utilization *out) {
  WHOLE(handle);
  if (of(handle)->mig) return NOT_SUPPORTED;
  out->gpu = of(handle)->garbage ? 4294967295u : 37;
  return OK;
}
int nvmlDeviceGetTemperature(const int *handle, int sensor, uint *out) {
  WHOLE(handle);
  *out = of(handle)->garbage ? 4294967295u : (uint)of(handle)->temperature;
  return OK;
}
int nvmlDeviceGetTemperatureThreshold(const int *handle, int which, uint *out) {
  WHOLE(handle);
  *out = of(handle)->garbage ? 4294967295u : 90;
  return which == 1 ? OK : INVALID;
}
NUMBER(nvmlDeviceGetPowerUsage, 350500)
NUMBER(nvmlDeviceGetPcieReplayCounter, 2)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, 8)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 16)
int nvmlDeviceGetTotalEccErrors(const int *handle, int kind, int counter, ull *out) {
  WHOLE(handle);
  *out = of(handle)->garbage ? -1ull : kind ? 1 : 12;
  return OK;
}

typedef struct { uint pid; ull used; uint instance, compute; } Info;
static int running(const int *handle, uint *size, Info *out) {
  CHECK(handle);
  Device *d = of(handle);
  uint needed = d->garbage ? 2 : d->pid ? 1 : 0, room = *size;
  *size = needed;
  if (!needed) return OK;
  if (room < needed) return SMALL;
  memset(out, 0, needed * sizeof *out);
  out[0].pid = d->pid;
  out[0].used = 3ull << 30;
  if (d->garbage) { out[0].used = -1ull; out[1].pid = 4294967295u; *size = 1000000; }
  return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v2(const int *h, uint *size, Info *out) { return running(h, size, out); }

/* A set is void with the start that it is of, and once a device in it is off the bus it tells nothing any more. */
typedef struct { int generation, devices; } Set;
static Set sets[64];
static int made = 0;
int nvmlEventSetCreate(Set **out) {
  if (reloaded) return UNINITIALIZED;
  *out = &sets[made++ & 63];
  (*out)->generation = generation;
  (*out)->devices = 0;
  return OK;
}
int nvmlEventSetFree(Set *set) { set->generation = -1; return OK; }
int nvmlDeviceRegisterEvents(const int *handle, ull types, Set *set) {
  if (set->generation != generation) return INVALID;
  if (of(handle)->lost) return LOST;
  set->devices |= 1 << number_of(handle);
  return types == 8 ? OK : NOT_SUPPORTED;
}
typedef struct { int *device; ull type, data; uint instance, compute; } Event;
int nvmlEventSetWait_v2(Set *set, Event *out, uint milliseconds) {
  for (uint waited = 0; waited <= milliseconds; waited += 5) {
    if (reloaded || set->generation != generation) return UNINITIALIZED;
    for (int i = 0; i < 8; i++)
      if (devices[i].xid && set->devices & 1 << i) {
        memset(out, 0, sizeof *out);
        out->device = &handles[i];
        out->type = 8;
        out->data = devices[i].xid;
        devices[i].xid = 0;
        return OK;
      }
    for (int i = 0; i < 8; i++)
      if (devices[i].lost && set->devices & 1 << i) return LOST;
    usleep(5000);
  }
  return TIMEOUT;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(const int *handle, ull *out) {
  WHOLE(handle);
  *out = of(handle)->reasons;
  return OK;
}

#ifndef OLD_DRIVER
typedef struct { uint version; ull total, reserved, free, used; } Memory2;
int nvmlDeviceGetMemoryInfo_v2(const int *handle, Memory2 *out) {
  Memory first;
  int code = nvmlDeviceGetMemoryInfo(handle, &first);
  if (code) return code;
  out->total = first.total;
  out->free = first.free;
  out->reserved = 1ull << 30;
  out->used = of(handle)->garbage ? first.used : first.used - out->reserved;
  return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(const int *h, uint *size, Info *out) { return running(h, size, out); }
int nvmlDeviceGetCurrentClocksEventReasons(const int *handle, ull *out) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(handle, out);
}
int nvmlDeviceGetRemappedRows(const int *handle, uint *corrected, uint *uncorrected, uint *pending, uint *failed) {
  WHOLE(handle);
  *corrected = *uncorrected = *pending = 0;
  *failed = of(handle)->remap_failed;
  return OK;
}
typedef struct { uint field, scope; long long time, latency; int type, code; union { double d; ull u; } value; } Field;
int nvmlDeviceGetFieldValues(const int *handle, int size, Field *fields) {
  WHOLE(handle);
  for (int i = 0; i < size; i++) {
    fields[i].code = fields[i].field == 59 ? NOT_SUPPORTED : OK; /* recovery is not counted here */
    fields[i].value.u = of(handle)->garbage ? -1ull : fields[i].field;
  }
  return OK;
}
int nvmlDeviceGetMigMode(const int *handle, uint *now, uint *pending) {
  WHOLE(handle);
  *now = *pending = of(handle)->garbage ? 77 : of(handle)->mig > 0;
  return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(const int *handle, uint *out) { *out = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(const int *handle, uint index, int **out) {
  if ((int)index >= of(handle)->mig) return NOT_FOUND;
  int n = 100 * (number_of(handle) + 1) + index;
  handles[n] = n;
  *out = &handles[n];
  return OK;
}
#endif
