#include "hodometer/methods/logit_scale.h"

#include "hodometer/base/check.h"
#include "hodometer/schedules/frequency_schedule.h"

namespace hodometer {
namespace {

Status check_rule(const ConstantScale& rule) { return check_positive("factor", rule.factor); }

Status check_rule(const YarnSoftmaxScale& rule) {
  HODO_RETURN_IF_ERROR(check_positive("factor", rule.factor));
  HODO_RETURN_IF_ERROR(check_finite("mscale_all_dim", rule.mscale_all_dim));
  return check_positive("the magnitude that mscale_all_dim gives",
                        yarn_magnitude(rule.factor, rule.mscale_all_dim));
}

Status check_rule(const TemperatureScale& rule) {
  HODO_RETURN_IF_ERROR(check_finite("beta", rule.beta));
  HODO_RETURN_IF_ERROR(check_positive("floor_scale", rule.floor_scale));
  return check_at_least("offset", rule.offset, 0);
}

Status check_rule(const LogNScale& rule) {
  return check_at_least("original_max_position_embeddings", rule.original_max_position_embeddings,
                        2);
}

LogitScale scale_of(const ConstantScale& rule) { return {.constant = rule.factor}; }

LogitScale scale_of(const YarnSoftmaxScale& rule) {
  const double magnitude = yarn_magnitude(rule.factor, rule.mscale_all_dim);
  return {.constant = magnitude * magnitude};
}

LogitScale scale_of(const TemperatureScale& rule) {
  return {.beta = rule.beta, .floor_scale = rule.floor_scale, .offset = rule.offset};
}

LogitScale scale_of(const LogNScale& rule) {
  return {.log_n_trained = rule.original_max_position_embeddings};
}

}  // namespace

Status check(const LogitScaleRule& rule) {
  return std::visit([](const auto& one) { return check_rule(one); }, rule);
}

LogitScale logit_scale(const LogitScaleRule& rule) {
  return std::visit([](const auto& one) { return scale_of(one); }, rule);
}

}  // namespace hodometer
