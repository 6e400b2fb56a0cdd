#ifndef KR_STD_STDDEF_H
#define KR_STD_STDDEF_H
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __typeof__(nullptr) nullptr_t;
#define NULL __null
#define offsetof(t, m) __builtin_offsetof(t, m)
namespace std {
using ::nullptr_t;
using ::ptrdiff_t;
using ::size_t;
}
#endif
