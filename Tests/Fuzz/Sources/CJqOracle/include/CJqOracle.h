#pragma once

/// Tells whether jq itself finds one of these functions, or the environment, in a program that it compiles. The names
/// stand between commas: `,now,env,`. A program that jq does not compile, or that ends jq, has none.
int jq_oracle_finds(const char *program, const char *names);
