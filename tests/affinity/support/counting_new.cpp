#include "engine/support/counting_new.cpp"  // NOLINT(bugprone-suspicious-include): the same replacement of operator new
