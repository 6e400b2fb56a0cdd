#include "kr/cuda.h"
