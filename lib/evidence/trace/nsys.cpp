#include "evidence/trace/nsys.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>

namespace dd::evidence {
namespace {

// A prepared statement that ends itself.
class Query {
 public:
  Query(sqlite3* db, const std::string& sql) { ok_ = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr) == SQLITE_OK; }
  ~Query() { sqlite3_finalize(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  bool ok() const { return ok_; }
  bool step() {
    if (!ok_) return false;
    const int code = sqlite3_step(statement_);
    failed_ = code != SQLITE_ROW && code != SQLITE_DONE;
    return code == SQLITE_ROW;
  }
  bool failed() const { return failed_; }
  void bind(std::int64_t value) {
    sqlite3_reset(statement_);
    sqlite3_bind_int64(statement_, 1, value);
  }
  bool is_integer(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view text(int column) const {
    if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return {};
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return data == nullptr ? std::string_view{} : std::string_view(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  bool ok_ = false, failed_ = false;
};

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel"
std::string_view without_version(std::string_view name) {
  const auto at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  for (std::size_t i = at + 2; i < name.size(); ++i)
    if (name[i] < '0' || name[i] > '9') return name;
  return name.substr(0, at);
}

// "[[2, 3], [3, 4]]" behind "sizes = ", as it stands; empty when brackets do not close.
std::string_view sizes_of(std::string_view text) {
  const auto at = text.find("sizes = [");
  if (at == std::string_view::npos) return {};
  int depth = 0;
  for (std::size_t i = at + 8; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return text.substr(at + 8, i + 1 - at - 8);
  }
  return {};
}

class NsysReader {
 public:
  NsysReader(sqlite3* db, Trace& trace, std::uint64_t most_rows, const Progress& progress)
      : db_(db), trace_(trace), rows_left_(most_rows), most_rows_(most_rows), progress_(progress), strings_(db, "SELECT value FROM StringIds WHERE id = ?1") {}

  void run() {
    Query tables(db_, "SELECT name FROM sqlite_master WHERE type = 'table'");
    while (tables.step()) tables_.emplace(tables.text(0));
    if (!tables.ok() || tables.failed()) {
      trace_.losses.detail = "the database cannot be read: " + std::string(sqlite3_errmsg(db_));
      return;
    }
    if (std::none_of(tables_.begin(), tables_.end(), [](const std::string& t) { return t.starts_with("CUPTI_") || t == "NVTX_EVENTS"; })) {
      trace_.losses.detail = "an SQLite database without the tables of an Nsight Systems export (nsys export --type sqlite)";
      return;
    }
    read_calls();
    read_ranges();
    read_kernels();
    read_copies();
    read_syncs();
    read_devices();
    read_versions();
    if (tables_.count("CUPTI_ACTIVITY_KIND_GRAPH_TRACE") != 0 && count("CUPTI_ACTIVITY_KIND_GRAPH_TRACE") > 0)
      trace_.header["graph_trace"] = "graphs were traced as a whole: their kernels are not listed";
  }

 private:
  // A SELECT of the wanted columns where missing ones read as NULL; empty when the table or `needed` is missing.
  std::string select(const std::string& table, const std::vector<std::string>& wanted, std::size_t needed) {
    if (tables_.count(table) == 0) return {};
    std::set<std::string> present;
    Query info(db_, "PRAGMA table_info(" + table + ")");
    while (info.step()) present.emplace(info.text(1));
    std::string sql = "SELECT ";
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool there = present.count(wanted[i]) != 0;
      if (!there && i < needed) {
        trace_.losses.detail = "table " + table + " has no column " + wanted[i] + ": its rows are lost";
        return {};
      }
      sql += (i > 0 ? ", " : "") + (there ? "\"" + wanted[i] + "\"" : std::string("NULL"));
    }
    return sql + " FROM " + table;
  }

  template <class Row>
  void each(const std::string& sql, Row row) {
    if (sql.empty()) return;
    Query query(db_, sql);
    while (query.step()) {
      if (rows_left_ == 0) {
        trace_.losses.detail = "the database claims more rows than its size can hold: the rest is lost";
        return;
      }
      --rows_left_;
      ++trace_.events;
      if (progress_ && (trace_.events & 0xffff) == 0) progress_(most_rows_ - rows_left_, most_rows_);
      row(query);
    }
    if (!query.ok() || query.failed()) trace_.losses.detail = "the database is damaged: " + std::string(sqlite3_errmsg(db_));
  }

  std::uint32_t string(std::int64_t id) {
    const auto found = string_ids_.find(id);
    if (found != string_ids_.end()) return found->second;
    strings_.bind(id);
    const std::uint32_t text = strings_.step() ? trace_.text.add(strings_.text(0)) : 0;
    string_ids_.emplace(id, text);
    return text;
  }

  std::uint32_t call_name(std::int64_t id) {
    const auto found = call_names_.find(id);
    if (found != call_names_.end()) return found->second;
    const std::uint32_t text = trace_.text.add(without_version(trace_.text[string(id)]));
    call_names_.emplace(id, text);
    return text;
  }

  // Process and correlation in one number; process numbers are small and handed out here.
  std::int64_t key(std::int64_t global, std::int64_t correlation) {
    const std::int64_t process = global >> 24;
    const auto [at, fresh] = processes_.emplace(process, static_cast<std::int64_t>(processes_.size()));
    if (correlation <= 0 || correlation > 0xffffffffll) return no_id;
    return (at->second << 32) | correlation;
  }

  std::uint32_t thread(std::int64_t global) {
    const auto [at, fresh] = thread_ids_.emplace(global, static_cast<std::uint32_t>(trace_.threads.size()));
    if (fresh) trace_.threads.push_back(0);
    return at->second;
  }

  static bool span(const Query& q, std::int64_t& start, std::int64_t& duration) {
    if (!q.is_integer(0) || !q.is_integer(1)) return false;
    start = q.integer(0);
    constexpr std::int64_t limit = 1ll << 61;
    if (start > limit || start < -limit || q.integer(1) > limit || q.integer(1) < start) return false;
    duration = q.integer(1) - start;
    return true;
  }

  void read_calls() {
    each(select("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "nameId", "globalTid", "correlationId"}, 4), [&](const Query& q) {
      CallRecord call;
      if (!span(q, call.start, call.duration)) return void(++trace_.losses.broken_rows);
      call.name = call_name(q.integer(2));
      call.thread = thread(q.integer(3));
      call.correlation = key(q.integer(3), q.integer(4));
      trace_.calls.push_back(call);
    });
  }

  void read_ranges() {
    each(select("NVTX_EVENTS", {"start", "end", "text", "globalTid", "eventType", "textId"}, 4), [&](const Query& q) {
      if (q.is_integer(4) && q.integer(4) != 59) return;  // only push/pop ranges nest
      OpRecord op;
      if (!q.is_integer(1)) return;  // still open when the capture ended
      if (!span(q, op.start, op.duration)) return void(++trace_.losses.broken_rows);
      std::string_view text = q.text(2);
      if (text.empty() && q.is_integer(5)) text = trace_.text[string(q.integer(5))];
      const std::string_view name = text.substr(0, text.find(", "));
      op.name = trace_.text.add(name.substr(0, 1024));
      op.thread = thread(q.integer(3));
      if (const std::string_view sizes = sizes_of(text); !sizes.empty() && keeps_inputs(name))
        op.inputs = trace_.text.add(R"({"t":[],"d":)" + std::string(sizes) + R"(,"s":[],"c":[]})");
      if (name.find("::") != std::string_view::npos) trace_.has_op_records = true;
      trace_.ops.push_back(op);
    });
  }

  void read_kernels() {
    const bool demangled = column("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName");
    each(select("CUPTI_ACTIVITY_KIND_KERNEL",
                {"start", "end", demangled ? "demangledName" : "shortName", "globalPid", "correlationId", "deviceId", "gridX", "gridY", "gridZ"}, 3),
         [&](const Query& q) {
           GpuRecord gpu;
           if (!span(q, gpu.start, gpu.duration)) return void(++trace_.losses.broken_rows);
           gpu.name = string(q.integer(2));
           gpu.correlation = key(q.integer(3), q.integer(4));
           gpu.device = static_cast<std::uint16_t>(std::clamp<std::int64_t>(q.integer(5), 0, 0xffff));
           double blocks = 1;
           for (int i = 6; i < 9; ++i) blocks *= static_cast<double>(std::clamp<std::int64_t>(q.integer(i), 0, 1ll << 31));
           gpu.blocks = static_cast<std::uint32_t>(std::min(blocks, 4e9));
           trace_.gpu.push_back(gpu);
         });
  }

  void read_copies() {
    static const std::map<std::int64_t, std::string> kinds = {{1, "Host-to-Device"}, {2, "Device-to-Host"}, {8, "Device-to-Device"}, {10, "Peer-to-Peer"},
        {9, "Host-to-Host"}, {11, "Unified Host-to-Device"}, {12, "Unified Device-to-Host"}};
    each(select("CUPTI_ACTIVITY_KIND_MEMCPY", {"start", "end", "copyKind", "globalPid", "correlationId", "deviceId", "bytes"}, 3), [&](const Query& q) {
      GpuRecord gpu;
      gpu.kind = GpuKind::copy;
      if (!span(q, gpu.start, gpu.duration)) return void(++trace_.losses.broken_rows);
      const auto found = kinds.find(q.integer(2));
      gpu.name = trace_.text.add(std::to_string(q.integer(2)) + " (" + (found == kinds.end() ? "other" : found->second) + ")");
      gpu.correlation = key(q.integer(3), q.integer(4));
      gpu.device = static_cast<std::uint16_t>(std::clamp<std::int64_t>(q.integer(5), 0, 0xffff));
      gpu.bytes = std::max<std::int64_t>(0, q.integer(6));
      trace_.gpu.push_back(gpu);
    });
    each(select("CUPTI_ACTIVITY_KIND_MEMSET", {"start", "end", "bytes", "globalPid", "correlationId", "deviceId"}, 2), [&](const Query& q) {
      GpuRecord gpu;
      gpu.kind = GpuKind::fill;
      if (!span(q, gpu.start, gpu.duration)) return void(++trace_.losses.broken_rows);
      gpu.name = trace_.text.add("Memset (Device)");
      gpu.correlation = key(q.integer(3), q.integer(4));
      gpu.bytes = std::max<std::int64_t>(0, q.integer(2));
      trace_.gpu.push_back(gpu);
    });
  }

  void read_syncs() {
    each(select("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"syncType"}, 1),
         [&](const Query& q) { ++trace_.sync_kinds[static_cast<std::uint32_t>(std::clamp<std::int64_t>(q.integer(0), 0, 99))]; });
  }

  void read_devices() {
    each(select("TARGET_INFO_GPU", {"name", "computeMajor", "computeMinor", "smCount", "threadsPerWarp"}, 1), [&](const Query& q) {
      if (trace_.devices.size() >= 1024) return;
      trace_.devices.push_back({std::string(q.text(0).substr(0, 128)), static_cast<int>(q.integer(1)), static_cast<int>(q.integer(2)),
                                static_cast<int>(std::clamp<std::int64_t>(q.integer(3), 0, 100000)), static_cast<int>(q.integer(4))});
    });
  }

  // Two rows by name: the same table holds nothing else that is wanted.
  void read_versions() {
    if (tables_.count("META_DATA_EXPORT") == 0) return;
    for (const char* name : {"EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION"}) {
      Query q(db_, std::string("SELECT value FROM META_DATA_EXPORT WHERE name = '") + name + "'");
      if (q.step() && q.text(0).size() <= 40) trace_.header[name] = std::string(q.text(0));
    }
  }

  bool column(const std::string& table, const std::string& name) {
    Query info(db_, "PRAGMA table_info(" + table + ")");
    while (info.step())
      if (info.text(1) == name) return true;
    return false;
  }

  std::int64_t count(const std::string& table) {
    Query q(db_, "SELECT count(*) FROM " + table);
    return q.step() ? q.integer(0) : 0;
  }

  sqlite3* db_;
  Trace& trace_;
  std::uint64_t rows_left_, most_rows_;
  const Progress& progress_;
  Query strings_;
  std::set<std::string> tables_;
  std::unordered_map<std::int64_t, std::uint32_t> string_ids_, call_names_, thread_ids_;
  std::unordered_map<std::int64_t, std::int64_t> processes_;
};

// A path as SQLite's file: address; only a few signs mean something there.
std::string address_of(const std::string& path) {
  std::string out = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      static constexpr char digits[] = "0123456789ABCDEF";
      out += '%';
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
    } else {
      out += c;
    }
  }
  return out + "?immutable=1";
}

}  // namespace

void read_nsys(const std::string& path, Trace& trace, const Progress& progress) {
  trace.format = TraceFormat::nsys_sqlite;
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(address_of(path).c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
    trace.losses.detail = "the database cannot be opened";
  } else {
    // The file is foreign: no views, no triggers, no schema tricks, small cache.
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 16 << 20);
    sqlite3_exec(db, "PRAGMA cache_size=-4096", nullptr, nullptr, nullptr);
    sqlite3_exec(db, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
    std::error_code unknown;
    const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
    const std::uint64_t size = unknown ? 0 : static_cast<std::uint64_t>(bytes);
    trace.bytes = trace.text_bytes = size;
    NsysReader(db, trace, size / 4 + 1024, progress).run();
  }
  sqlite3_close(db);
}

}  // namespace dd::evidence
