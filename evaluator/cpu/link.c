#include "link.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/mem.h"
#include "vet.h"

// A linker for one object and one address. Small, because the object comes from
// a code generator we drive ourselves and may hold little; and ours, because
// what is not understood is then refused instead of passed on.

enum link_segment { LINK_TEXT, LINK_RO, LINK_RW, LINK_N, LINK_NONE = LINK_N };

struct link_section {
  enum link_segment segment;
  uint64_t address;
};

struct linking {
  const unsigned char *object;
  size_t len;
  const Elf64_Shdr *sections;
  size_t n_sections;
  const char *names;
  size_t names_len;
  struct link_section *placed;
  const Elf64_Sym *symbols;
  size_t n_symbols;
  const char *strings;
  size_t strings_len;
  // The segments as they grow, from KR_IMAGE_BASE.
  unsigned char *bytes;
  uint64_t size[LINK_N], start[LINK_N];
  uint64_t stubs, got;
};

static bool link_inside(const struct linking *l, uint64_t offset, uint64_t bytes)
{
  return offset <= l->len && bytes <= l->len - offset;
}

static const char *link_string(const char *table, size_t len, uint32_t at)
{
  return at < len && memchr(table + at, 0, len - at) ? table + at : "";
}

static bool link_is(const char *name, const char *base)
{
  size_t n = strlen(base);
  return !strncmp(name, base, n) && (!name[n] || name[n] == '.');
}

static int link_open(struct linking *l, struct kr_err *err)
{
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)l->object;
  if (l->len < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_type != ET_REL ||
      h->e_machine != EM_X86_64 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
      h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 || h->e_shnum == 0 ||
      !link_inside(l, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
    return kr_err_set(err, "the compiler's object is not one for x86-64");
  l->sections = (const Elf64_Shdr *)(l->object + h->e_shoff);
  l->n_sections = h->e_shnum;
  l->placed = kr_xcalloc(l->n_sections, sizeof *l->placed);
  for (size_t i = 0; i < l->n_sections; i++)
    if (l->sections[i].sh_type != SHT_NOBITS &&
        !link_inside(l, l->sections[i].sh_offset, l->sections[i].sh_size))
      return kr_err_set(err, "the compiler's object is cut short");
  if (h->e_shstrndx >= l->n_sections)
    return kr_err_set(err, "the compiler's object has no names");
  l->names = (const char *)l->object + l->sections[h->e_shstrndx].sh_offset;
  l->names_len = l->sections[h->e_shstrndx].sh_size;
  return 0;
}

// Which segment a section goes to, by an allow-list of names and types.
static int link_classify(const struct linking *l, size_t i, enum link_segment *out,
                         struct kr_err *err)
{
  const Elf64_Shdr *s = &l->sections[i];
  const char *name = link_string(l->names, l->names_len, s->sh_name);
  *out = LINK_NONE;
  if (s->sh_type == SHT_NULL)
    return 0;
  if (!(s->sh_flags & SHF_ALLOC)) {
    static const char *const plain[] = {".strtab", ".symtab", ".shstrtab", ".rela", ".comment",
                                        ".note.GNU-stack", ".llvm_addrsig"};
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
      if (link_is(name, plain[k]))
        return 0;
    return kr_err_set(err, "the compiled code has a section `%s`", name);
  }
  bool data = s->sh_type == SHT_PROGBITS, bss = s->sh_type == SHT_NOBITS;
  if (s->sh_flags & SHF_TLS || (!data && !bss))
    return kr_err_set(err, "the compiled code has a section `%s`", name);
  if (data && link_is(name, ".text") && s->sh_flags & SHF_EXECINSTR && !(s->sh_flags & SHF_WRITE))
    *out = LINK_TEXT;
  else if (s->sh_flags & SHF_EXECINSTR)
    return kr_err_set(err, "the compiled code has a section `%s`", name);
  else if (data && (link_is(name, ".rodata") || link_is(name, ".data.rel.ro")))
    *out = LINK_RO;
  else if ((data && link_is(name, ".data")) || (bss && link_is(name, ".bss")))
    *out = LINK_RW;
  else
    return kr_err_set(err, "the compiled code has a section `%s`", name);
  if (s->sh_addralign > KR_PAGE)
    return kr_err_set(err, "the compiled code wants an alignment of %llu bytes",
                      (unsigned long long)s->sh_addralign);
  return 0;
}

static uint64_t link_pages(uint64_t n) { return (n + KR_PAGE - 1) / KR_PAGE * KR_PAGE; }

enum { LINK_MAX = 256 << 20, LINK_STUB = 8 };

static int link_place(struct linking *l, struct kr_err *err)
{
  for (size_t i = 0; i < l->n_sections; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    enum link_segment seg;
    if (link_classify(l, i, &seg, err))
      return -1;
    l->placed[i].segment = seg;
    if (seg == LINK_NONE)
      continue;
    uint64_t align = s->sh_addralign ? s->sh_addralign : 1;
    l->size[seg] = (l->size[seg] + align - 1) / align * align;
    l->placed[i].address = l->size[seg]; // in its segment, for now
    if (s->sh_size > LINK_MAX || (l->size[seg] += s->sh_size) > LINK_MAX)
      return kr_err_set(err, "the kernel's variables take more than %d MiB", LINK_MAX >> 20);
  }
  // Calls out go through a stub each, addresses through a table the loader fills.
  l->size[LINK_TEXT] = (l->size[LINK_TEXT] + 15) / 16 * 16;
  uint64_t stubs = l->size[LINK_TEXT];
  l->size[LINK_TEXT] += (uint64_t)KR_N_IMPORTS * LINK_STUB;
  l->size[LINK_RO] = (l->size[LINK_RO] + 7) / 8 * 8;
  uint64_t got = l->size[LINK_RO];
  l->size[LINK_RO] += (uint64_t)KR_N_IMPORTS * 8;
  uint64_t at = KR_IMAGE_BASE;
  for (int seg = 0; seg < LINK_N; seg++) {
    l->start[seg] = at;
    l->size[seg] = link_pages(l->size[seg]);
    at += l->size[seg];
  }
  l->stubs = l->start[LINK_TEXT] + stubs;
  l->got = l->start[LINK_RO] + got;
  l->bytes = kr_xcalloc(1, at - KR_IMAGE_BASE);
  for (size_t i = 0; i < l->n_sections; i++) {
    if (l->placed[i].segment == LINK_NONE)
      continue;
    l->placed[i].address += l->start[l->placed[i].segment];
    if (l->sections[i].sh_type == SHT_PROGBITS)
      memcpy(l->bytes + (l->placed[i].address - KR_IMAGE_BASE),
             l->object + l->sections[i].sh_offset, l->sections[i].sh_size);
  }
  return 0;
}

static int link_symbols(struct linking *l, struct kr_image *image, struct kr_err *err)
{
  for (size_t i = 0; i < l->n_sections; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    if (s->sh_type != SHT_SYMTAB || s->sh_offset % 8)
      continue;
    if (l->symbols || s->sh_link >= l->n_sections)
      return kr_err_set(err, "the compiler's object has no usable symbols");
    l->symbols = (const Elf64_Sym *)(l->object + s->sh_offset);
    l->n_symbols = s->sh_size / sizeof(Elf64_Sym);
    l->strings = (const char *)l->object + l->sections[s->sh_link].sh_offset;
    l->strings_len = l->sections[s->sh_link].sh_size;
  }
  for (size_t i = 1; i < l->n_symbols; i++) {
    const Elf64_Sym *y = &l->symbols[i];
    const char *name = link_string(l->strings, l->strings_len, y->st_name);
    int type = ELF64_ST_TYPE(y->st_info);
    if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC && type != STT_SECTION &&
        type != STT_FILE)
      return kr_err_set(err, "the compiled code has `%s`, a symbol of type %d", name, type);
    if (y->st_shndx == SHN_UNDEF) {
      if (vet_import(name, strlen(name)) < 0)
        return kr_err_set(err, "the compiled code calls `%s`, which device code cannot", name);
    } else if (y->st_shndx != SHN_ABS || type != STT_FILE) {
      if (y->st_shndx >= l->n_sections)
        return kr_err_set(err, "the compiled code has `%s` in no section", name);
      bool global = ELF64_ST_BIND(y->st_info) != STB_LOCAL;
      bool entry = !strcmp(name, VET_ENTRY) && type == STT_FUNC;
      if (global != entry)
        return kr_err_set(err, "the compiled code exports `%s`", name);
      if (entry)
        image->entry = l->placed[y->st_shndx].address + y->st_value;
    }
  }
  if (!image->entry)
    return kr_err_set(err, "the kernel was not found in the compiled code");
  return 0;
}

// The address a symbol stands for; calls out go to their stub.
static int link_value(const struct linking *l, uint32_t symbol, uint64_t *value, int *import,
                      struct kr_err *err)
{
  if (symbol == 0 || symbol >= l->n_symbols)
    return kr_err_set(err, "the compiled code refers to nothing");
  const Elf64_Sym *y = &l->symbols[symbol];
  *import = -1;
  if (y->st_shndx == SHN_UNDEF) {
    const char *name = link_string(l->strings, l->strings_len, y->st_name);
    *import = vet_import(name, strlen(name));
    *value = l->stubs + (uint64_t)*import * LINK_STUB;
    return 0;
  }
  if (y->st_shndx >= l->n_sections || l->placed[y->st_shndx].segment == LINK_NONE)
    return kr_err_set(err, "the compiled code refers to something that is not loaded");
  *value = l->placed[y->st_shndx].address + y->st_value;
  return 0;
}

static int link_relocate(const struct linking *l, const Elf64_Rela *r, const Elf64_Shdr *target,
                         uint64_t base, struct kr_err *err)
{
  uint64_t s = 0;
  int import = -1;
  if (link_value(l, (uint32_t)ELF64_R_SYM(r->r_info), &s, &import, err))
    return -1;
  uint32_t type = ELF64_R_TYPE(r->r_info);
  size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
  if (r->r_offset > target->sh_size || width > target->sh_size - r->r_offset)
    return kr_err_set(err, "the compiled code relocates outside its section");
  uint64_t p = base + r->r_offset, a = (uint64_t)r->r_addend, value;
  unsigned char *at = l->bytes + (p - KR_IMAGE_BASE);
  switch (type) {
  case R_X86_64_64:
    value = s + a;
    break;
  case R_X86_64_PC64:
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
    value = s + a - p;
    break;
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    if (import < 0)
      return kr_err_set(err, "the compiled code looks its own symbol up");
    value = l->got + (uint64_t)import * 8 + a - p;
    break;
  default:
    return kr_err_set(err, "the compiled code has a relocation of type %u", type);
  }
  if (width == 4 && (int64_t)value != (int32_t)value)
    return kr_err_set(err, "the compiled code is too large for a relocation");
  memcpy(at, &value, width);
  return 0;
}

static int link_relocations(const struct linking *l, struct kr_err *err)
{
  for (size_t i = 0; i < l->n_sections; i++) {
    const Elf64_Shdr *s = &l->sections[i];
    if (s->sh_type == SHT_REL)
      return kr_err_set(err, "the compiler's object has relocations of another kind");
    if (s->sh_type != SHT_RELA)
      continue;
    if (s->sh_info >= l->n_sections || s->sh_offset % 8)
      return kr_err_set(err, "the compiler's object relocates nothing");
    const struct link_section *target = &l->placed[s->sh_info];
    if (target->segment == LINK_NONE)
      continue;
    const Elf64_Rela *r = (const Elf64_Rela *)(l->object + s->sh_offset);
    for (size_t k = 0; k < s->sh_size / sizeof *r; k++)
      if (link_relocate(l, &r[k], &l->sections[s->sh_info], target->address, err))
        return -1;
  }
  for (int i = 0; i < KR_N_IMPORTS; i++) {
    // jmp *rel32(%rip), ud2
    uint64_t at = l->stubs + (uint64_t)i * LINK_STUB;
    int32_t rel = (int32_t)(l->got + (uint64_t)i * 8 - (at + 6));
    unsigned char *p = l->bytes + (at - KR_IMAGE_BASE);
    p[0] = 0xff;
    p[1] = 0x25;
    memcpy(p + 2, &rel, 4);
    p[6] = 0x0f;
    p[7] = 0x0b;
  }
  return 0;
}

int link_image(const unsigned char *object, size_t len, struct kr_image *image,
               struct kr_bytes *out, struct kr_err *err)
{
  struct linking l = {.object = object, .len = len};
  int rc = -1;
  if (link_open(&l, err) || link_place(&l, err) || link_symbols(&l, image, err) ||
      link_relocations(&l, err))
    goto out;
  image->text_bytes = l.size[LINK_TEXT];
  image->ro_bytes = l.size[LINK_RO];
  image->rw_bytes = l.size[LINK_RW];
  image->got = l.got;
  size_t total = image->text_bytes + image->ro_bytes + image->rw_bytes;
  struct kr_hasher h;
  kr_hasher_init(&h);
  kr_hasher_field(&h, l.bytes, total);
  kr_hasher_field(&h, &image->entry, sizeof image->entry);
  kr_hasher_field(&h, image->shared, sizeof *image->shared * image->n_shared);
  struct kr_hash hash = kr_hasher_end(&h);
  memcpy(image->hash, hash.bytes, sizeof image->hash);
  if (kr_bytes_add(out, l.bytes, total)) {
    kr_err_set(err, "the compiled code is too large");
    goto out;
  }
  rc = 0;
out:
  free(l.placed);
  free(l.bytes);
  return rc;
}
