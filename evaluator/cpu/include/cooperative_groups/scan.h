#error "cooperative_groups/scan.h is not there yet on the CPU back end"
