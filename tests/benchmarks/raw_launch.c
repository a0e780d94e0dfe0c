// Calls cuLaunchKernelEx in a loop: what a launch costs before anything of ours is in it.
#include <time.h>

typedef int (*Launch)(const void* config, void* function, void** parameters, void** extra);

double raw_launch_ns(Launch launch, const void* config, void* function, void** parameters,
                     int count) {
  struct timespec start;
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < count; ++i) {
    if (launch(config, function, parameters, 0) != 0) return -1.0;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
         count;
}
