# Where the headers are that cuDNN is spoken to with; nothing of it is linked, and none of it is required.
#   DD_CUDNN_FRONTEND      folder of cudnn_frontend.h (the wheel nvidia-cudnn-frontend carries it; scripts/setup puts it into
#                          ~/.cache/dispatchdoctor/cudnn-frontend)
#   DD_CUDNN_INCLUDE       folder of cudnn.h, of the toolkit or of the wheel nvidia-cudnn
#   DD_CUDA_RUNTIME_INCLUDE  folder of cuda_runtime_api.h, which cudnn.h includes: often not the same one
#   DD_CUDNN_HEADERS       (result) the two folders of NVIDIA, each once, without those that the compiler searches by itself
# Wheels are those of the Python environment of DD_PYTHON, else of the python3 on the path; the toolkit comes before them.
find_program(DD_PYTHON3 python3)
set(wheels "")
foreach(python IN ITEMS "$ENV{DD_PYTHON}" "${DD_PYTHON3}")
  if(python)
    get_filename_component(prefix "${python}" DIRECTORY) # <prefix>/bin/python3; a link is not followed
    get_filename_component(prefix "${prefix}" DIRECTORY)
    foreach(packages IN ITEMS site-packages dist-packages)
      file(GLOB found "${prefix}/lib*/python3*/${packages}/nvidia/*/include")
      list(APPEND wheels ${found})
    endforeach()
  endif()
endforeach()
set(cudnn_wheels "")
foreach(folder IN LISTS wheels)
  if(EXISTS "${folder}/cudnn_graph.h") # since cuDNN 9; an older wheel must not turn a build around
    list(APPEND cudnn_wheels "${folder}")
  endif()
endforeach()

find_path(DD_CUDNN_FRONTEND cudnn_frontend.h
  HINTS ENV DD_CUDNN_FRONTEND "$ENV{HOME}/.cache/dispatchdoctor/cudnn-frontend/include" PATHS /usr/local/cuda/include)
find_path(DD_CUDNN_INCLUDE cudnn.h HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda ${cudnn_wheels} PATH_SUFFIXES include)
# Beside cudnn.h first: the two then are of one release.
find_path(DD_CUDA_RUNTIME_INCLUDE cuda_runtime_api.h
  HINTS "${DD_CUDNN_INCLUDE}" ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda ${wheels} PATH_SUFFIXES include)
set(DD_CUDNN_HEADERS "")
if(DD_CUDNN_INCLUDE AND DD_CUDA_RUNTIME_INCLUDE)
  set(DD_CUDNN_HEADERS "${DD_CUDNN_INCLUDE}" "${DD_CUDA_RUNTIME_INCLUDE}")
  list(REMOVE_DUPLICATES DD_CUDNN_HEADERS)
  if(CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES) # named once more they would come before the standard library's own
    list(REMOVE_ITEM DD_CUDNN_HEADERS ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  endif()
endif()
