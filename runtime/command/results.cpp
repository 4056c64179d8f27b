// `report` and `diff`: work on report files only.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "hw/common/file.hpp"
#include "runtime/command/command.hpp"
#include "runtime/report/report.hpp"

namespace tessera::runtime {

void add_report_command(CLI::App& app) {
  struct Options {
    std::vector<std::string> files;
    std::string out;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("report", "Draws run reports as one HTML page");
  command->footer("Example: tessera report r.json -o r.html");
  command->add_option("reports", o->files, "Run reports")->required();
  command->add_option("-o,--output", o->out, "HTML file")->required();
  command->callback([o] {
    std::vector<nlohmann::json> reports;
    for (const std::string& file : o->files) reports.push_back(load_report(file));
    write_file(o->out, html_page(reports));
  });
}

void add_diff_command(CLI::App& app) {
  struct Options {
    std::string a, b;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("diff", "Compares two runs group by group, with the cause of the difference");
  command->footer("Example: tessera diff a.json b.json");
  command->add_option("a", o->a, "Report A")->required();
  command->add_option("b", o->b, "Report B")->required();
  command->add_flag("--json", o->json, "JSON on standard output");
  command->callback([o] {
    const nlohmann::json a = load_report(o->a);
    const nlohmann::json b = load_report(o->b);
    for (const auto& [file, report] : {std::pair{o->a, &a}, std::pair{o->b, &b}}) {
      if (!report->contains("groups")) {
        user_error(file, ": /groups is missing: an estimate cannot be compared group by group; give a run's report");
      }
    }
    const nlohmann::json diff = diff_reports(a, b);
    std::fputs((o->json ? diff.dump(1) + "\n" : diff_text(diff)).c_str(), stdout);
  });
}

}  // namespace tessera::runtime
