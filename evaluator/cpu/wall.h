#ifndef KR_CPU_WALL_H
#define KR_CPU_WALL_H

// Shuts the calling process off from the file system but for reading under the
// given paths (NULL-terminated), for good and for all it starts. Returns 0, or
// -1 where the system has no Landlock, which is then one wall less and no error.
int wall_files(const char *const *readable);

#endif
