# Flags every target of ours is compiled with. Third-party C sources get none of them.
add_library(evenkeel_flags INTERFACE)
target_compile_options(evenkeel_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Wno-missing-field-initializers -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(evenkeel_flags INTERFACE -fcoroutines)
endif()
if(EVENKEEL_SANITIZE)
  # GCC's manual: instrumented code makes this warning see what is not there. The release build keeps it.
  target_compile_options(evenkeel_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_options(evenkeel_flags INTERFACE
    -fsanitize=${EVENKEEL_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(evenkeel_flags INTERFACE -fsanitize=${EVENKEEL_SANITIZE})
endif()
