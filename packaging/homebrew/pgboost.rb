# A formula for Homebrew: brew install --build-from-source ./packaging/homebrew/pgboost.rb
#
# Not tried: it was written without a Mac at hand. It installs pgboost alone. pgboost_train needs the wheel of
# libxgboost, which Homebrew's rules keep out, and its process is written for Linux.
class Pgboost < Formula
  desc "Gradient-boosted trees inside PostgreSQL"
  homepage "https://example.org/pgboost"
  head "file://#{File.expand_path("../..", __dir__)}", using: :git, branch: "main"
  license "Apache-2.0"

  depends_on "rust" => :build
  depends_on "postgresql@18"

  uses_from_macos "llvm" => :build

  def postgresql
    Formula["postgresql@18"]
  end

  def install
    ENV["PGRX_PG_CONFIG_PATH"] = postgresql.opt_bin/"pg_config"
    ENV["RUSTFLAGS"] = "-C link-arg=-Wl,-undefined,dynamic_lookup"
    cd "extension" do
      system "cargo", "build", "--locked", "--release", "-p", "pgboost",
             "--no-default-features", "--features", "pgboost/pg18"
    end
    (lib/postgresql.name).install "extension/target/release/libpgboost.dylib" => "pgboost.dylib"
    version = File.read("extension/pgboost/pgboost.control")[/^default_version = '(.*)'/, 1]
    (share/postgresql.name/"extension").install "extension/pgboost/pgboost.control",
                                                "extension/pgboost/pgboost.sql" => "pgboost--#{version}.sql"
  end

  test do
    ENV["LC_ALL"] = "C"
    system postgresql.opt_bin/"initdb", "-D", testpath/"data"
    (testpath/"data/postgresql.conf").write "port = #{free_port}\nunix_socket_directories = '#{testpath}'\n", mode: "a"
    system postgresql.opt_bin/"pg_ctl", "start", "-w", "-D", testpath/"data", "-l", testpath/"log"
    begin
      port = (testpath/"data/postmaster.pid").read.lines[3].to_i
      system postgresql.opt_bin/"psql", "-h", testpath, "-p", port.to_s, "-c", "CREATE EXTENSION pgboost", "postgres"
    ensure
      system postgresql.opt_bin/"pg_ctl", "stop", "-D", testpath/"data"
    end
  end
end
