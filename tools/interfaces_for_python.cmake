# Interface packages for Python programs alone (-DCMAKE_PROJECT_INCLUDE=...): no type support for C++ is generated,
# which takes more than three quarters of the time that a compiler needs for an interface package.
find_package(ament_cmake_core REQUIRED)

macro(ament_register_extension extension_point package_name cmake_filename)
  if(NOT ("${extension_point}" STREQUAL "rosidl_generate_idl_interfaces" AND "${package_name}" MATCHES "_cpp$"))
    list(APPEND AMENT_EXTENSIONS_${extension_point} "${package_name}:${cmake_filename}")
  endif()
endmacro()
