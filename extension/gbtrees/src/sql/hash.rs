//! CatBoost's hash of a category in PL/pgSQL: [`crate::ensemble::city_hash`], over signed numbers that wrap.
//!
//! In the templates `@f(` is a helper of the script.

/// A function: the ending of its name, argument types, the result's type, and the body.
pub(super) type Part = (&'static str, &'static [&'static str], &'static str, &'static str);

const LONG: &str = "int8";
const BYTES: &str = "bytea";

/// The functions, helpers first; the last one gives the hash of a text.
pub(super) const PARTS: [Part; 13] = [
    ("_hash_w", &["numeric"], LONG, WRAP),
    ("_hash_s", &[LONG, LONG], LONG, "BEGIN RETURN @w($1::numeric + $2::numeric); END"),
    ("_hash_p", &[LONG, LONG], LONG, "BEGIN RETURN @w($1::numeric * $2::numeric); END"),
    ("_hash_d", &[LONG], LONG, "BEGIN RETURN $1 # (($1 >> 47) & '131071'::int8); END"),
    ("_hash_r", &[LONG, "int4"], LONG, TURN),
    ("_hash_b", &[BYTES, "int4", "int4"], LONG, READ),
    ("_hash_m", &[LONG, LONG], LONG, MIX),
    ("_hash_short", &[BYTES], LONG, UP_TO_16),
    ("_hash_f", &[BYTES, "int4", LONG, LONG], "int8[]", FOUR),
    ("_hash_k", &[BYTES, "int4", LONG, LONG], "int8[]", BLOCK),
    ("_hash_middle", &[BYTES], LONG, UP_TO_64),
    ("_hash_long", &[BYTES], LONG, LONGER),
    ("_hash", &["text"], LONG, HASH),
];

/// Returns a template's body; `name` qualifies the ending of a name.
pub(super) fn spelled(template: &str, name: impl Fn(&str) -> String) -> String {
    let mut body = template.to_owned();
    for (ending, ..) in PARTS {
        let short = ending.trim_start_matches("_hash_");
        body = body.replace(&format!("@{short}("), &format!("{}(", name(ending)));
    }
    for (letter, value) in [
        ("K0", 0xc3a5_c85c_97cb_3127u64),
        ("K1", 0xb492_b66f_be98_f273),
        ("K2", 0x9ae1_6a3b_2f90_404f),
        ("K3", 0xc949_d7c7_509e_6557),
        ("K4", 0x9ddf_ea08_eb38_2d69),
    ] {
        body = body.replace(letter, &format!("'{}'::int8", value.cast_signed()));
    }
    body
}

const WRAP: &str = "DECLARE n numeric := $1 % '18446744073709551616'::numeric;
BEGIN
  IF n >= '9223372036854775808' THEN n := n - '18446744073709551616'; END IF;
  IF n < '-9223372036854775808' THEN n := n + '18446744073709551616'; END IF;
  RETURN n;
END";

const TURN: &str = "BEGIN
  RETURN CASE WHEN $2 = 0 THEN $1 ELSE
    ($1 << (64 - $2)) # (($1 >> $2) & (('1'::int8 << (64 - $2)) - '1'::int8)) END;
END";

const READ: &str = "DECLARE n int8 := 0;
BEGIN
  FOR i IN 0..$3 LOOP
    n := n # (get_byte($1, $2 + i)::int8 << (8 * i));
  END LOOP;
  RETURN n;
END";

const MIX: &str = "BEGIN
  RETURN @p(@d(@p($2 # @d(@p($1 # $2, K4)), K4)), K4);
END";

const UP_TO_16: &str = "DECLARE n int4 := octet_length($1); c int8;
BEGIN
  IF n = 0 THEN RETURN K2; END IF;
  IF n < 4 THEN
    RETURN @p(@d(@p(@b($1, 0, 0) + (@b($1, (n / 2), 0) << 8), K2)
      # @p(n + (@b($1, (n - 1), 0) << 2), K3)), K2);
  END IF;
  IF n <= 8 THEN RETURN @m(n + (@b($1, 0, 3) << 3), @b($1, (n - 4), 3)); END IF;
  c := @b($1, (n - 8), 7);
  RETURN @m(@b($1, 0, 7), @r(@s(c, n), n)) # c;
END";

const FOUR: &str = "DECLARE s int8 := $3; t int8; o int8;
BEGIN
  t := @r(@s(s, $4), 52);
  o := @r(s, 37);
  s := @s(s, @b($1, ($2 + 8), 7));
  o := @s(o, @r(s, 7));
  s := @s(s, @b($1, ($2 + 16), 7));
  RETURN ARRAY[@s(s, $4), @s(@s(t, @r(s, 31)), o)];
END";

const BLOCK: &str = "DECLARE e int8; s int8; u int8;
BEGIN
  e := @b($1, ($2 + 24), 7);
  s := @s($3, @b($1, $2, 7));
  u := @s(@s(s, @b($1, ($2 + 8), 7)), @b($1, ($2 + 16), 7));
  RETURN ARRAY[@s(u, e), @s(@s(@r(@s(@s($4, s), e), 21), @r(u, 44)), s)];
END";

const UP_TO_64: &str = "DECLARE
  n int4 := octet_length($1);
  a int8; b int8; c int8; d int8;
  v int8[]; w int8[];
BEGIN
  IF n <= 32 THEN
    a := @p(@b($1, 0, 7), K1);
    b := @b($1, 8, 7);
    c := @p(@b($1, (n - 8), 7), K2);
    d := @p(@b($1, (n - 16), 7), K0);
    RETURN @m(@s(@s(@r(@w(a::numeric - b::numeric), 43), @r(c, 30)), d),
      @s(@w(@s(a, @r(b # K3, 20))::numeric - c::numeric), n));
  END IF;
  d := @p(@s(@b($1, (n - 16), 7), n), K0);
  v := @f($1, 0, @s(@b($1, 0, 7), d), @b($1, 24, 7));
  w := @f($1, (n - 32), @s(@b($1, 16, 7), @b($1, (n - 32), 7)), @b($1, (n - 8), 7));
  a := @p(@s(v[1], w[2]), K2);
  b := @p(@s(w[1], v[2]), K0);
  c := @d(@s(a, b));
  RETURN @p(@d(@s(@p(c, K0), v[2])), K2);
END";

const LONGER: &str = "DECLARE
  n int4 := octet_length($1);
  x int8; y int8; z int8; t int8; place int4 := 0;
  v int8[]; w int8[];
BEGIN
  x := @b($1, 0, 7);
  y := @b($1, (n - 16), 7) # K1;
  z := @b($1, (n - 56), 7) # K0;
  v := @k($1, (n - 64), n, y);
  w := @k($1, (n - 32), @p(n, K1), K0);
  z := @s(z, @p(@d(v[2]), K1));
  x := @p(@r(@s(z, x), 39), K1);
  y := @p(@r(y, 33), K1);
  FOR i IN 1..((n - 1) / 64) LOOP
    x := @p(@r(@s(@s(@s(x, y), v[1]), @b($1, (place + 16), 7)), 37), K1) # w[2];
    y := @p(@r(@s(@s(y, v[2]), @b($1, (place + 48), 7)), 42), K1) # v[1];
    z := @r(z # w[1], 33);
    v := @k($1, place, @p(v[2], K1), @s(x, w[1]));
    w := @k($1, (place + 32), @s(z, w[2]), y);
    t := z;
    z := x;
    x := t;
    place := place + 64;
  END LOOP;
  RETURN @m(@s(@s(@m(v[1], w[1]), @p(@d(y), K1)), z), @s(@m(v[2], w[2]), x));
END";

const HASH: &str = "DECLARE b bytea := convert_to($1, 'UTF8'); n int4;
BEGIN
  IF $1 IS NULL THEN RETURN NULL; END IF;
  n := octet_length(b);
  RETURN CASE WHEN n <= 16 THEN @short(b) WHEN n <= 64 THEN @middle(b) ELSE @long(b) END
    & '4294967295'::int8;
END";
