/* A file below a folder: links that stay there are followed, those that lead out are refused. */
#include <errno.h>
#include <fcntl.h>

#include "check.h"
#include "os/beneath.h"

static char root[600];

static void link_to(const char *text, const char *name) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s", root, name);
    CHECK_EQ_INT(0, symlink(text, path));
}

/* 0 or the errno. */
static int opens(const char *path) {
    char byte = 0;
    int fd = mldfi_open_beneath(root, path);
    if (fd < 0)
        return errno;
    CHECK_EQ_INT(1, read(fd, &byte, 1));
    CHECK_EQ_INT('i', byte);
    close(fd);
    return 0;
}

static void only_what_is_below_the_folder_opens(void) {
    char path[700], text[700];
    snprintf(root, sizeof root, "%s/root", check_tmpdir());
    snprintf(path, sizeof path, "%s/a", root);
    REQUIRE(mkdir(root, 0755) == 0 && mkdir(path, 0755) == 0);
    snprintf(path, sizeof path, "%s/a/file", root);
    REQUIRE(check_write_file(path, "inside", 6));
    snprintf(path, sizeof path, "%s/secret", check_tmpdir());
    REQUIRE(check_write_file(path, "outside", 7));
    link_to("a/file", "near");
    link_to("a/../a/./file", "winding");
    link_to("a", "folder");
    link_to("../secret", "climbs");
    link_to(path, "absolute");
    link_to("..", "up");
    link_to("../root/a/file", "out_and_in");
    link_to("loop", "loop");
    link_to("nowhere", "dangling");
    snprintf(text, sizeof text, "%s/a/file", root);
    link_to(text, "absolute_inside");
    snprintf(text, sizeof text, "%s/a", root);
    link_to(text, "absolute_folder");
    CHECK_EQ_INT(0, opens("a/file"));
    CHECK_EQ_INT(0, opens("near"));
    CHECK_EQ_INT(0, opens("winding"));
    CHECK_EQ_INT(0, opens("folder/file"));
    CHECK_EQ_INT(0, opens("absolute_inside"));
    CHECK_EQ_INT(0, opens("absolute_folder/file"));
    CHECK_EQ_INT(0, opens("out_and_in"));
    CHECK_EQ_INT(EXDEV, opens("climbs"));
    CHECK_EQ_INT(EXDEV, opens("absolute"));
    CHECK_EQ_INT(EXDEV, opens("up/secret"));
    CHECK_EQ_INT(EXDEV, opens("up/root/../secret"));
    CHECK_EQ_INT(ELOOP, opens("loop"));
    CHECK_EQ_INT(ENOENT, opens("dangling"));
    CHECK_EQ_INT(ENOENT, opens("a/none"));
}

static void the_folder_itself_may_be_a_link(void) {
    char real[600];
    snprintf(real, sizeof real, "%s", root);
    snprintf(root, sizeof root, "%s/other", check_tmpdir());
    REQUIRE(symlink(real, root) == 0);
    CHECK_EQ_INT(0, opens("a/file"));
    CHECK_EQ_INT(0, opens("absolute_inside"));
    CHECK_EQ_INT(EXDEV, opens("climbs"));
}

int main(int argc, char **argv) {
    check_begin(argc, argv);
    RUN(only_what_is_below_the_folder_opens);
    RUN(the_folder_itself_may_be_a_link);
    return check_end();
}
