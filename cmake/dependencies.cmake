# Every library the product links, all packaged by Debian 12. ARCHITECTURE.md says why each is here.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(simdjson REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Boost 1.81 EXACT REQUIRED COMPONENTS json)
find_package(ZLIB REQUIRED)

# llhttp comes as C sources (node-llhttp); strict mode is what a proxy needs.
find_path(LLHTTP_INCLUDE llhttp.h PATHS /usr/share/include/llhttp REQUIRED)
find_path(LLHTTP_SOURCE llhttp.c PATHS /usr/share/llhttp REQUIRED)
add_library(llhttp STATIC ${LLHTTP_SOURCE}/llhttp.c ${LLHTTP_SOURCE}/api.c ${LLHTTP_SOURCE}/http.c)
target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE})
target_compile_definitions(llhttp PUBLIC LLHTTP_STRICT_MODE=1)
target_compile_options(llhttp PRIVATE -w -O2)

# XGBoost: only the declarations of its C functions; the library is loaded when a forecast is trained. (The CMake
# package that Debian ships names a program it does not have.)
find_path(XGBOOST_INCLUDE xgboost/c_api.h REQUIRED)
add_library(xgboost_headers INTERFACE)
target_include_directories(xgboost_headers SYSTEM INTERFACE ${XGBOOST_INCLUDE})
target_link_libraries(xgboost_headers INTERFACE ${CMAKE_DL_LIBS})

# xxHash: its header alone, inlined, because what it hashes is short.
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
add_library(xxhash_headers INTERFACE)
target_include_directories(xxhash_headers SYSTEM INTERFACE ${XXHASH_INCLUDE})

# FFTW in double precision. (The CMake package that Debian ships names a file it does not have.)
find_path(FFTW3_INCLUDE fftw3.h REQUIRED)
find_library(FFTW3_LIBRARY fftw3 REQUIRED)
add_library(fftw3 INTERFACE)
target_include_directories(fftw3 SYSTEM INTERFACE ${FFTW3_INCLUDE})
target_link_libraries(fftw3 INTERFACE ${FFTW3_LIBRARY})

# ZeroMQ under its C++ header, and libmpack: neither comes with a CMake package that says all.
find_path(ZMQ_INCLUDE zmq.hpp REQUIRED)
find_library(ZMQ_LIBRARY zmq REQUIRED)
add_library(zeromq INTERFACE)
target_include_directories(zeromq SYSTEM INTERFACE ${ZMQ_INCLUDE})
target_link_libraries(zeromq INTERFACE ${ZMQ_LIBRARY})
find_path(MPACK_INCLUDE mpack.h REQUIRED)
find_library(MPACK_LIBRARY mpack REQUIRED)
add_library(mpack INTERFACE)
target_include_directories(mpack SYSTEM INTERFACE ${MPACK_INCLUDE})
target_link_libraries(mpack INTERFACE ${MPACK_LIBRARY})
