/*
 * A file of SQLite's that hands each request on to the real one: what the
 * models of faults and of power cuts share.  They take pass_methods, put their
 * own in the place of some, and begin their files with struct pass_file.
 */
#ifndef TESTS_PASS_VFS_H
#define TESTS_PASS_VFS_H

#include <sqlite3.h>
#include <stddef.h>

struct pass_file {
	sqlite3_file base; /* must be first */
	sqlite3_io_methods methods;
	sqlite3_file *real; /* behind the whole struct */
};

extern const sqlite3_io_methods pass_methods;

#define PASS_REAL(f) (((struct pass_file *)(f))->real)
#define PASS(f, method, ...)                                                   \
	PASS_REAL(f)->pMethods->method(PASS_REAL(f), ##__VA_ARGS__)

/*
 * Opens the real file of @real_vfs behind the @size bytes of @f's own struct,
 * and gives @f the @methods as far as the real one has them.  SQLite's code.
 */
int pass_open(sqlite3_vfs *real_vfs, const char *name, sqlite3_file *f,
	      size_t size, const sqlite3_io_methods *methods, int flags,
	      int *ret_flags);

#endif
