#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../evaluator/base/mem.h"

// Layouts of parameters and of what they point to. Device and host agree on
// them, or no launch would work; clang is asked on the device's side.

enum { TYPES_MAX_LEAVES = 4096, TYPES_MAX_DEPTH = 32 };

struct types_build {
  struct kr_ptype *type;
  struct kr_pkernel *k;
  size_t cap;
};

static void types_pointee(CXType type, struct kr_pkernel *k);

char *types_canonical(CXType type)
{
  CXType plain = clang_getUnqualifiedType(clang_getCanonicalType(type));
  return tu_take(clang_getTypeSpelling(plain));
}

static enum kr_scalar types_integer(CXType type)
{
  bool is_signed = true;
  switch (type.kind) {
  case CXType_Bool:
    return KR_SCALAR_BOOL;
  case CXType_Char_U:
  case CXType_UChar:
  case CXType_UShort:
  case CXType_UInt:
  case CXType_ULong:
  case CXType_ULongLong:
  case CXType_Char16:
  case CXType_Char32:
    is_signed = false;
    break;
  case CXType_Char_S:
  case CXType_SChar:
  case CXType_Short:
  case CXType_Int:
  case CXType_Long:
  case CXType_LongLong:
  case CXType_WChar:
    break;
  default:
    return KR_SCALAR_OPAQUE;
  }
  switch (clang_Type_getSizeOf(type)) {
  case 1:
    return is_signed ? KR_SCALAR_I8 : KR_SCALAR_U8;
  case 2:
    return is_signed ? KR_SCALAR_I16 : KR_SCALAR_U16;
  case 4:
    return is_signed ? KR_SCALAR_I32 : KR_SCALAR_U32;
  case 8:
    return is_signed ? KR_SCALAR_I64 : KR_SCALAR_U64;
  default:
    return KR_SCALAR_OPAQUE;
  }
}

static struct kr_pleaf *types_leaf(struct types_build *b, const char *path, size_t offset,
                                   enum kr_scalar kind)
{
  KR_GROW(b->type->leaves, b->type->n_leaves, b->cap);
  struct kr_pleaf *leaf = &b->type->leaves[b->type->n_leaves++];
  *leaf = (struct kr_pleaf){.path = kr_xstrdup(path), .offset = offset, .kind = kind};
  return leaf;
}

static void types_walk(struct types_build *b, CXType type, const char *path, size_t offset,
                       int depth);

struct types_fields {
  struct types_build *b;
  const char *path;
  size_t offset;
  int depth;
  bool opaque;
};

static enum CXVisitorResult types_field(CXCursor field, CXClientData data)
{
  struct types_fields *f = data;
  long long bits = clang_Cursor_getOffsetOfField(field);
  if (bits < 0 || bits % 8 || clang_Cursor_isBitField(field)) {
    f->opaque = true;
    return CXVisit_Break;
  }
  char *name = tu_take(clang_getCursorSpelling(field));
  // Members of an unnamed struct inside are members of the outer one.
  bool unnamed = !name[0] || strchr(name, '(');
  char *path = unnamed      ? kr_xstrdup(f->path)
               : f->path[0] ? kr_xasprintf("%s.%s", f->path, name)
                            : kr_xstrdup(name);
  types_walk(f->b, clang_getCursorType(field), path, f->offset + (size_t)bits / 8, f->depth + 1);
  free(path);
  free(name);
  return CXVisit_Continue;
}

static int types_spoils(void *arg, CXCursor cursor, CXCursor parent)
{
  (void)arg;
  (void)parent;
  // A base class or a table of virtual functions: offsets libclang does not tell.
  return clang_getCursorKind(cursor) == CXCursor_CXXBaseSpecifier ||
                 clang_CXXMethod_isVirtual(cursor)
             ? 2
             : 1;
}

static void types_record(struct types_build *b, CXType type, const char *path, size_t offset,
                         int depth)
{
  CXCursor decl = clang_getTypeDeclaration(type);
  char *name = types_canonical(type);
  // The toolkit's halves are structs around bits that their own operators know.
  enum kr_scalar half = !strcmp(name, "__half")          ? KR_SCALAR_F16
                        : !strcmp(name, "__nv_bfloat16") ? KR_SCALAR_BF16
                                                         : KR_SCALAR_OPAQUE;
  free(name);
  if (half != KR_SCALAR_OPAQUE) {
    types_leaf(b, path, offset, half);
    return;
  }
  enum CXCursorKind kind = clang_getCursorKind(decl);
  if (kind == CXCursor_UnionDecl || tu_visit(decl, types_spoils, NULL) ||
      clang_Type_getSizeOf(type) < 0) {
    types_leaf(b, path, offset, KR_SCALAR_OPAQUE);
    return;
  }
  size_t before = b->type->n_leaves;
  struct types_fields f = {b, path, offset, depth, false};
  clang_Type_visitFields(type, types_field, &f);
  if (f.opaque) {
    for (size_t i = before; i < b->type->n_leaves; i++) {
      free(b->type->leaves[i].path);
      free(b->type->leaves[i].pointee);
    }
    b->type->n_leaves = before;
    types_leaf(b, path, offset, KR_SCALAR_OPAQUE);
  }
}

static void types_walk(struct types_build *b, CXType written, const char *path, size_t offset,
                       int depth)
{
  CXType type = clang_getCanonicalType(written);
  if (depth > TYPES_MAX_DEPTH || b->type->n_leaves >= TYPES_MAX_LEAVES) {
    types_leaf(b, path, offset, KR_SCALAR_OPAQUE);
    return;
  }
  switch (type.kind) {
  case CXType_Void:
    types_leaf(b, path, offset, KR_SCALAR_VOID);
    return;
  case CXType_Half:
  case CXType_Float16:
    types_leaf(b, path, offset, KR_SCALAR_F16);
    return;
  case CXType_BFloat16:
    types_leaf(b, path, offset, KR_SCALAR_BF16);
    return;
  case CXType_Float:
    types_leaf(b, path, offset, KR_SCALAR_F32);
    return;
  case CXType_Double:
    types_leaf(b, path, offset, KR_SCALAR_F64);
    return;
  case CXType_Enum:
    types_leaf(b, path, offset,
               types_integer(clang_getCanonicalType(
                   clang_getEnumDeclIntegerType(clang_getTypeDeclaration(type)))));
    return;
  case CXType_Pointer: {
    CXType to = clang_getPointeeType(type);
    enum CXTypeKind kind = clang_getCanonicalType(to).kind;
    if (kind == CXType_FunctionProto || kind == CXType_FunctionNoProto) {
      types_leaf(b, path, offset, KR_SCALAR_OPAQUE);
      return;
    }
    struct kr_pleaf *leaf = types_leaf(b, path, offset, KR_SCALAR_POINTER);
    leaf->pointee = types_canonical(to);
    leaf->pointee_const = clang_isConstQualifiedType(clang_getCanonicalType(to));
    leaf->is_restrict = clang_isRestrictQualifiedType(written) || clang_isRestrictQualifiedType(type);
    types_pointee(to, b->k);
    return;
  }
  case CXType_ConstantArray: {
    CXType element = clang_getArrayElementType(type);
    long long n = clang_getArraySize(type), size = clang_Type_getSizeOf(element);
    if (n < 0 || n > TYPES_MAX_LEAVES || size < 0) {
      types_leaf(b, path, offset, KR_SCALAR_OPAQUE);
      return;
    }
    for (long long i = 0; i < n; i++) {
      char *at = kr_xasprintf("%s[%lld]", path, i);
      types_walk(b, element, at, offset + (size_t)(i * size), depth + 1);
      free(at);
    }
    return;
  }
  case CXType_Record:
    types_record(b, type, path, offset, depth);
    return;
  default:
    types_leaf(b, path, offset, types_integer(type));
  }
}

static void types_build(CXType type, struct kr_ptype *out, struct kr_pkernel *k)
{
  *out = (struct kr_ptype){.name = types_canonical(type)};
  CXType plain = clang_getCanonicalType(type);
  long long size = clang_Type_getSizeOf(plain), align = clang_Type_getAlignOf(plain);
  out->size = size > 0 && plain.kind != CXType_Void ? (size_t)size : 0;
  out->align = align > 0 && plain.kind != CXType_Void ? (size_t)align : 1;
  struct types_build b = {out, k, 0};
  types_walk(&b, type, "", 0, 0);
}

// Adds the type once. It is entered by name before it is walked, so that a type
// that points to itself ends the recursion.
static void types_pointee(CXType type, struct kr_pkernel *k)
{
  char *name = types_canonical(type);
  bool known = kr_pkernel_type(k, name) != NULL;
  free(name);
  if (known)
    return;
  k->types = kr_xreallocarray(k->types, k->n_types + 1, sizeof *k->types);
  size_t at = k->n_types++;
  k->types[at] = (struct kr_ptype){.name = types_canonical(type), .align = 1};
  struct kr_ptype built;
  types_build(type, &built, k);
  free(k->types[at].name); // k->types may have moved
  k->types[at] = built;
}

void types_param(CXType type, struct kr_ptype *out, struct kr_pkernel *k)
{
  types_build(type, out, k);
}
