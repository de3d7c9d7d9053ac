"""Programs that call a prediction ten times with other values, by each driver, and what builds and runs them.

A function of each language returns the commands that build a program and, the last one, run it. Programs in
other languages than Python are built in .build/clients, with the drivers of the lock files here.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CALLS = 10
# A driver, as docs/clients.md names it, and where it is not used as it comes, how it is used.
Way = tuple[str, str]

PSYCOPG = """
import psycopg
with psycopg.connect() as connection:
    for age in range(20, 30):
        connection.execute("SELECT churn(%s, %s, %s, %s)", (age, 52000.0, "north", None){more})
"""
PSYCOPG2 = """
import psycopg2
with psycopg2.connect("") as connection, connection.cursor() as cursor:
    for age in range(20, 30):
        cursor.execute("SELECT churn(%s, %s, %s, %s)", (age, 52000.0, "north", None))
"""
ASYNCPG = """
import asyncio, asyncpg
async def call():
    connection = await asyncpg.connect({more})
    for age in range(20, 30):
        await connection.fetchval("SELECT churn($1, $2, $3, $4)", age, 52000.0, "north", None)
    await connection.close()
asyncio.run(call())
"""
SQLALCHEMY = """
from sqlalchemy import create_engine, func, select
with create_engine("postgresql+psycopg://").connect() as connection:
    for age in range(20, 30):
        connection.scalar(select(func.churn(age, 52000.0, "north", None)))
"""
DJANGO = """
from django.db import connection
with connection.cursor() as cursor:
    for age in range(20, 30):
        cursor.execute("SELECT churn(%s, %s, %s, %s)", [age, 52000.0, "north", None])
"""
NODE = """
import pg from "pg";
const client = new pg.Client();
await client.connect();
for (let age = 20; age < 30; age++) {{
  await client.query({{ {more} text: "SELECT churn($1, $2, $3, $4)", values: [age, 52000, "north", null] }});
}}
await client.end();
"""
JAVA = """
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Types;

public class Predict {{
    public static void main(String[] arguments) throws SQLException {{
        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL") + "{more}")) {{
            for (int age = 20; age < 30; age++) {{
                try (var call = connection.prepareStatement("SELECT churn(?, ?, ?, ?)")) {{
                    call.setDouble(1, age);
                    call.setDouble(2, 52000);
                    call.setString(3, "north");
                    call.setNull(4, Types.DOUBLE);
                    call.executeQuery().next();
                }}
            }}
        }}
    }}
}}
"""
GO = """
package main

import (
	"context"
	"log"

	"github.com/jackc/pgx/v5"
)

func main() {{
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, "{more}")
	if err != nil {{
		log.Fatal(err)
	}}
	defer connection.Close(ctx)
	for age := 20; age < 30; age++ {{
		var score float32
		call := connection.QueryRow(ctx, "SELECT churn($1, $2, $3, $4)", age, 52000.0, "north", nil)
		if err := call.Scan(&score); err != nil {{
			log.Fatal(err)
		}}
	}}
}}
"""
RUST = """
use tokio_postgres::{{Error, NoTls}};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {{
    let url = std::env::var("DATABASE_URL").unwrap_or_default();
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    let statement = {statement};
    for age in 20..30 {{
        client.query_one({given}, &[&f64::from(age), &52000_f64, &"north", &None::<f64>]).await?;
    }}
    Ok(())
}}
"""
_CHURN = '"SELECT churn($1, $2, $3, $4)"'

# The language and the program of each driver as it comes, and of its setting that docs/clients.md names.
PROGRAMS: dict[Way, tuple[str, str]] = {
    ("psycopg 3", ""): ("py", PSYCOPG.format(more="")),
    ("psycopg 3", "prepare=True"): ("py", PSYCOPG.format(more=", prepare=True")),
    ("psycopg 2", ""): ("py", PSYCOPG2),
    ("asyncpg", ""): ("py", ASYNCPG.format(more="")),
    ("asyncpg", "statement_cache_size=0"): ("py", ASYNCPG.format(more="statement_cache_size=0")),
    ("SQLAlchemy", ""): ("py", SQLALCHEMY),
    ("Django", ""): ("py", DJANGO),
    ("node-postgres", ""): ("js", NODE.format(more="")),
    ("node-postgres", "name"): ("js", NODE.format(more='name: "churn",')),
    ("JDBC", ""): ("java", JAVA.format(more="")),
    ("JDBC", "prepareThreshold=1"): ("java", JAVA.format(more="&prepareThreshold=1")),
    ("pgx", ""): ("go", GO.format(more="")),
    ("pgx", "default_query_exec_mode=exec"): ("go", GO.format(more="default_query_exec_mode=exec")),
    ("tokio-postgres", ""): ("rust", RUST.format(statement=_CHURN, given="statement")),
    ("tokio-postgres", "prepare"): (
        "rust", RUST.format(statement=f"client.prepare({_CHURN}).await?", given="&statement"),
    ),
}  # fmt: skip


HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[2] / ".build" / "clients"

# The settings that manage.py makes in an application.
DJANGO_SETTINGS = """
import os
from django.conf import settings
database = {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
settings.configure(DATABASES={"default": database})
"""


def python(program: str) -> list[list[str]]:
    """Runs Python."""
    text = DJANGO_SETTINGS + program if "from django" in program else program
    return [[sys.executable, "-c", text]]


def node(program: str) -> list[list[str]]:
    """Runs JavaScript."""
    folder = folder_with("node", "predict.js", program)
    return [["npm", "ci", "--prefix", str(folder)], ["node", str(folder / "predict.js")]]


def go(program: str) -> list[list[str]]:
    """Builds and runs Go."""
    folder = folder_with("go", "main.go", program)
    return [["go", "build", "-C", str(folder), "-o", "predict"], [str(folder / "predict")]]


def rust(program: str) -> list[list[str]]:
    """Builds and runs Rust."""
    folder = folder_with("rust", "predict.rs", program)
    target = folder / "target"
    manifest = ["--manifest-path", str(folder / "Cargo.toml"), "--target-dir", str(target)]
    return [["cargo", "build", "--locked", *manifest], [str(target / "debug" / "predict")]]


def java(program: str) -> list[list[str]]:
    """Fetches the driver, and builds and runs Java."""
    folder = folder_with("java", "Predict.java", program)
    checksum, name = (HERE / "java" / "driver.sha256").read_text().split()
    driver = folder / name
    if not driver.exists():
        version = name.removeprefix("postgresql-").removesuffix(".jar")
        artifact = f"-Dartifact=org.postgresql:postgresql:{version}"
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
        command = ["mvn", "--batch-mode", copy, artifact, f"-DoutputDirectory={folder}"]
        run(command, dict(os.environ))
    assert hashlib.sha256(driver.read_bytes()).hexdigest() == checksum
    source = str(folder / "Predict.java")
    paths = ["-d", str(folder), "-cp", str(driver)]
    return [["javac", *paths, source], ["java", "-cp", f"{folder}:{driver}", "Predict"]]


# The function of each language, and the tools that it needs.
LANGUAGES: dict[str, tuple[Callable[[str], list[list[str]]], list[str]]] = {
    "py": (python, []),
    "js": (node, ["node", "npm"]),
    "go": (go, ["go"]),
    "rust": (rust, ["cargo"]),
    "java": (java, ["java", "javac", "mvn"]),
}


def folder_with(language: str, name: str, program: str) -> Path:
    """Returns the folder in which programs of that language are built, with this one in it."""
    folder = BUILT / language
    shutil.copytree(HERE / language, folder, dirs_exist_ok=True)
    (folder / name).write_text(program)
    return folder


def run(command: list[str], environment: dict[str, str]) -> str:
    """Returns the standard output of a command, which must succeed."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[:2]}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def missing(language: str) -> list[str]:
    """Returns the tools of a language that are not installed."""
    return [tool for tool in LANGUAGES[language][1] if not shutil.which(tool)]


def printed(language: str, program: str, environment: dict[str, str]) -> str:
    """Builds and runs a program; returns its output."""
    *_, output = [run(command, environment) for command in LANGUAGES[language][0](program)]
    return output
