#include "hodometer/models/config_testing-inl.h"

namespace hodometer {
namespace {

using namespace models_testing;

TEST(Sections, AreReadUnderAnyType) {
  for (const std::string_view type : {"mrope", "default"}) {
    const auto model = read(fmt::format(
        R"({{"model_type":"qwen2_5_vl","hidden_size":3584,"num_attention_heads":28,
        "rope_theta":1000000.0,"rope_scaling":{{"type":"{}","mrope_section":[16,24,24]}}}})",
        type));
    const auto& mrope = std::get<Mrope>(attention(model).spec.method);
    EXPECT_EQ(mrope.section_layout, SectionLayout::chunked);
    EXPECT_TRUE(model.warnings.empty());
  }
  EXPECT_SAYS(error_of(R"({"model_type":"qwen2_5_vl","hidden_size":3584,"num_attention_heads":28,
      "rope_scaling":{"type":"mrope","mrope_section":[16,24]}})"),
              "mrope_section");
}

}  // namespace
}  // namespace hodometer
