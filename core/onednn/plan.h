// Plan: everything needed to run one model at one batch size. PlanBuilder: what layers use to build it.
// Owner: core/onednn. Thread: the training thread. Units: FLOP and bytes per execution.
#pragma once

#include "core/engine/backend.h"
#include "core/engine/optimiser.h"
#include "core/onednn/buffer_pool.h"
#include "core/onednn/compat.h"
#include "core/onednn/parameter_store.h"
#include "core/onednn/program.h"
#include "core/onednn/tuner.h"
#include "core/onednn/tuning_memory.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace stepscope::onednn {

// An activation or a gradient: memory with a layout. The first dimension is the batch.
struct Value {
    compat::Desc desc;
    dnnl::memory memory;
    std::shared_ptr<float> block; // keeps the memory from being handed to another value
    bool flattened = false;       // the model sees {batch, features}; the memory still has its channels and pixels
    bool exclusive = true;        // a gradient that nobody else reads: may be overwritten in place

    bool fromRelu = false;        // an activation: the layer before ended with relu
    bool reluApplied = false;     // a gradient: relu's has been applied already

    explicit operator bool() const { return block != nullptr; }
    float* data() const { return block.get(); }
    compat::Dims dims() const { return compat::dimsOf(desc); }
    int64_t batch() const { return dims().front(); }
    int64_t features() const; // product of all but the batch
};

// Which layouts and thread counts a plan may use; the network builds a plan for each variant and keeps the fastest.
struct PlanVariant {
    enum class Layout { automatic, channelsLast, plain } layout = Layout::automatic;
    enum class Threads { mixed, one, all } threads = Threads::mixed;
};

struct Plan {
    Plan(bool poison) : pool(poison) {}

    BufferPool pool;
    int64_t batch = 0;
    Value input, output;           // output is plain {batch, outputs}
    int64_t outputs = 0;           // per sample
    Value outputGradient, inputGradient;
    Program forward, backward, update;
    std::shared_ptr<float> scratchpad;
    std::vector<dnnl::memory> memories;   // kept alive for the argument lists
    std::vector<std::shared_ptr<void>> nodes; // the layers' own state
    uint64_t step = 0;             // counts training forwards; seeds dropout
    int threads = 1;               // largest number any operation uses
};

using PrimitiveArguments = std::vector<std::pair<int, dnnl::memory>>;

// A primitive descriptor with the thread count it was made for.
struct Pick {
    dnnl::primitive_desc_base desc;
    int implementation = 0; // how many of the library's implementations were passed over
    int threads = 1;
    double time = 0;        // ns, infinity when there is none
    explicit operator bool() const { return bool(desc); }
};

struct PrimitiveNames {
    std::string what; // "forward", "weights gradient", ... ; the layer's name is put before it
    std::string kind; // "convolution"
};

class PlanBuilder {
public:
    struct Context {
        dnnl::engine engine;
        dnnl::stream stream;
        const model::Model* model = nullptr;
        engine::BuildOptions options;
        engine::Recording recording;
        ParameterStore* parameters = nullptr;
        Tuner* tuner = nullptr;
        TuningMemory* memory = nullptr;
        PlanVariant variant;
        int maxThreads = 1;
        bool wantInputGradient = false;
        std::stop_token stop;
        std::vector<std::string>* notes = nullptr;
        base::Progress progress; // called for every layer, with its name
    };

    PlanBuilder(Context context, Plan& plan, int64_t batch) : m_context(std::move(context)), m_plan(plan), m_batch(batch) {}

    // Builds forward and backward.
    void build();
    // Builds the update of every array, layer by layer. The optimiser must outlive the plan; parameters are committed.
    void buildUpdate(engine::Optimiser& optimiser);

    // --- for the layers ---
    const Context& context() const { return m_context; }
    const model::Layer& layer(base::LayerId id) const { return m_context.model->at(id); }
    ParameterStore& parameters() { return *m_context.parameters; }
    Plan& plan() { return m_plan; }
    int64_t batch() const { return m_batch; }
    const dnnl::engine& engine() const { return m_context.engine; }
    dnnl::primitive_attr attributes() const; // scratchpad given by us
    // Whether something before this layer needs the gradient for its input.
    bool wantsInputGradient(base::LayerId id) const { return m_wantsInput[id.index()]; }
    bool inForward() const { return m_phase == session::Phase::forward; }

    Value allocate(const compat::Desc& desc);
    Value allocateLike(const Value& value) { return allocate(value.desc); }
    // The same memory seen with other dims; the layout must be plain.
    Value view(const Value& value, const compat::Dims& dims);
    // A new value in the wanted layout, or the same one when it has it already.
    Value converted(const Value& value, const compat::Desc& want, const std::string& what);
    void convertInto(const Value& from, const dnnl::memory& to, const std::string& what);
    // Plain {batch, features}.
    Value plainMatrix(const Value& value, const std::string& what);

    // A gradient with the dims and layout of `like`, which had been flattened or converted on the way in.
    Value restored(const Value& gradient, const Value& like, const std::string& what);

    void add(const PrimitiveNames& names, const Pick& pick, PrimitiveArguments arguments, int64_t flop = 0,
             Operation::Mode modes = Operation::kBoth, bool reorder = false);
    void addFunction(const PrimitiveNames& names, const std::string& implementation, std::function<void(int threads)> function,
                     int threads, int64_t flop, int64_t bytes, Operation::Mode modes = Operation::kBoth, uint32_t flags = 0);
    void openLayer(base::LayerId id);
    void closeLayer();

    // The fastest implementation and thread count. make(skip) creates the descriptor after passing over `skip` implementations,
    // and throws dnnl::error when there is none; arguments(desc) lists what it runs on. `key` identifies the problem.
    using Make = std::function<dnnl::primitive_desc_base(int skip)>;
    using Arguments = std::function<TimingArguments(const dnnl::primitive_desc_base&)>;
    Pick pick(const std::string& key, const Make& make, const Arguments& arguments);
    // The same choice of a thread count for code of ours, run(threads); remembered under `key`.
    struct OwnPick {
        int threads = 1;
        double time = 0;
    };
    OwnPick pickOwn(const std::string& key, const std::function<void(int threads)>& run);
    double reorderTime(const compat::Desc& from, const compat::Desc& to);
    std::vector<int> threadChoices() const;
    // 1, or all threads for loops of ours over so many values.
    int threadsFor(int64_t values) const;
    void note(std::string text);
    // Tells that this layer is next; true when the user has asked to stop.
    bool stopped(base::LayerId next) const
    {
        if (m_context.progress) m_context.progress(-1, layer(next).path);
        return m_context.stop.stop_requested();
    }

private:
    Program& program();
    uint32_t label(const PrimitiveNames& names, session::PrimitiveRow row);
    void addScratchpad(Operation& operation, const compat::Desc& desc);
    void finishScratchpad();
    void markInputGradients(base::LayerId id, bool wanted);

    Context m_context;
    Plan& m_plan;
    int64_t m_batch;
    session::Phase m_phase = session::Phase::forward;
    std::vector<base::LayerId> m_open;
    std::vector<bool> m_wantsInput; // per layer
    size_t m_scratchBytes = 0;
    struct ScratchUse {
        Program* program;
        size_t operation;
        compat::Desc desc;
    };
    std::vector<ScratchUse> m_scratchUses;
};

inline constexpr double kNever = 1e300;

// Thrown inside a build when the user has asked to stop; never leaves core/onednn.
struct Stopped {};

bool isReference(const dnnl::primitive_desc_base& desc); // the library's slow implementation
const char* implementationName(const dnnl::primitive_desc_base& desc);

} // namespace stepscope::onednn
