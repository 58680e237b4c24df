#pragma once

/// The spine: everything that a program needs to use positions. Each header also stands alone.

#include "hodometer/base/parallel.h"
#include "hodometer/base/result.h"
#include "hodometer/base/tensor_view.h"
#include "hodometer/methods/position_spec.h"
#include "hodometer/models/from_hf_config.h"
#include "hodometer/models/model_positions.h"
#include "hodometer/ops/add_rows.h"
#include "hodometer/ops/bias_rows.h"
#include "hodometer/ops/exact_table.h"
#include "hodometer/ops/kv_cache.h"
#include "hodometer/ops/make_table.h"
#include "hodometer/ops/rotate.h"
#include "hodometer/plan/bias_array.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/grid_ids.h"
#include "hodometer/position/position_ids.h"
#include "hodometer/position/position_view.h"
#include "hodometer/tools/inspect.h"
#include "hodometer/tools/numbers.h"
