# Imported targets @NAME@::@NAME@ (static) and @NAME@::shared.
get_filename_component(_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET @NAME@::@NAME@)
  add_library(@NAME@::@NAME@ STATIC IMPORTED)
  set_target_properties(@NAME@::@NAME@ PROPERTIES
    IMPORTED_LOCATION "${_prefix}/lib/lib@NAME@.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_prefix}/include"
    INTERFACE_LINK_LIBRARIES m)
  add_library(@NAME@::shared SHARED IMPORTED)
  set_target_properties(@NAME@::shared PROPERTIES
    IMPORTED_LOCATION "${_prefix}/lib/lib@NAME@.so.@ABI_MAJOR@"
    IMPORTED_SONAME "lib@NAME@.so.@ABI_MAJOR@"
    INTERFACE_INCLUDE_DIRECTORIES "${_prefix}/include")
endif()
unset(_prefix)
