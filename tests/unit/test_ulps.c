/* Values side by side: steps and ratios only between numbers of one sign. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "exec/ulps.h"

static aot_xval floats(float a, float b)
{
    const int64_t size[] = {2};
    aot_array *x = aot_array_new(NULL, AOT_F32, 1, size);
    memcpy(aot_array_data(x), (float[]){a, b}, 2 * sizeof(float));
    return aot_xv_array(x); // whoever compares drops it
}

static aot_ulps compared(float a0, float a1, float b0, float b1)
{
    aot_ulps u;
    aot_xval a = floats(a0, a1), b = floats(b0, b1);
    aot_ulps_compare(&u, &a, &b, NULL);
    aot_xv_drop(&a);
    aot_xv_drop(&b);
    return u;
}

static void steps_and_ratios_are_between_numbers_of_one_sign(void **state)
{
    (void)state;
    aot_ulps u = compared(1, 2, 1, 4);
    assert_true(u.differs);
    assert_int_equal(u.max_ulps, 1 << 23);
    assert_true(u.max_rel == 0.5 && u.max_abs == 2);
    u = compared(1, -2, 0, 2);
    assert_true(u.differs);
    assert_int_equal(u.max_ulps, 0);
    assert_true(u.max_rel == 0 && u.max_abs == 4);
    aot_sb b = {0};
    aot_ulps_print(&b, &u);
    assert_string_equal(aot_sb_text(&b), "2 of 2 elements differ, most at [1]: -2 and 2 (abs 4)");
    aot_sb_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_ratios_are_between_numbers_of_one_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
