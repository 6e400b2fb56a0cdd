#error "cuda.h is not there yet on the CPU back end"
