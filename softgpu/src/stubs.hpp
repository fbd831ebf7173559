// A function that is not implemented: counts its name and returns an error.
#pragma once

#include "report.hpp"

namespace sg::stubs {

class Hit {
 public:
  explicit Hit(const char* name) : counter_(report::counter(report::Kind::kStub, name)) {}
  int operator()(int status) const {
    report::add(counter_);
    return status;
  }

 private:
  report::Counter* counter_;
};

}  // namespace sg::stubs
