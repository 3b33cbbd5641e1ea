#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cmd.h"
#include "commit.h"
#include "link/link.h"
#include "store/store.h"

#define TEXT_SIZE 4096

static void print_string(const char *s)
{
	static char buf[TEXT_SIZE];
	size_t len = 0;

	if (json_put_string(buf, sizeof(buf), &len, span_str(s)))
		fputs(buf, stdout);
	else
		fputs("\"\"", stdout);
}

static void print_member(const char *name, const char *value)
{
	printf("\"%s\":", name);
	print_string(value);
}

static void print_json(void)
{
	struct link_library lib;
	const char *option;

	link_library(&lib);
	putchar('{');
	print_member("mqonce", MQONCE_VERSION);
	putchar(',');
	print_member("commit", mqonce_commit);
	printf(",\"sqlite\":{");
	print_member("version", store_library_version());
	printf(",\"options\":[");
	for (int i = 0; (option = store_library_option(i)); i++) {
		if (i)
			putchar(',');
		print_string(option);
	}
	printf("]},\"libmosquitto\":{");
	print_member("version", lib.mosquitto);
	putchar(',');
	print_member("options", lib.mosquitto_options);
	printf("},\"tls\":{");
	print_member("version", lib.tls);
	putchar(',');
	print_member("options", lib.tls_options);
	printf("}}\n");
}

enum err cmd_version(const struct command_args *a, struct err_detail *why)
{
	bool json = false;
	const struct command_option options[] = { { "--json", &json, NULL } };
	unsigned n;
	enum err e = cmd_options(a, options, ARRAY_LEN(options), NULL, 0, &n,
				 why);

	if (!e && json)
		print_json();
	else if (!e)
		printf("mqonce %s\nSQLite %s\n%s\n", MQONCE_VERSION,
		       store_library_version(), link_library_versions());
	return e;
}
