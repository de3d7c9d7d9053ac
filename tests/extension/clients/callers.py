"""Programs that call a prediction ten times with other values, by each driver."""

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
