// Opens the scenarios as a class loader opens a plugin, and counts the allocations of C++.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace
{

std::atomic<long> allocations{0};

}  // namespace

void * operator new(std::size_t size, const std::nothrow_t &) noexcept
{
  ++allocations;
  return std::malloc(size);
}

void * operator new(std::size_t size)
{
  if (void * memory = operator new(size, std::nothrow)) {
    return memory;
  }
  throw std::bad_alloc();
}

void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }

extern "C" long count_allocations() { return allocations; }

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
