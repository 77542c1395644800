#include "maths/quantiles.hpp"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace evenkeel::maths {

double chi_square_quantile(double p, double dof) {
  return boost::math::quantile(boost::math::chi_squared_distribution<double>(dof), p);
}

double chi_square_above(double x, double dof) {
  return boost::math::cdf(boost::math::complement(boost::math::chi_squared_distribution<double>(dof), x));
}

double student_quantile(double p, double dof) {
  return boost::math::quantile(boost::math::students_t_distribution<double>(dof), p);
}

}  // namespace evenkeel::maths
