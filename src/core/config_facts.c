/* What the tables know of each key, for the manual to be held against. */
#include <stdio.h>

#include "config_internal.h"

static const char *type_text(enum key_type type)
{
	switch (type) {
	case KEY_TEXT: return "text";
	case KEY_PATH: return "absolute path";
	case KEY_CLIENT_ID: return "one topic level";
	case KEY_URL: return "URL";
	case KEY_DURATION: return "duration";
	case KEY_SECONDS: return "duration in whole seconds";
	case KEY_SIZE: return "size";
	case KEY_COUNT: return "number";
	case KEY_MAX_DEAD: return "number, then stop or thin";
	case KEY_CHOICE: return NULL; /* its words say it */
	case KEY_FILTERS: return "topic filters";
	case KEY_SELECTOR: return "selector";
	case KEY_FINGERPRINT: return "fingerprint";
	case KEY_HANDLER: return "handler";
	case KEY_LATER: return "not in this version";
	}
	return NULL;
}

static void print_choices(const struct key *k, FILE *out)
{
	for (int i = 0; k->choices[i]; i++)
		fprintf(out, "%s%s",
			!i		    ? ""
			: k->choices[i + 1] ? ", "
					    : " or ",
			k->choices[i]);
}

static void print_facts(const struct key *k, FILE *out)
{
	char low[PARSE_TEXT_SIZE], high[PARSE_TEXT_SIZE];
	const char *type = type_text(k->type);

	if (k->type == KEY_CHOICE)
		print_choices(k, out);
	else if (type)
		fputs(type, out);
	if (k->max && k->type != KEY_MAX_DEAD)
		fprintf(out, ", %s to %s", config_number_text(k, low, k->min),
			config_number_text(k, high, k->max));
	if (k->required)
		fputs("; required", out);
	if (k->fallback)
		fprintf(out, "; default %s", k->fallback);
}

void config_print_facts(FILE *out)
{
	for (int s = 0; s < SECTION_COUNT; s++)
		for (unsigned i = 0; i < config_sections[s].len; i++) {
			const struct key *k = &config_sections[s].keys[i];

			fprintf(out, "%s\t%s\t", config_sections[s].name,
				k->name);
			print_facts(k, out);
			fprintf(out, "\t%s\n", k->help ? k->help : "");
		}
}
