#error "surface_functions.h is not there yet on the CPU back end"
