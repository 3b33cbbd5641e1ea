/* A configuration: refused with words, or read back from what it prints. */
#include "fuzz.h"

#include <string.h>

#include "core/config.h"

static char *print(const struct config *c)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	MUST(f);
	config_print(c, f);
	fclose(f);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err_detail why = { "" };
	struct config *c = NULL, *again = NULL;
	char *first, *second;

	if (config_parse("conf", fuzz_span(data, size), &c, &why)) {
		MUST(*why.text && !c);
		return 0;
	}
	first = print(c);
	if (config_parse("printed", span_str(first), &again, &why)) {
		fprintf(stderr, "%s\n%s\n", why.text, first);
		MUST(!"what is printed can be read");
	}
	second = print(again);
	MUST(!strcmp(first, second));
	free(first);
	free(second);
	config_free(c);
	config_free(again);
	return 0;
}
