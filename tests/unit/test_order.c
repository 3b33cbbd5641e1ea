#include "../support/test.h"

#include "core/order.h"

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void of_two_values_the_older_is_told(void **state UNUSED)
{
	static const struct {
		const char *a, *b;
		int want;
	} cases[] = {
		/* numbers, by value */
		{ "9", "10", -1 },
		{ "10", "10", 0 },
		{ "-2", "1", -1 },
		{ "-2", "-10", 1 },
		{ "0", "-0", 0 },
		{ "0", "0.000", 0 },
		{ "-0.5", "0", -1 },
		{ "007", "7", 0 },
		{ "+7", "7", 0 },
		{ "1.5", "1.50", 0 },
		{ "1.05", "1.5", -1 },
		{ "0.9", "0.10", 1 },
		{ "100", "1e2", 0 },
		{ "1E+2", "99.999", 1 },
		{ "1e-2", "0.01", 0 },
		{ "12.5e1", "125", 0 },
		{ "0.00125e5", "125", 0 },
		{ "0e99", "0", 0 },
		{ "1e400", "1e399", 1 },
		{ "-1e400", "1", -1 },
		{ "2e-400", "1e-399", -1 },
		/* beyond what a double or an int64 can tell apart */
		{ "1795292668348461056", "1795292668348461057", -1 },
		{ "99999999999999999999999999999999999999999",
		  "100000000000000000000000000000000000000000", -1 },
		{ "0.1000000000000000000000000000000000000001", "0.1", 1 },
		{ "1e999999999999999999", "1e999999999999999998", 1 },
		/* anything else as text */
		{ "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z", -1 },
		{ "a9", "a10", 1 },
		{ "a", "ab", -1 },
		{ "10", "9a", -1 },
		{ "0x10", "9", -1 },
		{ "1.", "1.0", -1 },
		{ ".5", "0.4", -1 },
		{ "1e", "1", 1 },
		{ "1e5x", "2", -1 },
		{ "1e9999999999999999999", "2", -1 },
		{ "-", "1", -1 },
		{ "1.2.3", "1.2.4", -1 },
		{ "\xc3\xa9", "z", 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct span a = span_str(cases[i].a), b = span_str(cases[i].b);

		if (sign(order_compare(a, b)) != cases[i].want ||
		    sign(order_compare(b, a)) != -cases[i].want)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_two_values_the_older_is_told),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
