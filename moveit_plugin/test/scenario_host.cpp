// Opens the scenarios as a class loader opens a plugin: locally, and without Python among the program's own libraries.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char ** argv)
{
  if (argc < 3) {
    std::fprintf(stderr, "usage: scenario_host LIBRARY SCENARIO ...\n");
    return 2;
  }
  void * library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  using Run = int (*)(int, char **);
  auto run = reinterpret_cast<Run>(dlsym(library, "run_scenario"));
  if (run == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const int status = run(argc - 2, argv + 2);
  dlclose(library);
  return status;
}
