#error "cuda_fp8.h is not there yet on the CPU back end"
