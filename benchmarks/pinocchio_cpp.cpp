// The speed of Pinocchio's algorithms, called from C++ on one thread.
//
//   pinocchio_cpp MODEL STATES RESULTS TASKS ROUNDS FUNCTION...
//
// MODEL is text: the number of joints, gravity, and for each joint its parent, its type, its axis, its
// placement (rotation by rows, translation), and the mass, the centre of mass and the rotational inertia of
// its body; then the damping and the number of contacts, and for each contact its joint, the number of motions
// that it prevents, and its placement. STATES holds the doubles of q, then of v, a and tau, each task by task.
// With CONTACTS defined the program has the functions with contacts, with REGRESSOR that, else the others: a
// compiler takes minutes for each. For each way to compute a function, the standard output gets a line: the function, the nanoseconds
// of a call, the tasks per second of a batch, and the way. RESULTS gets the results in the order of these lines,
// task by task, matrices by columns.

#include <Eigen/Core>
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/cholesky.hpp>
#include <pinocchio/algorithm/constrained-dynamics-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using pinocchio::Convention;

// The library has the compiled algorithms for arguments of this type.
using Argument = Eigen::Ref<const VectorXd>;

constexpr Eigen::Index FEW = 16;       // states of the repeated single calls: they stay in the L1 cache
constexpr double LEAST_ROUND = 0.5e6;  // nanoseconds of a round of single calls

template <class Matrix>
void read(std::istream& in, Matrix& matrix) {
    for (Eigen::Index row = 0; row < matrix.rows(); ++row)
        for (Eigen::Index column = 0; column < matrix.cols(); ++column) in >> matrix(row, column);
}

template <class... Joints>
pinocchio::JointModel joint_of(const std::string& type, const Eigen::Vector3d& axis) {
    using namespace pinocchio;
    if (type == JointModelRevoluteUnaligned::classname()) return JointModelRevoluteUnaligned(axis);
    if (type == JointModelRevoluteUnboundedUnaligned::classname())
        return JointModelRevoluteUnboundedUnaligned(axis);
    if (type == JointModelPrismaticUnaligned::classname()) return JointModelPrismaticUnaligned(axis);
    JointModel joint;
    if (!((type == Joints::classname() && (joint = Joints(), true)) || ...))
        throw std::runtime_error("joint type " + type + ": unknown");
    return joint;
}

pinocchio::Model read_model(std::istream& in) {
    using namespace pinocchio;
    Model model;
    int joints;
    Eigen::Vector3d gravity, axis, translation, centre;
    Eigen::Matrix3d rotation, inertia;
    in >> joints;
    read(in, gravity);
    model.gravity.linear() = gravity;
    for (int i = 1; i <= joints; ++i) {
        JointIndex parent;
        std::string type;
        double mass;
        in >> parent >> type;
        read(in, axis);
        read(in, rotation);
        read(in, translation);
        in >> mass;
        read(in, centre);
        read(in, inertia);
        if (!in) throw std::runtime_error("the model is incomplete");
        const auto joint = joint_of<JointModelRX, JointModelRY, JointModelRZ, JointModelRUBX, JointModelRUBY,
                                    JointModelRUBZ, JointModelPX, JointModelPY, JointModelPZ,
                                    JointModelPlanar, JointModelSpherical, JointModelFreeFlyer>(type, axis);
        model.addJoint(parent, joint, SE3(rotation, translation), std::to_string(i));
        model.appendBodyToJoint(i, Inertia(mass, centre, inertia));
    }
    return model;
}

using Constraint = pinocchio::RigidConstraintModel;
using Constraints = std::vector<Constraint, Eigen::aligned_allocator<Constraint>>;
using ConstraintData =
    std::vector<pinocchio::RigidConstraintData, Eigen::aligned_allocator<pinocchio::RigidConstraintData>>;

// Read the contacts, whose forces are in the axes of their frames.
Constraints read_contacts(std::istream& in, const pinocchio::Model& model, double& damping) {
    using namespace pinocchio;
    Constraints contacts;
    int count;
    Eigen::Matrix3d rotation;
    Eigen::Vector3d translation;
    in >> damping >> count;
    for (int i = 0; i < count; ++i) {
        JointIndex joint;
        int rows;
        in >> joint >> rows;
        read(in, rotation);
        read(in, translation);
        const auto kind = rows == 6 ? CONTACT_6D : CONTACT_3D;
        contacts.emplace_back(kind, model, joint, SE3(rotation, translation), LOCAL);
    }
    if (!in) throw std::runtime_error("the contacts are incomplete");
    return contacts;
}

// The nanoseconds that this thread has run: other processes do not count.
double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + values.size() / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

class Bench {
public:
    Bench(std::istream& model, std::istream& states, std::ostream& results, Eigen::Index tasks, int rounds,
          std::set<std::string> functions)
        : model_(read_model(model)),
          data_(model_),
          contacts_(read_contacts(model, model_, damping_)),
          results_(results),
          tasks_(tasks),
          rounds_(rounds),
          functions_(functions) {
        const Eigen::Index nv = model_.nv;
        for (MatrixXd* array : {&q_, &v_, &a_, &tau_}) {
            array->resize(array == &q_ ? model_.nq : nv, tasks);
            states.read(reinterpret_cast<char*>(array->data()), array->size() * sizeof(double));
        }
        if (!states) throw std::runtime_error("the states are incomplete");
        for (MatrixXd* array : {&first_, &second_}) *array = MatrixXd::Zero(nv, nv);
        vector_ = VectorXd::Zero(nv);
        for (const Constraint& contact : contacts_) contact_data_.push_back(contact.createData());
#ifdef CONTACTS
        initConstraintDynamics(model_, data_, contacts_, contact_data_);
#endif
    }

    void run() {
#ifdef CONTACTS
        dynamics_with_contacts();
        derivatives_with_contacts();
#elif defined REGRESSOR
        regressor();
#else
        inverse_dynamics();
        forward_dynamics();
        mass_matrix();
        inverse_mass_matrix();
        derivatives_of_inverse_dynamics();
        derivatives_of_forward_dynamics();
        derivatives_at_given_accelerations();
#endif
    }

private:
    Argument q(Eigen::Index task) const { return q_.col(task); }
    Argument v(Eigen::Index task) const { return v_.col(task); }
    Argument a(Eigen::Index task) const { return a_.col(task); }
    Argument tau(Eigen::Index task) const { return tau_.col(task); }

    void inverse_dynamics() {
        measure("id", "rnea", [&](auto i) { rnea(model_, data_, q(i), v(i), a(i)); }, data_.tau);
    }

    void forward_dynamics() {
        for (auto convention : {Convention::LOCAL, Convention::WORLD})
            measure(
                "fd", named("aba", convention),
                [&](auto i) { aba(model_, data_, q(i), v(i), tau(i), convention); }, data_.ddq);
        measure(
            "fd", "crba, nonLinearEffects, cholesky::decompose, cholesky::solve",
            [&](auto i) {
                crba(model_, data_, q(i), Convention::LOCAL);
                nonLinearEffects(model_, data_, q(i), v(i));
                pinocchio::cholesky::decompose(model_, data_);
                vector_ = tau(i) - data_.nle;
                pinocchio::cholesky::solve(model_, data_, vector_);
            },
            vector_);
    }

    void mass_matrix() {
        for (auto convention : {Convention::LOCAL, Convention::WORLD})
            measure(
                "m", named("crba", convention),
                [&](auto i) {
                    crba(model_, data_, q(i), convention);
                    fill(data_.M);
                },
                data_.M);
    }

    void inverse_mass_matrix() {
        measure(
            "minv", "computeMinverse",
            [&](auto i) {
                computeMinverse(model_, data_, q(i));
                fill(data_.Minv);
            },
            data_.Minv);
        measure(
            "minv", "crba, cholesky::decompose, cholesky::computeMinv",
            [&](auto i) {
                crba(model_, data_, q(i), Convention::LOCAL);
                invert_mass_matrix();
            },
            data_.Minv);
    }

    void derivatives_of_inverse_dynamics() {
        measure(
            "did", "computeRNEADerivatives",
            [&](auto i) { computeRNEADerivatives(model_, data_, q(i), v(i), a(i)); }, data_.dtau_dq,
            data_.dtau_dv);
    }

    void derivatives_of_forward_dynamics() {
        measure(
            "dfd", "computeABADerivatives",
            [&](auto i) { computeABADerivatives(model_, data_, q(i), v(i), tau(i)); }, data_.ddq_dq,
            data_.ddq_dv);
        measure(
            "dfd",
            "crba, nonLinearEffects, cholesky::decompose, cholesky::computeMinv, "
            "computeRNEADerivatives, products",
            [&](auto i) {
                crba(model_, data_, q(i), Convention::LOCAL);
                nonLinearEffects(model_, data_, q(i), v(i));
                invert_mass_matrix();
                vector_.noalias() = data_.Minv * (tau(i) - data_.nle);
                computeRNEADerivatives(model_, data_, q(i), v(i), Argument(vector_));
                multiply_by_inverse();
            },
            first_, second_);
    }

    void derivatives_at_given_accelerations() {
        measure(
            "difd", "rnea, computeABADerivatives",
            [&](auto i) {
                vector_ = rnea(model_, data_, q(i), v(i), a(i));
                computeABADerivatives(model_, data_, q(i), v(i), Argument(vector_));
            },
            data_.ddq_dq, data_.ddq_dv);
        measure(
            "difd", "computeRNEADerivatives, computeMinverse, products",
            [&](auto i) {
                computeRNEADerivatives(model_, data_, q(i), v(i), a(i));
                computeMinverse(model_, data_, q(i));
                fill(data_.Minv);
                multiply_by_inverse();
            },
            first_, second_);
        measure(
            "difd", "computeRNEADerivatives, cholesky::decompose, cholesky::computeMinv, products",
            [&](auto i) {
                computeRNEADerivatives(model_, data_, q(i), v(i), a(i));  // with the upper triangle of M
                invert_mass_matrix();
                multiply_by_inverse();
            },
            first_, second_);
    }

    void regressor() {
        measure(
            "regressor", "computeJointTorqueRegressor",
            [&](auto i) { computeJointTorqueRegressor(model_, data_, q(i), v(i), a(i)); },
            data_.jointTorqueRegressor);
    }

    void dynamics_with_contacts() {
        measure("cfd", "constraintDynamics", [&](auto i) { hold_contacts(i); }, data_.ddq);
    }

    void derivatives_with_contacts() {
        measure(
            "dcfd", "constraintDynamics, computeConstraintDynamicsDerivatives",
            [&](auto i) {
                pinocchio::ProximalSettings settings = hold_contacts(i);
                computeConstraintDynamicsDerivatives(model_, data_, contacts_, contact_data_, settings);
            },
            data_.ddq_dq, data_.ddq_dv, data_.ddq_dtau);
    }

    pinocchio::ProximalSettings hold_contacts(Eigen::Index task) {
        pinocchio::ProximalSettings settings(1e-14, damping_, 1);
        constraintDynamics(model_, data_, q(task), v(task), tau(task), contacts_, contact_data_, settings);
        return settings;
    }

    static std::string named(const std::string& algorithm, Convention convention) {
        return algorithm + (convention == Convention::LOCAL ? ", Convention::LOCAL" : ", Convention::WORLD");
    }

    // Complete a symmetric matrix of which Pinocchio computed the upper triangle.
    template <class Matrix>
    static void fill(Matrix& matrix) {
        matrix.template triangularView<Eigen::StrictlyLower>() =
            matrix.transpose().template triangularView<Eigen::StrictlyLower>();
    }

    void invert_mass_matrix() {
        pinocchio::cholesky::decompose(model_, data_);
        pinocchio::cholesky::computeMinv(model_, data_, data_.Minv);
    }

    void multiply_by_inverse() {
        first_.noalias() = -data_.Minv * data_.dtau_dq;
        second_.noalias() = -data_.Minv * data_.dtau_dv;
    }

    // Measure a way to compute a function; `call` leaves the results of a task in `outputs`.
    template <class Call, class... Outputs>
    void measure(const std::string& function, const std::string& way, Call call, const Outputs&... outputs) {
        if (!functions_.count(function)) return;
        std::vector<double> stored(tasks_ * (outputs.size() + ...));
        const auto single = [&](int rounds) {
            const double start = now();
            for (int round = 0; round < rounds; ++round)
                for (Eigen::Index i = 0; i < std::min(FEW, tasks_); ++i) call(i);
            return now() - start;
        };
        const auto batch = [&] {
            const double start = now();
            double* place = stored.data();
            for (Eigen::Index i = 0; i < tasks_; ++i) {
                call(i);
                ((Eigen::Map<MatrixXd>(place, outputs.rows(), outputs.cols()) = outputs,
                  place += outputs.size()),
                 ...);
            }
            return now() - start;
        };
        int repeated = 1;
        while (single(repeated) < LEAST_ROUND) repeated *= 2;
        std::vector<double> singles, batches;
        for (int round = 0; round < rounds_; ++round) {
            singles.push_back(single(repeated) / (repeated * std::min(FEW, tasks_)));
            batches.push_back(tasks_ / batch() * 1e9);
        }
        std::cout << function << ' ' << median(singles) << ' ' << median(batches) << ' ' << way << '\n';
        results_.write(reinterpret_cast<const char*>(stored.data()), stored.size() * sizeof(double));
    }

    pinocchio::Model model_;
    pinocchio::Data data_;
    double damping_;
    Constraints contacts_;
    ConstraintData contact_data_;
    std::ostream& results_;
    Eigen::Index tasks_;
    int rounds_;
    std::set<std::string> functions_;
    MatrixXd q_, v_, a_, tau_, first_, second_;
    VectorXd vector_;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 6) throw std::runtime_error("expected MODEL STATES RESULTS TASKS ROUNDS FUNCTION...");
        std::ifstream model(argv[1]), states(argv[2], std::ios::binary);
        std::ofstream results(argv[3], std::ios::binary);
        Bench(model, states, results, std::atol(argv[4]), std::atoi(argv[5]), {argv + 6, argv + argc}).run();
        if (!results.flush()) throw std::runtime_error("the results cannot be written");
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
