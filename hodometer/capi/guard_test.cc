#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "hodometer/capi/guard-inl.h"

namespace hodometer::capi {
namespace {

TEST(Guard, NothingEscapes) {
  EXPECT_EQ(guard([]() -> Status { throw std::bad_alloc(); }), HODO_OUT_OF_MEMORY);
  EXPECT_STREQ(hodo_last_error(), "out of memory");
  EXPECT_EQ(guard([]() -> Status { throw std::runtime_error("wrong"); }), HODO_INTERNAL);
  EXPECT_STREQ(hodo_last_error(), "wrong");
  EXPECT_EQ(guard([]() -> Status { throw 7; }), HODO_INTERNAL);
}

TEST(Guard, EveryKindOfErrorHasAStatus) {
  const auto status_of = [](ErrorKind kind) {
    return guard([&]() -> Status { return Error{kind, "message"}; });
  };
  EXPECT_EQ(status_of(ErrorKind::usage), HODO_USAGE);
  EXPECT_EQ(status_of(ErrorKind::bad_input), HODO_BAD_INPUT);
  EXPECT_EQ(status_of(ErrorKind::unsupported), HODO_UNSUPPORTED);
  EXPECT_EQ(status_of(ErrorKind::limit), HODO_LIMIT);
  EXPECT_EQ(status_of(ErrorKind::io), HODO_IO);
  EXPECT_STREQ(hodo_last_error(), "message");
  EXPECT_EQ(guard([]() -> Status { return {}; }), HODO_OK);
}

TEST(Guard, MessagesBelongToTheirThread) {
  fail(HODO_USAGE, "mine");
  std::string other = "unset";
  std::thread([&] { other = hodo_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_STREQ(hodo_last_error(), "mine");
}

}  // namespace
}  // namespace hodometer::capi
