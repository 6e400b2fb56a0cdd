#error "cuda_bf16.h is not there yet on the CPU back end"
