#!/bin/sh
# Check main.cpp as plain C++; hipcc finds the HIP headers by itself only when it compiles HIP.
exec hipcc --offload-arch=gfx90a -x c++ -fsyntax-only -I"$(hipconfig --path)/include" main.cpp "-D$1"
