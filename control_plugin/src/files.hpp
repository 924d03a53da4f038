// Files with blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ssik_control {

// Contents of a file; empty if it cannot be read. ssik_init decides whether they are blocks.
std::vector<std::int64_t> read_blocks(const std::string &file);
// Write a file and its folder, as a whole or not at all. A cache that cannot be written is not an error.
void write_blocks(const std::string &file, const std::vector<std::int64_t> &blocks);

}  // namespace ssik_control
