#include "app/desktop/wiring.h"

#include "app/files/load_estimate.h"
#include "app/files/open_several.h"
#include "core/onednn/onednn_backend.h"
#include "core/recording/environment.h"
#include "core/storage/session_file.h"
#include "core/storage/session_writer.h"
#include "gpu/device/devices.h"

#include <QStandardPaths>

#include <filesystem>

namespace stepscope::desktop {

state::Services makeServices(const std::string& named, const std::string& format)
{
    state::Services services;
    services.openSession = [named, format](const std::string& path, std::stop_token stop,
                                          const base::Progress& progress) -> base::Result<session::SessionPtr> {
        importers::ImportOptions options;
        if (path == named) options.format = format;
        base::Result<files::Opened> opened = files::openAny(path, options, stop, progress);
        if (!opened) return base::fail(opened.error());
        return std::move(opened->session);
    };
    services.openTogether = [](const std::vector<std::string>& paths, std::stop_token stop,
                               const base::Progress& progress) -> base::Result<session::SessionPtr> {
        std::vector<files::FileChoice> choices;
        for (const std::string& path : paths) choices.push_back({path, 0});
        base::Result<files::Opened> opened = files::openSeveral(choices, {}, stop, progress);
        if (!opened) return base::fail(opened.error());
        return std::move(opened->session);
    };
    services.openFirstPart = [](const std::string& path, std::stop_token stop) { return files::openFirstPart(path, std::move(stop)); };
    services.tooLarge = [](const std::vector<std::string>& paths) {
        return files::tooLargeFor({paths.begin(), paths.end()});
    };
    services.openPart = [](const std::string& path, const importers::ImportOptions& part, std::stop_token stop,
                           const base::Progress& progress) { return files::openPart(path, part, std::move(stop), progress); };
    services.saveSession = [](const session::Session& session, const std::string& path, std::stop_token stop,
                              const base::Progress& progress) {
        return storage::saveSession(session, path, storage::Existing::replace, stop, progress);
    };
    services.createSink = [](const std::string& path) -> base::Result<std::unique_ptr<session::SessionSink>> {
        auto writer = storage::SessionWriter::create(path, storage::Existing::refuse);
        if (!writer) return base::fail(writer.error());
        return std::unique_ptr<session::SessionSink>(std::move(*writer));
    };
    services.createBackend = []() -> base::Result<std::unique_ptr<engine::Backend>> {
        return onednn::createBackend({onednn::defaultTuningFile()});
    };
    services.environment = [](const model::ModelFile& file) {
        // The revision is that of the folder with the model, which is what the user changes between runs.
        const std::filesystem::path folder = std::filesystem::path(file.file).parent_path();
        std::vector<session::EnvironmentRow> rows = recording::collectEnvironment(folder.empty() ? "." : folder);
        for (auto& [key, value] : gpu::environment()) rows.push_back({std::move(key), std::move(value)});
        rows.push_back({"tool.name", "stepscope-ui"});
        return rows;
    };
    services.version = STEPSCOPE_VERSION;
    services.samplesDirectory = ":/models";
    services.recordingsDirectory =
        (QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/recordings")).toStdString();
    return services;
}

} // namespace stepscope::desktop
