#ifndef CHAIN_C
#define CHAIN_C
#define CHAIN_SCALE 3
#endif
