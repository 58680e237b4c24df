#include "hodometer/position/position_view.h"

#include <gtest/gtest.h>

#include <array>

namespace hodometer {
namespace {

template <class Source>
const Source& source(const PositionView& view) {
  return std::get<Source>(view.source());
}

TEST(PositionView, NamesItsShapes) {
  constexpr std::array<int64_t, 12> data{};
  EXPECT_EQ(source<PositionView::Run>(PositionView::range(7)).first, 7);
  EXPECT_EQ(source<PositionView::Starts>(PositionView::starts(data)).batch, 12);

  const auto shared = source<PositionView::Ids>(PositionView::shared_ids(data));
  EXPECT_EQ(shared.batch, 1);
  EXPECT_EQ(shared.length, 12);

  const PositionView axes = PositionView::axes(data.data(), 3, 2, 2);
  EXPECT_EQ(axes.num_axes(), 3);
  EXPECT_EQ(source<PositionView::Ids>(axes).axis_stride, 4);
  EXPECT_EQ(source<PositionView::Ids>(axes).batch_stride, 2);
}

TEST(PositionView, TextStandsAtOnePlaceOnAllAxes) {
  constexpr std::array<int64_t, 4> data{5, 6, 7, 8};
  const PositionView text = PositionView::ids(data.data(), 2, 2).same_on_axes(3);
  EXPECT_EQ(text.num_axes(), 3);
  EXPECT_EQ(source<PositionView::Ids>(text).axis_stride, 0);
  EXPECT_EQ(PositionView::range(4).same_on_axes(2).num_axes(), 2);
}

}  // namespace
}  // namespace hodometer
