// A backend whose steps take a millisecond and compute nothing: runs for the tests of the window.
#pragma once

#include "core/engine/backend.h"

#include <chrono>
#include <thread>

namespace stepscope::test {

class IdleNetwork : public engine::Network {
public:
    explicit IdleNetwork(model::Model model) : m_model(std::move(model)) {}
    base::Status setBatch(const engine::Batch&) override { return {}; }
    base::Status forward(bool) override
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return {};
    }
    engine::LossResult loss(bool) override { return {0.5, -1}; }
    base::Status backward() override { return {}; }
    base::Status update() override { return {}; }
    base::Status synchronise() override { return {}; }
    const engine::BuildInfo& info() const override { return m_info; }
    const model::Model& model() const override { return m_model; }
    base::Result<std::vector<float>> parameter(base::LayerId, int) const override { return std::vector<float>(); }
    base::Status setParameter(base::LayerId, int, const std::vector<float>&) override { return {}; }
    base::Result<std::vector<float>> gradient(base::LayerId, int) const override { return std::vector<float>(); }
    std::vector<float> output() const override { return {}; }
    base::Result<std::vector<float>> inputGradient() const override { return std::vector<float>(); }

private:
    model::Model m_model;
    engine::BuildInfo m_info;
};

class IdleBackend : public engine::Backend {
public:
    std::string name() const override { return "idle"; }
    std::vector<std::pair<std::string, std::string>> environment() const override { return {}; }
    base::Status selfCheck() override { return {}; }
    base::Result<std::unique_ptr<engine::Network>> build(const model::ModelFile& file, const engine::BuildOptions&,
                                                         const engine::Recording&, std::stop_token, const base::Progress&, bool) override
    {
        return std::unique_ptr<engine::Network>(std::make_unique<IdleNetwork>(file.model));
    }
};

} // namespace stepscope::test
