#error "cub is not there yet on the CPU back end"
