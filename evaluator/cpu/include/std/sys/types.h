#ifndef KR_STD_SYS_TYPES_H
#define KR_STD_SYS_TYPES_H
#include "../../kr/cuda.h"
typedef unsigned char u_char;
typedef unsigned int u_int;
typedef unsigned char u_int8_t;
typedef unsigned short u_int16_t;
typedef unsigned int u_int32_t;
typedef unsigned long u_int64_t;
typedef long ssize_t;
#endif
