#error "cublas_v2.h is not there yet on the CPU back end"
