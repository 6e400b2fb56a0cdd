#include "order.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "../base/mem.h"

// A weak topological order (F. Bourdoncle, Efficient chaotic iteration strategies
// with widenings, 1993): the strongly connected parts of the graph, each with
// its head first, nested. Depth-first order alone would put the exit of a loop
// before the loop's body as often as not.

struct ordering {
  LLVMBasicBlockRef *blocks; // sorted by address
  uint32_t *number, *stack;
  LLVMBasicBlockRef *out; // filled from its end
  size_t n, depth, at;
  uint32_t count;
};

enum { ORDER_DONE = UINT32_MAX };

static int by_address(const void *a, const void *b)
{
  uintptr_t x = (uintptr_t)*(const LLVMBasicBlockRef *)a, y = (uintptr_t)*(const LLVMBasicBlockRef *)b;
  return (x > y) - (x < y);
}

static size_t order_index(const struct ordering *o, LLVMBasicBlockRef b)
{
  const LLVMBasicBlockRef *p = bsearch(&b, o->blocks, o->n, sizeof(LLVMBasicBlockRef), by_address);
  return (size_t)(p - o->blocks);
}

static uint32_t order_visit(struct ordering *o, size_t v)
{
  LLVMValueRef end = LLVMGetBasicBlockTerminator(o->blocks[v]);
  unsigned n = LLVMGetNumSuccessors(end);
  uint32_t head = o->number[v] = ++o->count;
  bool loops = false;
  o->stack[o->depth++] = (uint32_t)v;
  for (unsigned i = 0; i < n; i++) {
    size_t w = order_index(o, LLVMGetSuccessor(end, i));
    uint32_t least = o->number[w] ? o->number[w] : order_visit(o, w);
    if (least <= head) {
      head = least;
      loops = true;
    }
  }
  if (head != o->number[v])
    return head;
  o->number[v] = ORDER_DONE;
  size_t top = o->stack[--o->depth];
  if (loops) {
    for (; top != v; top = o->stack[--o->depth])
      o->number[top] = 0;
    for (unsigned i = 0; i < n; i++) {
      size_t w = order_index(o, LLVMGetSuccessor(end, i));
      if (!o->number[w])
        order_visit(o, w);
    }
  }
  o->out[--o->at] = o->blocks[v];
  return head;
}

size_t order_blocks(LLVMValueRef f, LLVMBasicBlockRef *out)
{
  struct ordering o = {.n = LLVMCountBasicBlocks(f), .out = out};
  if (!o.n)
    return 0;
  o.blocks = kr_xcalloc(o.n, sizeof(LLVMBasicBlockRef));
  o.number = kr_xcalloc(o.n, sizeof *o.number);
  o.stack = kr_xcalloc(o.n, sizeof *o.stack);
  LLVMGetBasicBlocks(f, o.blocks);
  qsort(o.blocks, o.n, sizeof(LLVMBasicBlockRef), by_address);
  o.at = o.n;
  order_visit(&o, order_index(&o, LLVMGetEntryBasicBlock(f)));
  size_t n = o.n - o.at;
  for (size_t i = 0; o.at && i < n; i++)
    out[i] = out[o.at + i];
  free(o.blocks);
  free(o.number);
  free(o.stack);
  return n;
}
