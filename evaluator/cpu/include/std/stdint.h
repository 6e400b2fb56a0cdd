#ifndef KR_STD_STDINT_H
#define KR_STD_STDINT_H
typedef __INT8_TYPE__ int8_t;
typedef __INT_LEAST8_TYPE__ int_least8_t;
typedef __INT_FAST8_TYPE__ int_fast8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT_LEAST8_TYPE__ uint_least8_t;
typedef __UINT_FAST8_TYPE__ uint_fast8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT_LEAST16_TYPE__ int_least16_t;
typedef __INT_FAST16_TYPE__ int_fast16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT_LEAST16_TYPE__ uint_least16_t;
typedef __UINT_FAST16_TYPE__ uint_fast16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT_LEAST32_TYPE__ int_least32_t;
typedef __INT_FAST32_TYPE__ int_fast32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT_LEAST32_TYPE__ uint_least32_t;
typedef __UINT_FAST32_TYPE__ uint_fast32_t;
typedef __INT64_TYPE__ int64_t;
typedef __INT_LEAST64_TYPE__ int_least64_t;
typedef __INT_FAST64_TYPE__ int_fast64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINT_LEAST64_TYPE__ uint_least64_t;
typedef __UINT_FAST64_TYPE__ uint_fast64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __INTMAX_TYPE__ intmax_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __UINTMAX_TYPE__ uintmax_t;
#define INT8_MAX __INT8_MAX__
#define INT8_MIN (-__INT8_MAX__ - 1)
#define UINT8_MAX __UINT8_MAX__
#define INT16_MAX __INT16_MAX__
#define INT16_MIN (-__INT16_MAX__ - 1)
#define UINT16_MAX __UINT16_MAX__
#define INT32_MAX __INT32_MAX__
#define INT32_MIN (-__INT32_MAX__ - 1)
#define UINT32_MAX __UINT32_MAX__
#define INT64_MAX __INT64_MAX__
#define INT64_MIN (-__INT64_MAX__ - 1)
#define UINT64_MAX __UINT64_MAX__
#define INTPTR_MAX __INTPTR_MAX__
#define UINTPTR_MAX __UINTPTR_MAX__
#define SIZE_MAX __SIZE_MAX__
#define INT64_C(x) x##L
#define UINT64_C(x) x##UL
#define INT32_C(x) x
#define UINT32_C(x) x##U
namespace std {
using ::int8_t;
using ::int_least8_t;
using ::int_fast8_t;
using ::uint8_t;
using ::uint_least8_t;
using ::uint_fast8_t;
using ::int16_t;
using ::int_least16_t;
using ::int_fast16_t;
using ::uint16_t;
using ::uint_least16_t;
using ::uint_fast16_t;
using ::int32_t;
using ::int_least32_t;
using ::int_fast32_t;
using ::uint32_t;
using ::uint_least32_t;
using ::uint_fast32_t;
using ::int64_t;
using ::int_least64_t;
using ::int_fast64_t;
using ::uint64_t;
using ::uint_least64_t;
using ::uint_fast64_t;
using ::intptr_t;
using ::intmax_t;
using ::uintptr_t;
using ::uintmax_t;
}
#endif
