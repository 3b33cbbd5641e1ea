/* Runs a target over files and folders: what once was found stays fixed. */
#include <dirent.h>
#include <string.h>

#include "fuzz.h"

static unsigned ran;

static void run_file(const char *path)
{
	static uint8_t buf[1 << 20];
	FILE *f = fopen(path, "rb");
	uint8_t *exact;
	size_t n;

	if (!f)
		return;
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	/* So that a byte too far is seen. */
	exact = malloc(n + 1);
	if (!exact)
		abort();
	memcpy(exact, buf, n);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	ran++;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		struct dirent *e;
		char path[4096];

		if (!d) {
			run_file(argv[i]);
			continue;
		}
		while ((e = readdir(d))) {
			snprintf(path, sizeof(path), "%s/%s", argv[i],
				 e->d_name);
			if (*e->d_name != '.')
				run_file(path);
		}
		closedir(d);
	}
	printf("%s: %u inputs\n", argv[0], ran);
	return !ran;
}
