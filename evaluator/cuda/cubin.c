#include "cubin.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The fingerprint is a walk: the kernel's code section is hashed, then, in the
// order of its relocations, every place they point to. A section is described
// by its contents the first time it is met and by a number after that, so that
// recursion and sharing are told apart without a name. Relocations matter: the
// bytes of two functions that read two different tables are equal before the
// loader fills the addresses in.

enum { MAX_SECTIONS = 4096 };

struct image {
  const unsigned char *bytes;
  size_t len;
  const Elf64_Shdr *sections;
  size_t n;
  const char *names;
  size_t names_len;
  const Elf64_Sym *symbols;
  size_t n_symbols;
  const char *strings;
  size_t strings_len;
};

struct walk {
  const struct image *im;
  struct kr_hasher hash;
  unsigned short order[MAX_SECTIONS]; // 1 + position in the walk
  unsigned short seen;
  unsigned queue[MAX_SECTIONS];
  size_t head, tail;
};

static const unsigned char *contents(const struct image *im, const Elf64_Shdr *s)
{
  if (s->sh_type == SHT_NOBITS || s->sh_offset > im->len || s->sh_size > im->len - s->sh_offset)
    return NULL;
  return im->bytes + s->sh_offset;
}

static const char *section_name(const struct image *im, const Elf64_Shdr *s)
{
  return s->sh_name < im->names_len ? im->names + s->sh_name : "";
}

static const char *symbol_name(const struct image *im, const Elf64_Sym *s)
{
  return s->st_name < im->strings_len ? im->strings + s->st_name : "";
}

static int image_open(struct image *im, const unsigned char *bytes, size_t len, struct kr_err *err)
{
  memset(im, 0, sizeof *im);
  im->bytes = bytes;
  im->len = len;
  const Elf64_Ehdr *h = (const Elf64_Ehdr *)bytes;
  if (len < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
      h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_shentsize != sizeof(Elf64_Shdr) ||
      h->e_shoff % sizeof(uint64_t) || h->e_shoff > len || h->e_shnum >= MAX_SECTIONS ||
      h->e_shnum > (len - h->e_shoff) / sizeof(Elf64_Shdr) || h->e_shstrndx >= h->e_shnum)
    return kr_err_set(err, "the compiler's machine code is no ELF file that can be read");
  im->sections = (const Elf64_Shdr *)(bytes + h->e_shoff);
  im->n = h->e_shnum;
  const Elf64_Shdr *names = &im->sections[h->e_shstrndx];
  im->names = (const char *)contents(im, names);
  im->names_len = im->names ? names->sh_size : 0;
  for (size_t i = 0; i < im->n; i++) {
    const Elf64_Shdr *s = &im->sections[i];
    if (s->sh_type != SHT_SYMTAB || s->sh_link >= im->n || s->sh_offset % sizeof(uint64_t))
      continue;
    im->symbols = (const Elf64_Sym *)contents(im, s);
    im->n_symbols = im->symbols ? s->sh_size / sizeof(Elf64_Sym) : 0;
    im->strings = (const char *)contents(im, &im->sections[s->sh_link]);
    im->strings_len = im->strings ? im->sections[s->sh_link].sh_size : 0;
  }
  // Names must end inside their tables.
  if (!im->names_len || im->names[im->names_len - 1] || !im->strings_len ||
      im->strings[im->strings_len - 1])
    return kr_err_set(err, "the compiler's machine code has no symbols");
  return 0;
}

static void add_number(struct walk *w, uint64_t n)
{
  kr_hasher_add(&w->hash, &n, sizeof n);
}

// Adds what `index` is: its number when it was met before, else it is queued.
static void meet(struct walk *w, size_t index)
{
  if (!index || index >= w->im->n) {
    add_number(w, UINT64_MAX); // undefined or absolute
    return;
  }
  if (!w->order[index]) {
    w->order[index] = ++w->seen;
    w->queue[w->tail++] = (unsigned)index;
  }
  add_number(w, w->order[index]);
}

static bool is_relocation_of(const struct image *im, const Elf64_Shdr *s, size_t target)
{
  return (s->sh_type == SHT_RELA || s->sh_type == SHT_REL) && s->sh_info == target &&
         contents(im, s) && s->sh_offset % sizeof(uint64_t) == 0;
}

static void add_symbol(struct walk *w, uint64_t index)
{
  const struct image *im = w->im;
  if (index >= im->n_symbols) {
    add_number(w, UINT64_MAX);
    return;
  }
  const Elf64_Sym *s = &im->symbols[index];
  add_number(w, ELF64_ST_TYPE(s->st_info));
  add_number(w, s->st_value);
  add_number(w, s->st_size);
  // Undefined symbols are the driver's (vprintf, malloc): their name is what
  // they do.
  if (s->st_shndx == SHN_UNDEF)
    kr_hasher_field(&w->hash, symbol_name(im, s), strlen(symbol_name(im, s)));
  meet(w, s->st_shndx < SHN_LORESERVE ? s->st_shndx : 0);
}

static void add_section(struct walk *w, size_t index)
{
  const struct image *im = w->im;
  const Elf64_Shdr *s = &im->sections[index];
  const unsigned char *data = contents(im, s);
  add_number(w, s->sh_type);
  add_number(w, s->sh_flags & (SHF_WRITE | SHF_EXECINSTR));
  add_number(w, s->sh_size);
  if (data)
    kr_hasher_field(&w->hash, data, s->sh_size);
  for (size_t i = 0; i < im->n; i++) {
    const Elf64_Shdr *r = &im->sections[i];
    if (!is_relocation_of(im, r, index))
      continue;
    const unsigned char *at = contents(im, r);
    size_t size = r->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (size_t k = 0; k + size <= r->sh_size; k += size) {
      const Elf64_Rela *rel = (const Elf64_Rela *)(at + k);
      add_number(w, rel->r_offset);
      add_number(w, ELF64_R_TYPE(rel->r_info));
      add_number(w, r->sh_type == SHT_RELA ? (uint64_t)rel->r_addend : 0);
      add_symbol(w, ELF64_R_SYM(rel->r_info));
    }
  }
}

static size_t section_of(const struct image *im, const char *prefix, const char *kernel)
{
  size_t len = strlen(prefix);
  for (size_t i = 1; i < im->n; i++) {
    const char *name = section_name(im, &im->sections[i]);
    if (!strncmp(name, prefix, len) && !strcmp(name + len, kernel))
      return i;
  }
  return 0;
}

// Constant banks of the whole module: the user's (3), addresses of variables
// (4), and what else is not a kernel's own. Code reads them at fixed places,
// without relocations.
static bool is_shared_constant(const char *name)
{
  static const char prefix[] = ".nv.constant";
  return !strncmp(name, prefix, sizeof prefix - 1) && !strchr(name + sizeof prefix - 1, '.');
}

// A kernel's attributes are a list of (format, attribute, value) entries; one
// whose format says so carries its own length.
static void read_params(const struct image *im, size_t section, struct cubin_facts *out)
{
  enum { FORMAT_SIZED = 4, KPARAM_INFO = 0x17, SIZE_SHIFT = 18 };
  const Elf64_Shdr *s = &im->sections[section];
  const unsigned char *data = section ? contents(im, s) : NULL;
  for (size_t at = 0; data && at + 4 <= s->sh_size;) {
    uint16_t size = 0, ordinal = 0;
    uint32_t word = 0;
    if (data[at] != FORMAT_SIZED) {
      at += 4;
      continue;
    }
    memcpy(&size, data + at + 2, sizeof size);
    if (size > s->sh_size - at - 4)
      return;
    if (data[at + 1] == KPARAM_INFO && size >= 12) { // index, ordinal, offset, size
      memcpy(&ordinal, data + at + 8, sizeof ordinal);
      memcpy(&word, data + at + 12, sizeof word);
      if (ordinal < CUBIN_MAX_PARAMS)
        out->param_sizes[ordinal] = word >> SIZE_SHIFT;
      out->n_params++;
    }
    at += 4 + (size_t)size;
  }
}

// Facts of all functions stand in one list: pairs of a symbol and a number.
static void read_usage(const struct image *im, const char *kernel, struct cubin_facts *out)
{
  enum { FORMAT_SIZED = 4, FRAME_SIZE = 0x11, REGCOUNT = 0x2f };
  out->registers = out->frame_bytes = -1;
  for (size_t i = 1; i < im->n; i++) {
    const Elf64_Shdr *s = &im->sections[i];
    const unsigned char *data = contents(im, s);
    if (strcmp(section_name(im, s), ".nv.info") || !data)
      continue;
    for (size_t at = 0; at + 4 <= s->sh_size;) {
      uint16_t size = 0;
      uint32_t symbol = 0, value = 0;
      if (data[at] != FORMAT_SIZED) {
        at += 4;
        continue;
      }
      memcpy(&size, data + at + 2, sizeof size);
      if (size > s->sh_size - at - 4)
        return;
      if (size >= 8) {
        memcpy(&symbol, data + at + 4, sizeof symbol);
        memcpy(&value, data + at + 8, sizeof value);
        bool own = symbol < im->n_symbols && !strcmp(symbol_name(im, &im->symbols[symbol]), kernel);
        if (own && value <= INT32_MAX && data[at + 1] == REGCOUNT)
          out->registers = (int)value;
        if (own && value <= INT32_MAX && data[at + 1] == FRAME_SIZE)
          out->frame_bytes = (int)value;
      }
      at += 4 + (size_t)size;
    }
  }
}

const unsigned char *cubin_text(const unsigned char *bytes, size_t len, const char *kernel,
                                size_t *text_len)
{
  struct image im;
  struct kr_err err = {{0}};
  size_t text = image_open(&im, bytes, len, &err) ? 0 : section_of(&im, ".text.", kernel);
  const unsigned char *data = text ? contents(&im, &im.sections[text]) : NULL;
  *text_len = data ? im.sections[text].sh_size : 0;
  return data;
}

static void each_state(const struct image *im, void (*visit)(void *arg, const char *name),
                       void *arg)
{
  for (size_t i = 0; i < im->n_symbols; i++) {
    const Elf64_Sym *s = &im->symbols[i];
    if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || !s->st_shndx || s->st_shndx >= im->n)
      continue;
    const char *section = section_name(im, &im->sections[s->st_shndx]);
    bool global = !strcmp(section, ".nv.global") || !strcmp(section, ".nv.global.init");
    // Tables of the compiler's own mathematics, string literals and constants of
    // the standard library's classes lie there too.
    static const char *const constant[] = {"__cudart_", "$str", "_ZNSt"};
    const char *name = symbol_name(im, s);
    for (size_t k = 0; k < sizeof constant / sizeof *constant; k++)
      global &= strncmp(name, constant[k], strlen(constant[k])) != 0;
    if (global)
      visit(arg, name);
  }
}

static void set_true(void *arg, const char *name)
{
  (void)name;
  *(bool *)arg = true;
}

int cubin_read(const unsigned char *bytes, size_t len, const char *kernel,
               struct cubin_facts *out, struct kr_err *err)
{
  struct image im;
  if (image_open(&im, bytes, len, err))
    return -1;
  size_t text = section_of(&im, ".text.", kernel);
  if (!text)
    return kr_err_set(err, "the compiler's machine code holds no kernel %s", kernel);
  struct walk w = {.im = &im};
  kr_hasher_init(&w.hash);
  meet(&w, text);
  static const char *const own[] = {".nv.shared.", ".nv.constant0.", ".nv.constant2."};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    meet(&w, section_of(&im, own[i], kernel));
  for (size_t i = 1; i < im.n; i++)
    if (is_shared_constant(section_name(&im, &im.sections[i])))
      meet(&w, i);
  while (w.head < w.tail)
    add_section(&w, w.queue[w.head++]);
  out->code = kr_hasher_end(&w.hash);

  memset(out->param_sizes, 0, sizeof out->param_sizes);
  out->n_params = 0;
  read_params(&im, section_of(&im, ".nv.info.", kernel), out);

  read_usage(&im, kernel, out);

  out->has_state = false;
  each_state(&im, set_true, &out->has_state);
  return 0;
}

void cubin_each_state(const unsigned char *bytes, size_t len,
                      void (*visit)(void *arg, const char *name), void *arg)
{
  struct image im;
  if (!image_open(&im, bytes, len, NULL))
    each_state(&im, visit, arg);
}

// --- two modules side by side ---

// Does `id` name one of these, or with `helpers` something called after one?
static bool names_one(const char *id, size_t len, const char *const *names, size_t n, bool helpers)
{
  for (size_t i = 0; i < n; i++) {
    size_t l = strlen(names[i]);
    if (len >= l && !memcmp(id, names[i], l) && (len == l || (helpers && id[l] == '_')))
      return true;
  }
  return false;
}

// Walks the parts of a mangled name (Itanium C++ ABI), each behind its length:
// digits may end one part and begin the next, so that searching for a part would
// not do. What is extern "C" is not mangled.
static bool is_excepted(const char *symbol, const char *const *except, size_t n, bool helpers)
{
  if (strncmp(symbol, "_Z", 2))
    return names_one(symbol, strlen(symbol), except, n, helpers);
  for (const char *p = symbol + 2; *p;) {
    if (*p >= '0' && *p <= '9') {
      char *id;
      unsigned long len = strtoul(p, &id, 10);
      if (len > strlen(id))
        return false;
      if (names_one(id, len, except, n, helpers))
        return true;
      p = id + len;
    } else if ((*p == 'S' || *p == 'T') && p[1 + strspn(p + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '_') {
      p = strchr(p, '_') + 1; // a substitution, a template's parameter
    } else if (*p == 'L' && p[1] >= 'a' && p[1] <= 'z') {
      p += 2 + strspn(p + 2, "n0123456789"); // a literal
    } else {
      p++;
    }
  }
  return false;
}

static bool same_contents(const struct image *a, size_t i, const struct image *b, size_t k)
{
  if (!i || !k)
    return i == k;
  const Elf64_Shdr *s = &a->sections[i], *t = &b->sections[k];
  const unsigned char *x = contents(a, s), *y = contents(b, t);
  if (s->sh_type != t->sh_type || s->sh_size != t->sh_size || !x != !y)
    return false;
  return !x || !memcmp(x, y, s->sh_size);
}

static const char *relocated(const struct image *im, const Elf64_Rela *r)
{
  uint64_t index = ELF64_R_SYM(r->r_info);
  return index < im->n_symbols ? symbol_name(im, &im->symbols[index]) : "";
}

static size_t relocations_of(const struct image *im, size_t target, const Elf64_Rela **out)
{
  for (size_t i = 1; i < im->n; i++) {
    const Elf64_Shdr *s = &im->sections[i];
    if (s->sh_type == SHT_RELA && is_relocation_of(im, s, target)) {
      *out = (const Elf64_Rela *)(const void *)contents(im, s);
      return s->sh_size / sizeof **out;
    }
  }
  *out = NULL;
  return 0;
}

static bool same_relocations(const struct image *a, size_t i, const struct image *b, size_t k)
{
  const Elf64_Rela *x, *y;
  size_t n = relocations_of(a, i, &x);
  if (relocations_of(b, k, &y) != n)
    return false;
  for (size_t r = 0; r < n; r++) {
    if (x[r].r_offset != y[r].r_offset || x[r].r_addend != y[r].r_addend ||
        ELF64_R_TYPE(x[r].r_info) != ELF64_R_TYPE(y[r].r_info) ||
        strcmp(relocated(a, &x[r]), relocated(b, &y[r])))
      return false;
  }
  return true;
}

static const Elf64_Sym *object_named(const struct image *im, const char *name)
{
  for (size_t i = 0; i < im->n_symbols; i++) {
    const Elf64_Sym *s = &im->symbols[i];
    if (ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_shndx && s->st_shndx < im->n &&
        !strcmp(symbol_name(im, s), name))
      return s;
  }
  return NULL;
}

static bool same_object(const struct image *a, const char *name, const struct image *b, bool place)
{
  const Elf64_Sym *s = object_named(a, name), *t = object_named(b, name);
  if (!s || !t)
    return !s && !t;
  if (s->st_size != t->st_size || (place && s->st_value != t->st_value))
    return false;
  const Elf64_Shdr *u = &a->sections[s->st_shndx], *v = &b->sections[t->st_shndx];
  const unsigned char *x = contents(a, u), *y = contents(b, v);
  if (!x || !y)
    return !x && !y;
  return s->st_size <= u->sh_size && s->st_value <= u->sh_size - s->st_size &&
         t->st_size <= v->sh_size && t->st_value <= v->sh_size - t->st_size &&
         !memcmp(x + s->st_value, y + t->st_value, s->st_size);
}

// Code reads the module's constant banks at fixed places. What stood there stands
// there still; more may have come.
static bool same_banks(const struct image *a, const struct image *b)
{
  for (size_t i = 1; i < a->n; i++) {
    const char *name = section_name(a, &a->sections[i]);
    const Elf64_Rela *x, *y = NULL;
    size_t m = 0;
    if (!is_shared_constant(name))
      continue;
    for (size_t k = 1; k < b->n; k++) {
      if (!strcmp(section_name(b, &b->sections[k]), name))
        m = relocations_of(b, k, &y);
    }
    size_t n = relocations_of(a, i, &x);
    for (size_t r = 0; r < n; r++) {
      bool found = false;
      for (size_t t = 0; t < m && !found; t++)
        found = y[t].r_offset == x[r].r_offset && y[t].r_addend == x[r].r_addend &&
                !strcmp(relocated(a, &x[r]), relocated(b, &y[t])) &&
                same_object(a, relocated(a, &x[r]), b, false);
      if (!found)
        return false;
    }
    for (size_t s = 0; s < a->n_symbols; s++) {
      if (a->symbols[s].st_shndx == i && ELF64_ST_TYPE(a->symbols[s].st_info) == STT_OBJECT &&
          !same_object(a, symbol_name(a, &a->symbols[s]), b, true))
        return false;
    }
  }
  return true;
}

int cubin_same_but(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len,
                   const char *const *except, size_t n, char *what, size_t size,
                   struct kr_err *err)
{
  static const char text[] = ".text.";
  static const char *const own[] = {".nv.shared.", ".nv.constant0.", ".nv.constant2."};
  struct image im[2];
  size_t others = 0;
  if (image_open(&im[0], a, a_len, err) || image_open(&im[1], b, b_len, err))
    return -1;
  for (int side = 0; side < 2; side++) {
    for (size_t i = 1; i < im[side].n; i++) {
      const char *name = section_name(&im[side], &im[side].sections[i]);
      if (strncmp(name, text, sizeof text - 1) ||
          is_excepted(name += sizeof text - 1, except, n, false))
        continue;
      size_t other = section_of(&im[!side], text, name);
      if (!other && side && is_excepted(name, except, n, true))
        continue; // a helper that came with the rewritten kernel
      if (!other) {
        snprintf(what, size, "%s is in one of the two alone", name);
        return 0;
      }
      if (side)
        continue;
      others++;
      bool same = same_contents(&im[0], i, &im[1], other) &&
                  same_relocations(&im[0], i, &im[1], other);
      for (size_t k = 0; k < sizeof own / sizeof *own && same; k++)
        same = same_contents(&im[0], section_of(&im[0], own[k], name), &im[1],
                             section_of(&im[1], own[k], name));
      if (!same) {
        snprintf(what, size, "%s has other machine code", name);
        return 0;
      }
    }
  }
  if (others && !same_banks(&im[0], &im[1])) {
    snprintf(what, size, "the constants that its other functions read lie elsewhere");
    return 0;
  }
  return 1;
}
