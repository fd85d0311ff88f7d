/* Every allocation of an order fails once: each function that makes one gives MLDF_E_MEMORY and no order, or succeeds; under the address
 * sanitizer nothing leaks, and the parts of a mixture that failed are still their owner's. */
#include "fault/failing_alloc.h"
#include "unit/order/orders.h"

struct scene {
    mldf_order *part;
    mldf_order_state state;
};

static mldf_status do_range(struct scene *scene, mldf_order **out, mldf_error *err) {
    (void)scene;
    return mldf_order_new(1000, NULL, out, err);
}
static mldf_status do_subset(struct scene *scene, mldf_order **out, mldf_error *err) {
    static const uint64_t list[] = {1, 5, 9};
    (void)scene;
    return mldf_order_new_subset(list, 3, NULL, out, err);
}
static mldf_status do_weights(struct scene *scene, mldf_order **out, mldf_error *err) {
    static const double weights[] = {1, 2, 3};
    (void)scene;
    return mldf_order_new_weighted(weights, 3, 10, NULL, out, err);
}
static mldf_status do_mixture(struct scene *scene, mldf_order **out, mldf_error *err) {
    const mldf_order_part parts[2] = {{scene->part, 1}, {scene->part, 2}};
    return mldf_order_new_mixture(parts, 2, 0, NULL, out, err);
}
static mldf_status do_state(struct scene *scene, mldf_order **out, mldf_error *err) {
    mldf_buffer text = MLDF_BUFFER_INIT;
    mldf_order_state back;
    *out = NULL;
    mldf_status st = mldf_order_state_write(&scene->state, &text, err);
    if (st >= 0)
        st = mldf_order_state_parse((const char *)text.data, text.size, &back, err);
    mldf_buffer_free(&text);
    return st;
}

static void fail_each(struct scene *scene, mldf_status (*act)(struct scene *, mldf_order **, mldf_error *), long least,
                      bool makes_order) {
    long refused = 0;
    for (long n = 1;; n++) {
        mldf_error err = {0};
        mldf_order *order = NULL;
        atomic_store(&countdown, n);
        mldf_status st = act(scene, &order, &err);
        bool reached = atomic_load(&countdown) == 0;
        atomic_store(&countdown, 0);
        if (!reached) {
            CHECK_OK(st, &err);
            CHECK_EQ_INT(makes_order, order != NULL);
            mldf_order_free(order);
            CHECK(refused >= least);
            return;
        }
        refused += st == MLDF_E_MEMORY;
        if (makes_order || st < 0) /* a buffer that may not grow by half grows by what is needed */
            CHECK_STATUS(MLDF_E_MEMORY, st, &err);
        CHECK(order == NULL);
        REQUIRE(n < 1000);
    }
}

static void orders_survive_every_failed_allocation(void) {
    struct scene scene = {range_of(10, MLDF_ORDER_RANDOM, 1, 0, 0), {1, 2, 10, 1, {0}}};
    fail_each(&scene, do_range, 1, true);
    fail_each(&scene, do_subset, 2, true);
    fail_each(&scene, do_weights, 2, true);
    fail_each(&scene, do_mixture, 2, true);
    fail_each(&scene, do_state, 1, false);
    CHECK(sample_at(scene.part, 0, 9) < 10);
    mldf_order_free(scene.part);
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(orders_survive_every_failed_allocation);
    return check_end();
}
