#error "curand_kernel.h is not there yet on the CPU back end"
